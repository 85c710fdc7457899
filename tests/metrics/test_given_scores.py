from __future__ import annotations

import math

import pytest
from helpers.samples import noisy_steps

from mtloop.checks.metric_contract import check_metric
from mtloop.core import InputError, Step
from mtloop.metrics.evaluation import Evaluation
from mtloop.metrics.given_scores import GivenScores, as_score, check_name, with_scores


def scored(steps: list[Step], shift: float = 0.0) -> list[Step]:
    return with_scores(steps, "comet", [shift + index % 7 / 10 for index, _ in enumerate(steps)])


def test_given_scores_are_a_metric_like_any_other() -> None:
    check_metric(GivenScores("comet", "scores:x.txt"), scored(noisy_steps(60)))


def test_the_score_is_the_mean_with_four_decimals() -> None:
    score = GivenScores("comet", "scores:x.txt").score(with_scores(noisy_steps(3), "comet", [0.5, 0.75, 0.8]))
    assert score.value == pytest.approx(2.05 / 3)
    assert str(score) == "0.6833"
    assert score.signature == "scores:x.txt|better:higher|aggregate:mean"


def test_significance_and_curves() -> None:
    systems = {"base": scored(noisy_steps(60)), "better": scored(noisy_steps(60), 0.1)}
    metric = GivenScores("comet", "scores:x.txt")
    evaluation = Evaluation(systems, [metric], "base")
    comparison = evaluation.comparison("better", metric)
    assert comparison is not None
    assert comparison.difference == pytest.approx(0.1)
    assert comparison.mark == "***"
    assert len(evaluation.curve("better", metric)) == 60


def test_two_metrics_keep_their_scores_apart() -> None:
    steps = with_scores(with_scores(noisy_steps(2), "comet", [0.1, 0.2]), "metricx", [5, 6])
    assert GivenScores("comet", "a").score(steps).value == pytest.approx(0.15)
    assert GivenScores("metricx", "b", higher_is_better=False).score(steps).value == pytest.approx(5.5)


def test_a_segment_without_a_score_is_named() -> None:
    with pytest.raises(InputError, match="segment '1' has no comet score"):
        GivenScores("comet", "a").score(noisy_steps(2))


def test_there_is_one_score_per_segment() -> None:
    with pytest.raises(InputError, match="3 comet scores for 2 segments"):
        with_scores(noisy_steps(2), "comet", [1, 2, 3])


@pytest.mark.parametrize("value", [True, None, "0.5", math.nan, math.inf, [1]])
def test_what_is_not_a_score(value: object) -> None:
    with pytest.raises(InputError, match="is not a score"):
        as_score(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["", "a,b", "a b", "1st", "a:b"])
def test_what_is_not_a_name(name: str) -> None:
    with pytest.raises(InputError, match="is not a name for a metric"):
        check_name(name)
