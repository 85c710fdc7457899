from __future__ import annotations

import time

import numpy as np
import pytest
from helpers.samples import ORDERED, additive_metrics, noisy_steps
from helpers.steps import make_steps

from mtloop.checks.metric_contract import check_metric
from mtloop.metrics import curves
from mtloop.metrics.base import Additive
from mtloop.metrics.quality import SBLEU, TER, ChrF

STEPS = noisy_steps(40, references=2)
METRICS = pytest.mark.parametrize("metric", additive_metrics(STEPS), ids=lambda metric: metric.name)


@METRICS
def test_every_metric_fulfils_the_contract(metric: Additive) -> None:
    check_metric(metric, STEPS, ordered=metric.name.startswith(ORDERED))


@METRICS
def test_cumulative_equals_every_prefix_scored_alone(metric: Additive) -> None:
    expected = [metric.score(STEPS[: i + 1]).value for i in range(len(STEPS))]
    np.testing.assert_allclose(curves.cumulative(metric, metric.rows(STEPS)), expected, rtol=1e-12, atol=1e-12)


@METRICS
def test_difference_is_the_difference_of_cumulative_curves(metric: Additive) -> None:
    other = noisy_steps(40, references=2, noise=0.6)
    ours, theirs = metric.rows(STEPS), metric.rows(other)
    expected = curves.cumulative(metric, ours) - curves.cumulative(metric, theirs)
    np.testing.assert_array_equal(curves.difference(metric, ours, theirs), expected)


@METRICS
def test_blockwise_and_incremental_sum_rows(metric: Additive) -> None:
    rows, ends = metric.rows(STEPS), curves.block_ends(STEPS, 50)
    starts = [0, *ends[:-1]]
    alone = [metric.score_rows(rows[start:end]).value for start, end in zip(starts, ends, strict=True)]
    so_far = [metric.score_rows(rows[:end]).value for end in ends]
    np.testing.assert_allclose(curves.blockwise(metric, rows, ends), alone, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(curves.incremental(metric, rows, ends), so_far, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("metric", [TER(), SBLEU(), ChrF()], ids=lambda metric: metric.name)
def test_blockwise_equals_each_block_scored_alone(metric: Additive) -> None:
    ends = curves.block_ends(STEPS, 50)
    expected = [metric.score(STEPS[start:end]).value for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    np.testing.assert_allclose(curves.blockwise(metric, metric.rows(STEPS), ends), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("lengths", "words", "ends"),
    [
        ([3, 3, 3, 3], 6, [2, 4]),
        ([5, 5, 5], 6, [2, 3]),
        ([6, 6, 2], 6, [1, 3]),  # a tail under half a block joins the last
        ([6, 6, 3], 6, [1, 2, 3]),
        ([1], 6, [1]),
        ([], 6, []),
    ],
)
def test_blocks_are_split_by_source_words(lengths: list[int], words: int, ends: list[int]) -> None:
    texts = ["w " * length for length in lengths]
    assert curves.block_ends(make_steps(texts, texts, texts), words).tolist() == ends


@pytest.mark.slow
def test_all_curves_of_a_long_stream_take_seconds() -> None:
    steps = noisy_steps(2000)
    started = time.process_time()
    for metric in additive_metrics(steps):
        assert len(curves.cumulative(metric, metric.rows(steps))) == 2000
    assert time.process_time() - started < 10
