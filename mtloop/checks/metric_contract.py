"""What every metric promises. Plugin authors run `check_metric` over their own, on steps of their own.

    def test_my_metric():
        check_metric(MyMetric(), steps)

A broken promise is an AssertionError that says which. Metrics whose rows add up (`rows`, `aggregate`) promise more.
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
class SumsUp(Protocol):
    """A metric that is statistics per segment and an aggregation of their sums."""

    def rows(self, steps: Sequence[Step]) -> NDArray[np.float64]: ...

    def aggregate(self, sums: NDArray[np.float64]) -> NDArray[np.float64]: ...

    def score(self, steps: Sequence[Step]) -> Score: ...


def check_metric(metric: Metric, steps: Sequence[Step], *, ordered: bool = False) -> None:
    """Check all that a metric promises. `ordered` says that the order of segments matters to it, as to recall."""
    check_leaves_steps_alone(metric, steps)
    check_name(metric, steps)
    check_repeatable(metric, steps)
    if isinstance(metric, SumsUp):
        check_rows(metric, steps)
        check_curve(metric, steps)
    check_value(metric, steps)
    check_empty_hypotheses(metric, steps)
    if not ordered:
        check_order_free(metric, steps)


def check_name(metric: Metric, steps: Sequence[Step]) -> None:
    """A name fit for the command line, which the score carries; and a signature, for no number goes without one."""
    assert metric.name, "a metric needs a name"
    assert metric.name == metric.name.strip().lower(), f"name {metric.name!r}: expected lower case, no space around it"
    assert "," not in metric.name, f"name {metric.name!r}: a comma separates names on the command line"
    score = metric.score(steps)
    assert score.name == metric.name, f"the score of {metric.name!r} says it is of {score.name!r}"
    assert score.signature.strip(), f"{metric.name}: the signature is empty"


def check_value(metric: Metric, steps: Sequence[Step]) -> None:
    """A number or NaN (0/0), never an infinity; and a score that can be written as JSON."""
    score = metric.score(steps)
    assert not math.isinf(score.value), f"{metric.name}: the score is infinite; 0/0 is NaN"
    assert _has_json(score), f"{metric.name}: the score cannot be written as JSON: {score!r:.200}"


def check_repeatable(metric: Metric, steps: Sequence[Step]) -> None:
    """The same steps score the same, to the last digit and with the same signature."""
    first, second = metric.score(steps), metric.score(steps)
    assert _equal(first.value, second.value), f"{metric.name}: scored twice, {first.value} and {second.value}"
    assert first.signature == second.signature, f"{metric.name}: the signature changes from one score to the next"


def check_leaves_steps_alone(metric: Metric, steps: Sequence[Step]) -> None:
    """Other metrics read the same steps."""
    before = copy.deepcopy(list(steps))
    metric.score(steps)
    assert list(steps) == before, f"{metric.name}: scoring changed the steps"


def check_empty_hypotheses(metric: Metric, steps: Sequence[Step]) -> None:
    """A system that said nothing is a bad system, not an error."""
    for silent in (steps[:1], steps):
        check_value(metric, [replace(step, proposal=replace(step.proposal, text="")) for step in silent])


def check_order_free(metric: Metric, steps: Sequence[Step]) -> None:
    """The same segments in another order score the same."""
    shuffled = random.Random(1).sample(list(steps), len(steps))
    here, there = metric.score(steps).value, metric.score(shuffled).value
    assert _close(here, there), f"{metric.name}: {here} becomes {there} in another order (meant? ordered=True)"


def check_rows(metric: SumsUp, steps: Sequence[Step]) -> None:
    """One row a step, finite, and the score is that of their sum."""
    rows, score = metric.rows(steps), metric.score(steps)
    assert rows.ndim == 2, f"{score.name}: rows have the shape (steps, columns)"
    assert len(rows) == len(steps), f"{score.name}: {len(rows)} rows for {len(steps)} steps"
    assert np.isfinite(rows).all(), f"{score.name}: a row is not finite; a segment with nothing to measure is all zero"
    whole = metric.aggregate(rows.sum(axis=0)[None])
    assert whole.shape == (1,), f"{score.name}: aggregate turns (m, columns) into (m,)"
    assert _equal(float(whole[0]), score.value), f"{score.name}: the score is not that of the summed rows"


def check_curve(metric: SumsUp, steps: Sequence[Step]) -> None:
    """The cumulative curve has a point a step, ends at the score, and its prefixes do not know what comes later."""
    curve, score = metric.aggregate(np.cumsum(metric.rows(steps), axis=0)), metric.score(steps)
    assert curve.shape == (len(steps),), f"{score.name}: aggregate turns (m, columns) into (m,)"
    assert _close(float(curve[-1]), score.value), f"{score.name}: the curve ends at {curve[-1]}, not at {score.value}"
    half = len(steps) // 2 + 1
    prefix = metric.score(steps[:half]).value
    assert _close(float(curve[half - 1]), prefix), f"{score.name}: a prefix scores otherwise alone than in the curve"


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
