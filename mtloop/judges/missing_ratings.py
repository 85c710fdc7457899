"""What a missing rating means: nothing, zero, that system's average so far, or an automatic score."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mtloop.core.errors import InputError, UnknownName

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
MISSING = ("zero", "average", "metric", "skip")


class Missing:
    """Fills in what nobody rated, over an axis of runs (runs x systems); the paper's fallbacks.

    `zero`: a score of 0. `average`: the mean of the human scores this system got so far, 0 before the first.
    `metric`: the automatic score of the translation, in [0, 1]. `skip`: nothing is filled in. Everything is rounded
    to `decimals` (None: not at all).
    """

    def __init__(self, how: str, shape: tuple[int, int], *, decimals: int | None = 2) -> None:
        if how not in MISSING:
            raise UnknownName("meaning of a missing rating", how, MISSING)
        self.how, self.decimals = how, decimals
        self.sums_, self.counts_ = np.zeros(shape), np.zeros(shape)

    def filled(self, scores: Array, asked: Mask, metric: Array | None = None, averages: Array | None = None) -> Array:
        """The scores of those asked about, NaN elsewhere; leaves no mark.

        `averages` stand in for the running means where a policy reckons its own.
        """
        human = np.where(asked, rounded(scores, self.decimals), np.nan)
        if self.how == "skip":
            return human
        values = rounded(self._values(human, metric, averages), self.decimals)
        return np.where(asked & np.isnan(human), values, human)

    def remember(self, human: Array) -> None:
        """Count human scores, rounded alike (NaN where there is none)."""
        if self.how != "average":
            return
        human = rounded(human, self.decimals)
        self.sums_ += np.nan_to_num(human, nan=0.0)
        self.counts_ += ~np.isnan(human)

    def _values(self, human: Array, metric: Array | None, averages: Array | None) -> Array:
        match self.how:
            case "zero":
                return np.zeros_like(human)
            case "average":
                return averages if averages is not None else self.sums_ / np.maximum(self.counts_, 1)
            case "metric":
                if metric is None:
                    raise InputError("missing=metric needs automatic scores; give --metric-scores and --metric")
                return metric
        return np.full_like(human, np.nan)


def rounded(values: Array, decimals: int | None) -> Array:
    """Rewards as the paper has them: rounded, to two decimals there."""
    return values if decimals is None else np.round(values, decimals)
