"""Harm by learning, on segments that differ by a word or two from an earlier one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from helpers.collateral_samples import BASELINE, LEARNER, LESSONS
from helpers.steps import make_steps
from hypothesis import given
from hypothesis import strategies as st

from mtloop.checks.metric_contract import check_metric
from mtloop.core import InputError, Step, Truth
from mtloop.metrics.collateral import (
    Collateral,
    Flips,
    LostChanges,
    NearTER,
    Neighbour,
    neighbours,
    takes_over,
    words_of,
)
from mtloop.metrics.quality import TER
from mtloop.text.tokenisers import Tokeniser

SENTENCES = st.lists(st.lists(st.sampled_from("abcdefg"), max_size=6).map(" ".join), max_size=14)


def metrics(baseline: Sequence[Step]) -> list[Collateral]:
    better, worse = (NearTER(baseline, TER(), worse=worse) for worse in (False, True))
    return [better, worse, Flips(baseline), LostChanges(baseline)]


def fractions(steps: Sequence[Step], baseline: Sequence[Step]) -> dict[str, tuple[float | None, float | None]]:
    scores = [metric.score(steps) for metric in metrics(baseline)]
    return {score.name: (score.numerator, score.denominator) for score in scores}


def edit_distance(one: Sequence[str], other: Sequence[str]) -> int:
    row = list(range(len(other) + 1))
    for i, word in enumerate(one, start=1):
        last = row
        row = [i]
        for j, found in enumerate(other, start=1):
            row.append(min(row[-1] + 1, last[j] + 1, last[j - 1] + (word != found)))
    return row[-1]


def brute_force(sources: Sequence[str], max_changed: int) -> list[Neighbour]:
    texts, found = [words_of(source) for source in sources], []
    for number, words in enumerate(texts):
        shared = [other for other in range(number) if set(texts[other]) & set(words)]
        distances = {other: edit_distance(texts[other], words) for other in shared}
        close = [(distance, -other) for other, distance in distances.items() if distance <= max_changed]
        if close and min(close)[0]:
            found.append(Neighbour(number, -min(close)[1]))
    return found


@given(SENTENCES, st.integers(1, 3))
def test_the_index_finds_what_comparing_all_pairs_finds(sources: list[str], max_changed: int) -> None:
    assert neighbours(sources, max_changed) == brute_force(sources, max_changed)


def test_the_lesson_has_the_fewest_changes_and_is_the_latest() -> None:
    sources = ["Open the old file", "Open the file", "Open the menu", "open the door"]
    assert neighbours(sources) == [Neighbour(1, 0), Neighbour(2, 1), Neighbour(3, 2)]


def test_a_lesson_shares_a_word() -> None:
    assert neighbours(["Save", "Close", "Save all"]) == [Neighbour(2, 0)]
    assert neighbours(["", "Save", ""]) == []


def test_text_without_spaces_needs_a_tokeniser() -> None:
    sources = ["打开文件", "关闭文件"]
    assert neighbours(sources) == []
    assert neighbours(sources, tokeniser=Tokeniser("zh")) == [Neighbour(1, 0)]
    assert Flips([], Tokeniser("zh")).signature == "changed:1-2w[source:zh]"


def test_a_flip_a_better_and_a_worse_segment_by_hand() -> None:
    assert {one.segment: one.lesson for one in metrics(BASELINE)[0].neighbours(LEARNER)} == LESSONS
    assert fractions(LEARNER, BASELINE) == {
        "near-better": (1, 4),
        "near-worse": (1, 4),
        "flips": (2, 4),
        "lost-changes": (2, 4),
    }
    better, worse, flips, lost = (metric.rows(LEARNER)[:, 0].nonzero()[0].tolist() for metric in metrics(BASELINE))
    assert (better, worse, flips, lost) == ([3], [4], [2, 4], [2, 4])


def test_the_baseline_has_0_of_n() -> None:
    assert set(fractions(BASELINE, BASELINE).values()) == {(0, 4)}
    assert [str(metric.score(BASELINE)) for metric in metrics(BASELINE)] == ["0.00"] * 4


def test_without_a_lesson_there_is_nothing_to_measure() -> None:
    steps = make_steps(["a"], ["a"], ["Save"])
    for metric in metrics(steps):
        assert math.isnan(metric.score(steps).value)
        assert "nrefs:var" not in metric.score(steps).signature


@pytest.mark.parametrize(("edits", "expected"), [(3, 0), (4, 1)])
def test_a_change_of_15_points_does_not_count(edits: int, expected: int) -> None:
    reference = " ".join(map(str, range(20)))
    changed = " ".join(["x"] * edits + reference.split()[edits:])
    references, sources = ["a", reference], ["Save all", "Save none"]
    right, wrong = (make_steps(["a", text], references, sources) for text in (reference, changed))
    assert fractions(wrong, right)["near-worse"] == (expected, 1)
    assert fractions(right, wrong)["near-better"] == (expected, 1)


def test_a_reference_or_a_baseline_with_the_same_words_is_no_flip() -> None:
    sources, taught = ["Save it", "Save that"], ["Speichern", "Speichern"]
    base, learner = (make_steps(["a", text], taught, sources) for text in ("Sichern", "speichern"))
    assert fractions(learner, base)["flips"] == (0, 1)
    targets = ["Speichern", "Das speichern"]
    base, learner = (make_steps(["a", text], targets, sources) for text in ("Speichern", "SPEICHERN"))
    assert fractions(learner, base)["flips"] == (0, 1)


def test_all_references_count() -> None:
    sources = ["Log in", "Log out"]
    base, learner = (make_steps(["", text], ["Anmelden", "Abmelden"], sources) for text in ("Raus", "Einloggen"))
    assert fractions(learner, base)["flips"] == (0, 1)
    more = [Truth(("Anmelden", "Einloggen")), Truth(("Abmelden", "Ausloggen"))]
    learner = [replace(step, truth=truth) for step, truth in zip(learner, more, strict=True)]
    assert fractions(learner, base)["flips"] == (1, 1)
    more[1] = Truth(("Abmelden", "Einloggen"))
    learner = [replace(step, truth=truth) for step, truth in zip(learner, more, strict=True)]
    assert fractions(learner, base)["flips"] == (0, 1)


@pytest.mark.parametrize(
    ("base", "output", "expected"),
    [
        ("Datei nicht entfernen", "Bitte Datei löschen", 1),  # the negation is lost, though it is no flip
        ("Datei nicht entfernen", "Datei nicht löschen", 0),
        ("Datei entfernen", "Datei löschen", 0),  # the baseline has lost it too
    ],
)
def test_a_negation_that_is_lost_counts_unless_the_baseline_has_lost_it(base: str, output: str, expected: int) -> None:
    sources, targets = ["Delete the file", "Do not delete the file"], ["Datei löschen", "Datei nicht löschen"]
    frozen, learner = (make_steps(["a", text], targets, sources) for text in (base, output))
    assert fractions(learner, frozen)["lost-changes"] == (expected, 1)
    assert fractions(learner, frozen)["flips"] == (0, 1) or output == targets[0]


def test_other_words_than_those_of_the_reference_lose_nothing() -> None:
    targets = ["Fünf Dateien", "Sechs Dateien"]
    frozen, learner = (make_steps(["a", text], targets, ["5 files", "6 files"]) for text in ("Sechs", "6 Dateien"))
    assert fractions(learner, frozen)["lost-changes"] == (0, 1)


def test_a_baseline_of_another_stream_is_refused() -> None:
    for metric in metrics(BASELINE[:-1]):
        with pytest.raises(InputError, match="the baseline has 7 segments, the system 8"):
            metric.score(LEARNER)
    for metric in metrics(BASELINE[1:] + BASELINE[:1]):
        with pytest.raises(InputError, match="step 0 has segment '1', but the baseline's step has segment '2'"):
            metric.score(LEARNER)


@pytest.mark.parametrize("metric", metrics(BASELINE), ids=lambda metric: metric.name)
def test_the_contract_of_metrics(metric: Collateral) -> None:
    check_metric(metric, LEARNER, ordered=True)


@pytest.mark.parametrize(
    ("output", "expected"),
    [("Anmelden", True), ("Bitte anmelden", True), ("Abmelden", False), ("Ausloggen", False), ("", False)],
)
def test_an_output_takes_over_what_the_lesson_says(output: str, expected: bool) -> None:
    assert takes_over(output, "Anmelden", "Abmelden") == expected
    assert not takes_over(output, "Abmelden", "Abmelden")
