"""The verdict on the winner: better, not distinguishable or worse than the defaults."""

from __future__ import annotations

import math

import pytest

from mtloop.core import Proposal, Segment, Step, Truth
from mtloop.experiments.tuning.objective import Objective
from mtloop.experiments.tuning.winner_verdict import WinnerVerdict
from mtloop.metrics import BLEU, TER
from mtloop.metrics.significance import Comparison

REFERENCE = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht"]


@pytest.mark.parametrize(
    ("difference", "p", "higher", "outcome", "start"),
    [
        (-2.0, 0.01, False, "better", "Use the winner. On rows 9-12 it is better than the defaults: TER -2.00"),
        (2.0, 0.01, True, "better", "Use the winner."),
        (2.0, 0.01, False, "worse", "Keep the defaults. On rows 9-12 the winner is worse: TER +2.00"),
        (-2.0, 0.049, True, "worse", "Keep the defaults."),
        (-2.0, 0.05, False, "not distinguishable", "Keep the defaults. On rows 9-12 the winner does not differ sig"),
        (0.0, 1.0, False, "not distinguishable", "Keep the defaults."),
        (math.nan, math.nan, False, "not distinguishable", "Keep the defaults. On rows 9-12 the difference"),
    ],
)
def test_three_outcomes(difference: float, p: float, higher: bool, outcome: str, start: str) -> None:
    comparison = Comparison(difference, (difference - 1, difference + 1), p, "ar")
    verdict = WinnerVerdict("rows 9-12", "TER", higher, comparison)
    assert verdict.outcome == outcome
    assert verdict.keep_defaults == (outcome != "better")
    assert str(verdict).startswith(start)
    assert "nan" not in str(verdict)


def test_defaults_that_win_are_kept() -> None:
    verdict = WinnerVerdict("rows 9-12", "TER", False, None)
    assert verdict.keep_defaults
    assert str(verdict) == "Keep the defaults. No other settings were better on the rows to tune on."


def steps(right: int, count: int = 30) -> list[Step]:
    """Steps with this number of right words, one fewer in every third step."""
    texts = [" ".join(REFERENCE[: right - (i % 3 == 0)]) for i in range(count)]
    truth = Truth((" ".join(REFERENCE),))
    return [Step(i, Proposal(Segment(str(i), "source"), text), truth=truth) for i, text in enumerate(texts)]


@pytest.mark.parametrize(("winner", "default", "better"), [(7, 6, True), (6, 7, False)])
def test_the_mean_gain_of_several_metrics_is_tested_as_one_score(winner: int, default: int, better: bool) -> None:
    objective = Objective([TER(), BLEU()])
    found = objective.compare(steps(winner), steps(default), steps(5))
    values = [objective.value(objective.scores(steps(n)), objective.scores(steps(5))) for n in (winner, default)]
    assert found.difference == pytest.approx(values[0] - values[1])
    low, high = found.interval
    assert low <= found.difference <= high
    assert found.mark == "***"
    verdict = WinnerVerdict("rows 1-30", objective.title, objective.higher_is_better, found)
    assert verdict.outcome == ("better" if better else "worse")
    assert "mean relative gain in per cent" in str(verdict)


def test_a_baseline_without_a_score_leaves_the_gain_undefined() -> None:
    perfect = [
        Step(i, Proposal(step.proposal.segment, " ".join(REFERENCE)), truth=step.truth)
        for i, step in enumerate(steps(5))
    ]
    found = Objective([TER(), BLEU()]).compare(steps(7), steps(6), perfect)  # the baseline's TER is 0
    assert "undefined (0/0)" in str(WinnerVerdict("rows 1-30", "gain", True, found))
