"""The ratings that policies needed, with 95 % intervals over the runs of a replay."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from mtloop.core.types import JSON
from mtloop.metrics.base import Array
from mtloop.report.table import Table
from mtloop.report.wording import median_text
from mtloop.selection.policy_result import PolicyResult

RESAMPLES, SEED = 2000, 1
MEASURES = ("settled_exactly", "settled_within_tie")


def interval_table(results: Sequence[PolicyResult]) -> Table:
    """Return the median ratings to settle with their intervals, and the differences from the first policy.

    The runs are resampled. In all policies a run reads the segments in the same order, so differences are paired.
    """
    first, runs = results[0], results[0].runs
    resampled = f"{runs} runs, {RESAMPLES} bootstrap resamples, seed {SEED}"
    notes = [
        f"in brackets: 95 % intervals over the runs ({resampled})",
        "a run that never settles counts as all ratings; differences are those of the medians within the tie",
    ]
    return Table(
        headers=["policy", "to settle exactly", "to settle within tie", f"difference from {first.policy}"],
        cells=[_cells(result, first) for result in results],
        records=[_record(result, first) for result in results],
        notes=notes,
    )


def _cells(result: PolicyResult, first: PolicyResult) -> list[str]:
    medians = [_cell(*_median(_runs(result, measure)), ",") for measure in MEASURES]
    difference = "-" if result is first else _cell(*_difference(result, first), "+,")
    return [result.policy, *medians, difference]


def _cell(value: float, low: float, high: float, form: str) -> str:
    return f"{median_text(value, form)} ({median_text(low, form)}, {median_text(high, form)})"


def _record(result: PolicyResult, first: PolicyResult) -> dict[str, JSON]:
    measured = {measure: _median(_runs(result, measure)) for measure in MEASURES}
    if result is not first:
        measured["difference"] = _difference(result, first)
    numbers = {
        f"{measure}{suffix}": value
        for measure, values in measured.items()
        for suffix, value in zip(("", "_low", "_high"), values, strict=True)
    }
    return {"policy": result.policy, **numbers}


def _runs(result: PolicyResult, measure: str) -> Array:
    return np.array(getattr(result.effort, measure), dtype=float)


def _median(values: Array) -> tuple[float, float, float]:
    return _interval(len(values), lambda drawn: np.median(values[drawn], axis=-1))


def _difference(result: PolicyResult, first: PolicyResult) -> tuple[float, float, float]:
    """Return the difference of the medians to settle within the tie, with its interval."""
    ours, theirs = (_runs(one, "settled_within_tie") for one in (result, first))
    return _interval(len(ours), lambda drawn: np.median(ours[drawn], axis=-1) - np.median(theirs[drawn], axis=-1))


def _interval(runs: int, statistic: Callable[[NDArray[np.intp]], Array]) -> tuple[float, float, float]:
    """Return a statistic of the runs and its 95 % interval."""
    drawn = np.random.default_rng(SEED).integers(0, runs, (RESAMPLES, runs), dtype=np.intp)
    low, high = np.percentile(statistic(drawn), [2.5, 97.5])
    return float(statistic(np.arange(runs, dtype=np.intp))), float(low), float(high)
