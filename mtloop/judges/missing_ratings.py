"""Values for missing ratings: none, zero, the average of the system so far, or an automatic score."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mtloop.core.errors import InputError, UnknownName

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
STRATEGIES = ("zero", "average", "metric", "skip")


class MissingRatings:
    """Imputes missing ratings in arrays of the shape (runs, systems), with the strategies of the 2021 paper.

    `zero`: a score of 0. `average`: the mean of the human scores of this system so far, 0 before the first.
    `metric`: the automatic score of the translation, in [0, 1]. `skip`: no value. All values are rounded to
    `decimals` (None: no rounding).
    """

    def __init__(self, strategy: str, shape: tuple[int, int], *, decimals: int | None = 2) -> None:
        if strategy not in STRATEGIES:
            raise UnknownName("strategy for missing ratings", strategy, STRATEGIES)
        self.strategy, self.decimals = strategy, decimals
        self.sums_, self.counts_ = np.zeros(shape), np.zeros(shape)

    def fill(self, scores: Array, asked: Mask, metric: Array | None = None, averages: Array | None = None) -> Array:
        """Return the scores of the systems in `asked`, NaN for the others; does not change the running means.

        `averages` replaces the running means, for a policy that computes its own.
        """
        human = np.where(asked, round_scores(scores, self.decimals), np.nan)
        if self.strategy == "skip":
            return human
        values = round_scores(self._values(human, metric, averages), self.decimals)
        return np.where(asked & np.isnan(human), values, human)

    def observe(self, human: Array) -> None:
        """Add human scores (NaN: not rated) to the running means."""
        if self.strategy != "average":
            return
        human = round_scores(human, self.decimals)
        self.sums_ += np.nan_to_num(human, nan=0.0)
        self.counts_ += ~np.isnan(human)

    def _values(self, human: Array, metric: Array | None, averages: Array | None) -> Array:
        match self.strategy:
            case "zero":
                return np.zeros_like(human)
            case "average":
                return averages if averages is not None else self.sums_ / np.maximum(self.counts_, 1)
            case "metric":
                if metric is None:
                    raise InputError("missing=metric needs automatic scores; pass --metric-scores and --metric")
                return metric
        return np.full_like(human, np.nan)


def round_scores(values: Array, decimals: int | None) -> Array:
    """Round scores to `decimals` (None: no rounding); the 2021 paper uses two decimals."""
    return values if decimals is None else np.round(values, decimals)
