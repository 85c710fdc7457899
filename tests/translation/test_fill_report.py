"""What the user hears about single units: lists of twenty, and a table of all."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.filling import po

from mtloop.core.errors import InputError
from mtloop.data.formats.fill_gettext import PoFile
from mtloop.translation import fill_report
from mtloop.translation.fill_files import EngineChoice, fill_files, plan_filling
from mtloop.translation.fill_report import FileReport, FillReport, ReportedUnit

ENGINE = """
from mtloop.core import Proposal


class Losing:
    '''It loses placeholders, and says a word twice where the source has "Twice".'''

    def propose(self, segment):
        text = segment.source.replace("%1", "").replace("%2", "").replace("Twice", "it it").replace("Euro", "€")
        return Proposal(segment, " ".join(text.split()))

    def learn(self, proposal, feedback):
        raise NotImplementedError
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineChoice:
    monkeypatch.chdir(tmp_path)
    Path("engine.py").write_text(ENGINE)
    return EngineChoice(method="engine.py:Losing", threads=1)


def fill_json(engine: EngineChoice, texts: dict[str, str], table: Path | None = None) -> FillReport:
    Path("en.json").write_text(json.dumps(texts))
    return fill_files([Path("de.json")], Path("de.json"), engine=engine, template=Path("en.json"), learn=0, table=table)


def rows(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text().splitlines()]


def test_repaired_units_are_named(engine: EngineChoice) -> None:
    report = fill_json(engine, {"a": "Delete {name} now", "b": "Save it", "c": "Open {a} and {b}"})
    assert ", 2 repaired, 0 with failed checks; " in str(report)
    assert [line for line in report.messages() if line.startswith("repaired")] == [
        'repaired: de.json: unit a: "Delete {name} now": put back: {name}',
        'repaired: de.json: unit c: "Open {a} and {b}": put back: {a}, {b}',
    ]


def test_a_list_that_is_cut_names_the_table(engine: EngineChoice) -> None:
    texts = {f"key{number}": f"Delete {{name}} Twice {number}" for number in range(25)}
    without = list(fill_json(engine, texts).messages())
    assert "... and 5 more units; --report FILE writes all of them to a table" in without
    Path("de.json").unlink()
    report = fill_json(engine, texts, Path("deep/report.tsv"))
    assert list(report.messages()).count("... and 5 more units; all are in deep/report.tsv") == 2
    head, *found = rows(Path("deep/report.tsv"))
    assert head == ["file", "place", "what", "source", "translation"]
    what = "repaired: put back: {name}; failed check: repeated word: the word 'it' is repeated"
    translations = json.loads(Path("de.json").read_text())
    assert found == [["de.json", key, what, text, translations[key]] for key, text in texts.items()]
    assert "--report" not in " ".join(plan_filling([Path("de.json")], template=Path("en.json")).messages())


def test_the_table_has_lines_and_what_was_left(engine: EngineChoice) -> None:
    text = po(("{n, plural, one {# file}", ""), ("Euro here", ""), ("Twice\\tand\\n\\nall", ""), charset="ISO-8859-1")
    Path("a.po").write_text(text)
    fill_files([Path("a.po")], Path("out.po"), engine=engine, learn=0, table=Path("r.tsv"))
    _, icu, euro, twice = rows(Path("r.tsv"))
    assert icu[:2] == ["a.po", "6"]
    assert icu[2].startswith("left as it is: not a valid ICU message: ")
    assert euro[1:3] == ["9", euro[2]]
    assert euro[2].startswith("left as it is: the file cannot hold the translation: the charset iso8859-1 ")
    assert (euro[3:], twice[3]) == (["Euro here", ""], r"Twice\tand\n\nall")


def test_cells_hold_no_tabs_line_ends_or_control_characters() -> None:
    unit = ReportedUnit("a.po", 3, "1", "a\tb\r\nc\\n", "\x1b[1m", repaired=["%s"])
    table = FillReport([FileReport("a.po", units=[unit])]).units_as_tsv()
    cells = ["a.po", "3", "repaired: put back: %s", r"a\tb\r\nc\n", r"\x1b[1m"]
    assert table.split("\n")[1].split("\t") == cells


@pytest.mark.parametrize("name", ["a.po", "out.po", "."])
def test_the_table_is_no_file_of_the_command(engine: EngineChoice, name: str) -> None:
    Path("a.po").write_text(po(("Open it", "")))
    with pytest.raises(InputError, match=r"name another file for --report|is a folder; --report takes"):
        fill_files([Path("a.po")], Path("out.po"), engine=engine, learn=0, table=Path(name))
    assert not list(Path().glob("out*"))


@pytest.mark.parametrize("name", ["terms.tsv", "old.delta", "new.delta", "memory.tsv"])
def test_the_table_is_no_other_file_that_is_named(engine: EngineChoice, name: str) -> None:
    Path("a.po").write_text(po(("Open it", "")))
    for other in ("terms.tsv", "memory.tsv"):
        Path(other).write_text("source\ttarget\nOpen\tÖffnen\n")
    engine = replace(engine, glossary="terms.tsv", delta="old.delta")
    before = {path: path.read_bytes() for path in Path().glob("*.tsv")}
    files: dict[str, Any] = {"learn_from": [Path("memory.tsv")], "save_delta": Path("new.delta")}
    with pytest.raises(InputError, match=rf"^{name}: .*; name another file for --report"):
        fill_files([Path("a.po")], Path("out.po"), engine=engine, table=Path(name), **files)
    assert {path: path.read_bytes() for path in Path().glob("*.tsv")} == before


def test_a_table_that_cannot_be_written_loses_nothing(engine: EngineChoice) -> None:
    Path("a.po").write_text(po(("Twice", "")))
    Path("file").write_text("")
    with pytest.raises(InputError, match=r"^file/r.tsv: cannot be written: .*nothing is lost"):
        fill_files([Path("a.po")], Path("out.po"), engine=engine, learn=0, table=Path("file/r.tsv"))
    fill_files([Path("a.po")], Path("out.po"), engine=engine, learn=0, table=Path("r.tsv"))
    assert len(rows(Path("r.tsv"))) == 2
    assert not Path("out.po.mtloop").exists()


def test_many_texts_that_a_charset_lacks_take_two_tries(engine: EngineChoice, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each try makes the whole file."""
    messages = [(f"Euro {number}" if number % 2 else f"Text {number}", "") for number in range(600)]
    Path("a.po").write_text(po(*messages, charset="ISO-8859-1"))
    tries, filled = list[int](), PoFile.filled

    def counting(file: PoFile, targets: object) -> bytes:
        tries.append(1)
        return filled(file, targets)  # type: ignore[arg-type]

    monkeypatch.setattr(PoFile, "filled", counting)
    report = fill_files([Path("a.po")], Path("out.po"), engine=engine, learn=0)
    assert (report.files[0].filled, len(report.files[0].problems)) == (300, 300)
    assert len(tries) == 2


def test_long_lists_of_names_are_short(engine: EngineChoice) -> None:
    assert len(fill_report.put_back([f"{{name{number}}}" for number in range(99)])) < 700
