"""`mtloop stats`: its tables, JSON, and mistakes on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.command_result import CommandResult

Mtloop = Callable[..., CommandResult]

TABLES = """\
file     text      segments    sentences    words    types    mean    max    duplicates     RR    OOV    overlap
-------  ------  ----------  -----------  -------  -------  ------  -----  ------------  -----  -----  ---------
new.tsv  source           3            4       15        6    5.00      7             1  42.73  13.33      66.67
new.tsv  target           3            4       11        4    3.67      5             1   0.00   9.09      66.67
new.tsv  pair             3            -        -        -       -      -             1      -      -      66.67

words: moses-en (source), moses-de (target); mean, max: words per segment
duplicates: segments that occurred before; RR: repetition rate in windows of 1,000 words
OOV, overlap: % of the words that do not occur, and of the segments that do occur, in old.tsv

file     in         source    target    pair
-------  -------  --------  --------  ------
new.tsv  old.tsv     66.67     66.67   66.67

% of the segments of `file` that also occur in `in`
"""


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    repeated = "Save the file.\tDatei speichern.\n"
    new = f"source\ttarget\nSave the file. Close it.\tDatei speichern. Schließen.\n{repeated}{repeated}"
    (tmp_path / "new.tsv").write_text(f"{new}Undo.\t\n", encoding="utf-8")
    (tmp_path / "old.tsv").write_text(f"source\ttarget\n{repeated}", encoding="utf-8")
    return tmp_path


def test_the_tables(mtloop: Mtloop, tables: Path) -> None:
    languages = ["--source-lang", "en", "--lang", "de"]
    result = mtloop("stats", "new.tsv", "--against", "old.tsv", "--overlap", *languages)
    assert (result.code, result.out) == (0, TABLES)
    assert result.err == "mtloop: new.tsv: 3 pairs, 1 skipped (1 untranslated)\n"


def test_json(mtloop: Mtloop, tables: Path) -> None:
    result = mtloop("stats", "new.tsv", "--against", "old.tsv", "--format", "json")
    read = json.loads(result.out)
    assert read["against"] == ["old.tsv"]
    assert read["overlap"] == []
    assert read["statistics"][1] == {
        "file": "new.tsv",
        "text": "target",
        "tokeniser": "moses",
        "segments": 3,
        "duplicates": 1,
        "sentences": 4,
        "words": 11,
        "types": 4,
        "mean_length": pytest.approx(11 / 3),
        "max_length": 5,
        "rr": 0,
        "unknown_words": 1,
        "oov": pytest.approx(100 / 11),
        "known_segments": 2,
        "overlap": pytest.approx(200 / 3),
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "mtloop: Missing argument 'FILES...'.\nTry 'mtloop stats --help'.\n"),
        (["missing.tsv"], "mtloop: missing.tsv: no such file\n"),
        (
            ["old.tsv", "--overlap"],
            "mtloop: old.tsv: one file has nothing to overlap with; give a second one, or --against FILE\n",
        ),
        (["old.tsv", "--tokenize", "intel"], "mtloop: there is no tokeniser 'intel'; did you mean 'intl'? known: "),
    ],
)
def test_mistakes_are_one_line(mtloop: Mtloop, tables: Path, arguments: list[str], message: str) -> None:
    result = mtloop("stats", *arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(message)
