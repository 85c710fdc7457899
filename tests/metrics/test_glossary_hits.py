"""Hits of a glossary: by base form, as often as the term occurs."""

from __future__ import annotations

import math

import pytest
from helpers.steps import make_steps

from mtloop.checks.metric_contract import check_metric
from mtloop.core.errors import InputError
from mtloop.metrics.glossary_hits import GlossaryHits
from mtloop.text.glossary import Glossary

GLOSSARY = Glossary.of({"list box": "Listenfeld", "cell style": "Zellvorlage"}, "en", "de")


@pytest.mark.parametrize(
    ("source", "translation", "hits"),
    [
        ("Open the list boxes.", "Öffnen Sie die Listenfelder.", (1, 1)),
        ("A list box in a list box", "Ein Listenfeld in einer Liste", (1, 2)),
        ("A list box", "Listenfeld, Listenfeld", (1, 1)),
        ("The cell style of list boxes", "Die Zellvorlagen der Listbox", (1, 2)),
        ("A cell style", "Ein Zellvorlagendialog", (0, 1)),
        ("Nothing of it", "Listenfeld", (0, 0)),
    ],
)
def test_a_term_counts_once_for_each_time_that_it_occurs(source: str, translation: str, hits: tuple[int, int]) -> None:
    assert GlossaryHits(GLOSSARY).count_hits(source, translation) == hits


def test_the_score_is_the_share_of_all_terms() -> None:
    sources = ["list box", "cell styles and a list box", "no term"]
    score = GlossaryHits(GLOSSARY).score(make_steps(["Listenfelder", "Zellvorlage", "x"], ["r"] * 3, sources))
    assert (score.value, score.numerator, score.denominator) == (pytest.approx(200 / 3), 2, 3)
    assert score.signature.startswith("glossary:2|lang:en-de|lemmas:simplemma-")
    nothing = GlossaryHits(GLOSSARY).score(make_steps(["x"], ["r"], ["no term"]))
    assert math.isnan(nothing.value)


def test_the_contract() -> None:
    sources = ["a list box", "cell style", "none", "list box list box"] * 3
    check_metric(GlossaryHits(GLOSSARY), make_steps(["Listenfeld", "x", "y", "Listenfeld"] * 3, ["r"] * 12, sources))


def test_the_target_language_is_needed() -> None:
    with pytest.raises(InputError, match="--target-lang"):
        GlossaryHits(Glossary.of({"a": "b"}, "en"))
