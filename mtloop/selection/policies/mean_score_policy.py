"""The base class of policies that rank the systems by their mean score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtloop.selection.policies.batch_policy import Array, BatchChoice, BatchPolicy


class MeanScorePolicy(BatchPolicy):
    """Counts the rating requests and ratings of every system, and sums its scores. Without ratings the mean is 0.

    A request without an answer counts as a request. So a policy does not ask for ever about a system that nobody rates.
    """

    learned: tuple[str, ...] = ("asked_", "rated_", "sums_", "squares_")

    def __init__(self, systems: Sequence[str], *, runs: int = 1) -> None:
        super().__init__(systems, runs=runs)
        self.asked_, self.rated_ = np.zeros(self.shape), np.zeros(self.shape)
        self.sums_, self.squares_ = np.zeros(self.shape), np.zeros(self.shape)

    def update_batch(self, choice: BatchChoice, scores: Array) -> None:
        values = np.nan_to_num(scores, nan=0.0)
        self.asked_ += choice.asked
        self.rated_ += ~np.isnan(scores)
        self.sums_ += values
        self.squares_ += values * values

    def batch_weights(self) -> Array:
        return self.sums_ / np.maximum(self.rated_, 1)
