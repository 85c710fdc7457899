"""UCB1 (Auer, Cesa-Bianchi and Fischer, 2002): choose the system with the highest upper confidence bound."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtloop.selection.policies.batch_policy import Array, BatchChoice, argmax_random_ties, one_hot
from mtloop.selection.policies.mean_score_policy import MeanScorePolicy


class UCB1(MeanScorePolicy):
    """Choose the highest mean + sqrt(2 ln t / n). Systems that were never asked about come first, in random order.

    n counts rating requests, so the bonus of a system that nobody rates shrinks too.
    """

    def choose_batch(
        self, rng: np.random.Generator, segments: Sequence[str], contexts: Array | None = None
    ) -> BatchChoice:
        asked = np.maximum(self.asked_, 1)
        time = np.maximum(self.asked_.sum(axis=1, keepdims=True), 1)
        bounds = np.where(self.asked_ > 0, self.batch_weights() + np.sqrt(2 * np.log(time) / asked), np.inf)
        systems = argmax_random_ties(bounds, rng)
        return BatchChoice(systems, np.full(self.runs, np.nan), one_hot(systems, len(self.systems)), segments)
