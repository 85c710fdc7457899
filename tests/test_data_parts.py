"""Parts of the data for reports."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest
from data_parts import PARTS, Part, write_part

NAMES = "source\ttarget\tdocument"
TABLE = [
    NAMES,
    *(f"{n}{name}\tZ\t{name}" for name, length in {"a": 1, "b": 3, "c": 2, "d": 4}.items() for n in range(length)),
]


def names(part: Part) -> str:
    header, *rows = part.rows(TABLE)
    assert header == NAMES
    return "".join(row[-1] for row in rows)


@pytest.mark.parametrize(
    ("part", "documents"),
    [
        (Part("s", skip=0), "abbbccdddd"),
        (Part("s", skip=0, odd=True), "bbbdddd"),
        (Part("s", skip=2), "ccdddd"),
        (Part("s", skip=0, shortest=2, longest=3), "bbbcc"),
        (Part("s", skip=0, odd=True, documents=1), "bbb"),
        (Part("s", skip=0, segments=3), "abb"),
    ],
)
def test_a_part_has_the_documents_that_it_names(part: Part, documents: str) -> None:
    assert names(part) == documents


def test_a_part_is_written_with_its_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "streams").mkdir()
    with lzma.open(tmp_path / "streams" / "s.tsv.xz", "wt", encoding="utf-8") as file:
        file.write("\n".join([NAMES, "A\u2028B\tZ\ta", "C\tZ\tb"]) + "\n")
    monkeypatch.setitem(PARTS, "part.tsv", Part("s.tsv.xz", skip=0))
    path = write_part("part.tsv", tmp_path, tmp_path / "parts")
    assert path.read_text(encoding="utf-8").split("\n") == [NAMES, "A\u2028B\tZ\ta", "C\tZ\tb", ""]


def test_reports_use_other_rows_than_tuning() -> None:
    assert all(part.odd if "office" in part.stream else part.skip >= 6300 for part in PARTS.values())
