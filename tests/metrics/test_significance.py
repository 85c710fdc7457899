from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from helpers.samples import SplitWords, noisy_steps

from mtloop.core import InputError
from mtloop.metrics.adaptation import Recall
from mtloop.metrics.base import Additive
from mtloop.metrics.quality import BLEU, SBLEU, TER
from mtloop.metrics.significance import (
    Comparison,
    bootstrap,
    mean_difference,
    paired_bootstrap,
    randomisation,
    wilson_interval,
)

TESTS = pytest.mark.parametrize("test", [paired_bootstrap, randomisation])
METRICS = pytest.mark.parametrize("metric", [BLEU(), TER(), SBLEU()], ids=lambda metric: metric.name)
GOOD, GOOD_2, BAD = (noisy_steps(120, noise=noise) for noise in (0.2, 0.21, 0.5))


@TESTS
@METRICS
def test_identical_systems_do_not_differ(test: Callable[..., Comparison], metric: Additive) -> None:
    rows = metric.rows(GOOD)
    found = test(metric, rows, rows, 200)
    assert (found.difference, found.interval, found.p_value, found.mark) == (0, (0, 0), 1, "")


@TESTS
@METRICS
def test_a_clearly_better_system_is_significant(test: Callable[..., Comparison], metric: Additive) -> None:
    found = test(metric, metric.rows(GOOD), metric.rows(BAD), 1000)
    assert (found.difference > 0) == metric.higher_is_better
    assert found.p_value == pytest.approx(1 / 1001)
    assert found.interval[0] < found.difference < found.interval[1]
    assert found.interval[0] * found.interval[1] > 0
    assert found.mark == "***"


@TESTS
@METRICS
def test_swapping_system_and_baseline_changes_only_the_sign(test: Callable[..., Comparison], metric: Additive) -> None:
    ours, theirs = metric.rows(GOOD), metric.rows(BAD)
    there, back = test(metric, ours, theirs, 200), test(metric, theirs, ours, 200)
    assert there.difference == pytest.approx(-back.difference)
    assert there.p_value == pytest.approx(back.p_value)
    assert there.interval == pytest.approx((-back.interval[1], -back.interval[0]))


@TESTS
def test_random_differences_are_rarely_significant(test: Callable[..., Comparison]) -> None:
    """Two samples of the same error distribution: p-values are about uniform, so small ones are rare."""
    rng = np.random.default_rng(1)
    rows = [np.column_stack([rng.binomial(15, 0.4, 200), np.full(200, 15)]).astype(float) for _ in range(40)]
    p_values = [test(TER(), ours, theirs, 200).p_value for ours, theirs in zip(rows[::2], rows[1::2], strict=True)]
    assert sum(p < 0.05 for p in p_values) <= 3
    assert 0.25 < np.mean(p_values) < 0.75


@METRICS
def test_the_interval_contains_the_score(metric: Additive) -> None:
    rows = metric.rows(GOOD)
    low, high = bootstrap(metric, rows, 500)
    assert low < metric.score_rows(rows).value < high


def test_the_interval_has_the_expected_width() -> None:
    """For the mean of n independent values, it is about 2 * 1.96 standard errors."""
    values = np.random.default_rng(1).uniform(0, 1, 400)
    low, high = bootstrap(SBLEU(), np.column_stack([values, np.ones(400)]), 2000)
    assert high - low == pytest.approx(2 * 1.96 * 100 * values.std() / 20, rel=0.1)


@TESTS
def test_the_same_seed_gives_the_same_numbers(test: Callable[..., Comparison]) -> None:
    ours, theirs = TER().rows(GOOD), TER().rows(GOOD_2)
    assert test(TER(), ours, theirs, 150, seed=7) == test(TER(), ours, theirs, 150, seed=7)
    assert test(TER(), ours, theirs, 150, seed=7) != test(TER(), ours, theirs, 150, seed=8)


@TESTS
def test_undefined_scores_are_not_significant(test: Callable[..., Comparison]) -> None:
    metric = Recall(SplitWords(), {1})
    nothing = np.zeros((5, 2))
    found = test(metric, nothing, nothing, 50)
    assert math.isnan(found.p_value)
    assert math.isnan(found.difference)
    assert found.mark == ""
    assert all(map(math.isnan, bootstrap(metric, nothing, 50)))


@TESTS
def test_undefined_resamples_do_not_count(test: Callable[..., Comparison]) -> None:
    """With only one defined segment, many resamples are 0/0 and are left out of the interval."""
    ours, theirs = np.zeros((5, 2)), np.zeros((5, 2))
    ours[0], theirs[0] = (1, 2), (0, 2)
    found = test(Recall(SplitWords(), {1}), ours, theirs, 200)
    assert found.interval == (50, 50)
    assert test is paired_bootstrap or found.p_value == 1


@TESTS
def test_different_numbers_of_segments_are_refused(test: Callable[..., Comparison]) -> None:
    with pytest.raises(InputError, match="3 against 4"):
        test(TER(), np.ones((3, 2)), np.ones((4, 2)))


@pytest.mark.parametrize(
    ("count", "total", "low", "high"),
    [(8, 10, 0.4901625, 0.9433178), (0, 10, 0.0, 0.2775328), (10, 10, 0.7224672, 1.0)],
)
def test_wilsons_interval_is_that_of_r(count: int, total: int, low: float, high: float) -> None:
    """The values are those of `prop.test(count, total, correct=FALSE)` in R."""
    assert wilson_interval(count, total) == pytest.approx((low, high), abs=1e-7)


def test_a_mean_of_differences_and_its_interval() -> None:
    clear = mean_difference(np.array([2.0, 3.0, 4.0, 3.0, 2.0, 4.0, 3.0, 3.0, np.nan, 3.0]), 2000)
    assert clear.difference == 3
    assert 2 <= clear.interval[0] < 3 < clear.interval[1] <= 4
    assert clear.p_value == pytest.approx(2 / 2**9, abs=0.003), "all nine signs are equal by chance"
    unclear = mean_difference(np.array([2.0, -2.5, 3.0, -2.0]))
    assert unclear.interval[0] < 0 < unclear.interval[1]
    assert unclear.p_value > 0.5
    assert mean_difference(np.zeros(5)).p_value == 1
    assert math.isnan(mean_difference(np.array([np.nan])).difference)
