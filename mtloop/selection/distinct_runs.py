"""Counts the runs of a replay that differ: equal runs are one piece of evidence, not several."""

from __future__ import annotations

import numpy as np

from mtloop.selection.policies.batch_policy import Array, Indices, Mask

DECIMALS = 9  # equal runs can differ in the last digits, because sums are added up in another order


class DistinctRuns:
    """Finds equal runs from what they did in every iteration.

    `first_equal` holds for every run the first run that is equal to it. Runs are equal until `add` finds a difference.

    >>> runs = DistinctRuns(3)
    >>> runs.add(np.array([[0.5, 0.5], [0.5, 0.5], [0.4, 0.6]]))
    >>> runs.first_equal.tolist()
    [0, 0, 2]
    """

    def __init__(self, runs: int) -> None:
        self.first_equal: Indices = np.zeros(runs, dtype=np.intp)
        self._all_distinct = runs == 1

    def add(self, *values: Array | Indices | Mask) -> None:
        """Compare the runs by these arrays (runs x any number of columns)."""
        if self._all_distinct or all(np.array_equal(each, each[self.first_equal]) for each in values):
            return
        rows = np.concatenate([each.astype(float) for each in values], axis=1)
        equal = np.isclose(rows, rows[self.first_equal], rtol=0, atol=10**-DECIMALS, equal_nan=True).all(axis=1)
        if not equal.all():
            self._split(np.where(equal[:, None], rows[self.first_equal], rows))

    def _split(self, rows: Array) -> None:
        """Separate the runs whose rows differ."""
        rounded = np.round(rows, DECIMALS) + 0.0  # no negative zero, which has other bytes
        known: dict[tuple[int, bytes], int] = {}
        for run, first in enumerate(self.first_equal.tolist()):
            self.first_equal[run] = known.setdefault((first, rounded[run].tobytes()), run)
        self._all_distinct = len(known) == len(rows)
