"""Counting: how often each system was asked about and rated, and what the ratings sum up to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtloop.selection.policies.batch_policy import Array, BatchPolicy, Draw


class Tally(BatchPolicy):
    """Policies that rank by the mean score. A system that nobody rated has mean 0.

    An asking that got no answer counts as an asking: a system that nobody ever rates is not asked about for ever.
    """

    learned: tuple[str, ...] = ("asked_", "rated_", "sums_", "squares_")

    def __init__(self, systems: Sequence[str], *, runs: int = 1) -> None:
        super().__init__(systems, runs=runs)
        self.asked_, self.rated_ = np.zeros(self.shape), np.zeros(self.shape)
        self.sums_, self.squares_ = np.zeros(self.shape), np.zeros(self.shape)

    def learn(self, draw: Draw, scores: Array) -> None:
        values = np.nan_to_num(scores, nan=0.0)
        self.asked_ += draw.asked
        self.rated_ += ~np.isnan(scores)
        self.sums_ += values
        self.squares_ += values * values

    def standing(self) -> Array:
        return self.sums_ / np.maximum(self.rated_, 1)
