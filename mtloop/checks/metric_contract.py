"""The contract of metrics. Call `check_metric` in the tests of a plugin, with steps of your choice:

    def test_my_metric():
        check_metric(MyMetric(), steps)

A violation raises an AssertionError that describes it. Additive metrics (`rows`, `aggregate`) are checked further.
"""

from __future__ import annotations

import copy
import json
import math
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mtloop.core.protocols import Metric
from mtloop.core.types import Score, Step


@runtime_checkable
class AdditiveMetric(Protocol):
    """A metric that computes statistics per segment and aggregates their sums."""

    def rows(self, steps: Sequence[Step]) -> NDArray[np.float64]: ...

    def aggregate(self, sums: NDArray[np.float64]) -> NDArray[np.float64]: ...

    def score(self, steps: Sequence[Step]) -> Score: ...


def check_metric(metric: Metric, steps: Sequence[Step], *, ordered: bool = False) -> None:
    """Check the whole contract of a metric; raise AssertionError with a description of the first violation.

    Args:
        metric: The metric.
        steps: Steps with translations and references.
        ordered: Whether the metric depends on the order of the segments, as recall does.
    """
    check_steps_unchanged(metric, steps)
    check_name_and_signature(metric, steps)
    check_repeatable(metric, steps)
    if isinstance(metric, AdditiveMetric):
        check_rows(metric, steps)
        check_curve(metric, steps)
    check_value(metric, steps)
    check_empty_hypotheses(metric, steps)
    if not ordered:
        check_order_invariance(metric, steps)


def check_name_and_signature(metric: Metric, steps: Sequence[Step]) -> None:
    """The name is valid on the command line, the score has this name, and its signature is not empty."""
    assert metric.name, "a metric needs a name"
    assert metric.name == metric.name.strip().lower(), f"name {metric.name!r}: expected lower case, no space around it"
    assert "," not in metric.name, f"name {metric.name!r}: a comma separates names on the command line"
    score = metric.score(steps)
    assert score.name == metric.name, f"the score of metric {metric.name!r} has the name {score.name!r}"
    assert score.signature.strip(), f"{metric.name}: the signature is empty"


def check_value(metric: Metric, steps: Sequence[Step]) -> None:
    """The value is finite or NaN (0/0), and the score can be written as JSON."""
    score = metric.score(steps)
    assert not math.isinf(score.value), f"{metric.name}: the score is infinite; return NaN for 0/0"
    assert _has_json(score), f"{metric.name}: the score cannot be written as JSON: {score!r:.200}"


def check_repeatable(metric: Metric, steps: Sequence[Step]) -> None:
    """Scoring the same steps twice gives exactly the same value and signature."""
    first, second = metric.score(steps), metric.score(steps)
    assert _equal(first.value, second.value), f"{metric.name}: scored twice, {first.value} and {second.value}"
    assert first.signature == second.signature, f"{metric.name}: the signature changes from one call to the next"


def check_steps_unchanged(metric: Metric, steps: Sequence[Step]) -> None:
    """Scoring does not change the steps: other metrics read them too."""
    before = copy.deepcopy(list(steps))
    metric.score(steps)
    assert list(steps) == before, f"{metric.name}: scoring changed the steps"


def check_empty_hypotheses(metric: Metric, steps: Sequence[Step]) -> None:
    """Empty translations get a score; they are not an error."""
    for selected in (steps[:1], steps):
        check_value(metric, [replace(step, proposal=replace(step.proposal, text="")) for step in selected])


def check_order_invariance(metric: Metric, steps: Sequence[Step]) -> None:
    """The order of the segments does not change the score."""
    shuffled = random.Random(1).sample(list(steps), len(steps))
    first, second = metric.score(steps).value, metric.score(shuffled).value
    message = f"{metric.name}: {first} becomes {second} in another order; if this is intended, pass ordered=True"
    assert _close(first, second), message


def check_rows(metric: AdditiveMetric, steps: Sequence[Step]) -> None:
    """There is one finite row per step, and the score is the aggregate of their sum."""
    rows, score = metric.rows(steps), metric.score(steps)
    assert rows.ndim == 2, f"{score.name}: rows must have the shape (steps, columns)"
    assert len(rows) == len(steps), f"{score.name}: {len(rows)} rows for {len(steps)} steps"
    assert np.isfinite(rows).all(), f"{score.name}: a row is not finite; use zeros for a segment without statistics"
    total = metric.aggregate(rows.sum(axis=0)[None])
    assert total.shape == (1,), f"{score.name}: aggregate must map the shape (m, columns) to (m,)"
    assert _equal(float(total[0]), score.value), f"{score.name}: the score is not the aggregate of the summed rows"


def check_curve(metric: AdditiveMetric, steps: Sequence[Step]) -> None:
    """The cumulative curve has one point per step, ends at the score, and each point depends on earlier steps only."""
    curve, score = metric.aggregate(np.cumsum(metric.rows(steps), axis=0)), metric.score(steps)
    assert curve.shape == (len(steps),), f"{score.name}: aggregate must map the shape (m, columns) to (m,)"
    assert _close(float(curve[-1]), score.value), f"{score.name}: the curve ends at {curve[-1]}, not at {score.value}"
    half = len(steps) // 2 + 1
    prefix = metric.score(steps[:half]).value
    assert _close(float(curve[half - 1]), prefix), (
        f"{score.name}: the score of a prefix differs from its point on the curve"
    )


def _has_json(score: Score) -> bool:
    try:
        json.dumps(score.to_json(), allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def _equal(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))


def _close(a: float, b: float) -> bool:
    return _equal(a, b) or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
