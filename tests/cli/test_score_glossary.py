"""`mtloop score --glossary`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.command_result import CommandResult

Call = Callable[..., CommandResult]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    texts = {
        "terms.tsv": "pane\tBereich\nlist box\tListenfeld\n",
        "src.txt": "Open the pane.\nTwo list boxes and a pane\n",
        "ref.txt": "Öffnen Sie den Bereich.\nZwei Listenfelder und ein Bereich\n",
        "mine.txt": "Öffne die Leiste.\nZwei Listenfelder und ein Bereich\n",
    }
    for name, text in texts.items():
        Path(name).write_text(text, encoding="utf-8")


BASIC = ("score", "--ref", "ref.txt", "--hyp", "mine.txt", "--glossary", "terms.tsv")
LANGUAGES = ("--source-lang", "en", "--target-lang", "de")


@pytest.mark.usefixtures("files")
def test_the_hits_are_added_to_the_metrics(mtloop: Call) -> None:
    result = mtloop(*BASIC, *LANGUAGES, "--src", "src.txt", "--metrics", "bleu", "--format", "json")
    rows = {row["name"]: row for row in json.loads(result.out)}
    assert set(rows) == {"bleu", "terms"}
    assert (rows["terms"]["numerator"], rows["terms"]["denominator"]) == (2, 3)


@pytest.mark.usefixtures("files")
def test_without_the_source_language_plurals_are_not_found(mtloop: Call) -> None:
    result = mtloop(*BASIC, "--lang", "de", "--src", "src.txt", "--metrics", "terms", "--format", "json")
    [row] = json.loads(result.out)
    assert (row["numerator"], row["denominator"]) == (1, 2)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*BASIC, *LANGUAGES], "metric terms needs the source text; give it with --src FILE"),
        ([*BASIC, "--src", "src.txt"], "metric terms compares base forms; give the language with --target-lang"),
        ([*BASIC, "--src", "src.txt", "--lang", "xx"], "simplemma has no base forms for language 'xx'"),
        (["score", "--ref", "ref.txt", "--hyp", "ref.txt", "--metrics", "terms"], "metric terms needs --glossary FILE"),
    ],
)
def test_what_is_missing_is_one_line(mtloop: Call, arguments: list[str], message: str) -> None:
    result = mtloop(*arguments)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
