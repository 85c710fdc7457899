"""A glossary in Python: a mapping, pairs or a file, given to `load` or to `terms`."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.own_engines import COUNTING_CLASS

import mtloop
from mtloop.core.errors import InputError

SOURCE = "Open the pane."


def test_before_terms_after() -> None:
    translator = mtloop.load("en-de", glossary={"pane": "Fensterbereich"})
    assert "Fensterbereich" in translator.translate(SOURCE).text
    assert len(translator.terms([("panes", "Flächen"), ("pane", "Fläche")]) or ()) == 2
    assert "Fläche" in translator.translate(SOURCE).text
    assert translator.terms(None) is None
    assert translator.translate(SOURCE).text == mtloop.load("en-de").translate(SOURCE).text


def test_a_correction_wins_over_the_glossary() -> None:
    translator = mtloop.load("en-de", glossary={"pane": "Fensterbereich"})
    assert translator.correct(SOURCE, "Öffnen Sie das Feld.")
    assert translator.translate(SOURCE).text == "Öffnen Sie das Feld."
    assert "Fensterbereich" in translator.translate("Close the pane.").text


def test_a_file_is_read_before_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path := tmp_path / "terms.tsv").write_text("pane\tBereich\nlist box\n", encoding="utf-8")
    monkeypatch.setattr("mtloop.methods.learner_config.LearnerConfig.load", lambda self: pytest.fail("model loaded"))
    with pytest.raises(InputError, match=r"terms\.tsv:2: expected 2 cells"):
        mtloop.load("en-de", glossary=path)


def test_an_engine_without_terms_says_so(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(COUNTING_CLASS, encoding="utf-8")
    with pytest.raises(InputError, match="cannot use a glossary"):
        mtloop.load(method=f"{tmp_path / 'own.py'}:Counting", glossary={"pane": "Bereich"})
