"""Files of many units and units of many characters, end to end: `mtloop translate` fills them in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.command_result import CommandResult
from helpers.filling import po, write_engine

from mtloop.data.formats.filling import open_file

Call = Callable[..., CommandResult]
TAGGED = "Print <b>page {}</b> of %s."
MANY, LONG = 100_000, 50_000


@pytest.mark.slow
def test_a_file_of_100_000_units(mtloop: Call, tmp_path: Path) -> None:
    method = write_engine(tmp_path).method
    known = [(f"Open the tray {number}.", f"Das Fach {number} öffnen.") for number in range(0, MANY, 1000)]
    texts = (TAGGED if number % 20 == 0 else "Print page {}" for number in range(MANY - len(known)))
    missing = [(text.format(number), "") for number, text in enumerate(texts)]
    (path := tmp_path / "de.po").write_text(po(*known, *missing))
    out = tmp_path / "out.po"
    result = mtloop("translate", path, "--out", out, "--method", method, "--threads", 1, "--lang", "de")
    assert result.code == 0, result.err
    assert f"{len(missing)} filled, {len(known)} kept, 0 skipped, 0 repaired" in result.out
    units = open_file(out).units[1:]
    assert [unit.source for unit in units] == [source for source, _ in (*known, *missing)]
    assert [unit.target for unit in units[: len(known)]] == [target for _, target in known]
    for unit in units[len(known) :]:
        assert unit.target
        assert all(unit.target.count(one) == unit.source.count(one) for one in ("<b>", "</b>", "%s")), unit


SENTENCE = "Open the <b>file</b> in {folder} and press F5, then wait for the program to end. "


@pytest.mark.parametrize("length", [2_000, pytest.param(LONG, marks=pytest.mark.slow)])
@pytest.mark.parametrize("end", ["", "word, " * 400], ids=["sentences", "no full stop"])
def test_a_unit_of_50_000_characters(mtloop: Call, model: Path, tmp_path: Path, length: int, end: str) -> None:
    """A text without full stops is longer than what a model can read at once."""
    number = (length - len(end)) // len(SENTENCE) if length > len(end) else 1
    source = SENTENCE * number + end.strip()
    (path := tmp_path / "de.po").write_text(po((source, ""), ("Save %s to the tray.", "")))
    out = tmp_path / "out.po"
    arguments = ("--method", "baseline", "--model", model, "--threads", 1, "--no-learn")
    result = mtloop("translate", path, "--out", out, *arguments)
    assert result.code == 0, result.err
    long, short = open_file(out).units[1:]
    assert "%s" in short.target
    assert long.source == source
    assert all(long.target.count(one) == number for one in ("<b>", "</b>", "{folder}")), result.err
