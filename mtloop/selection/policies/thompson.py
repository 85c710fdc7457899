"""Thompson sampling: choose each system with the probability that it is the best."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtloop.selection.policies.batch_policy import Array, BatchChoice, argmax_random_ties, one_hot
from mtloop.selection.policies.mean_score_policy import MeanScorePolicy


class Thompson(MeanScorePolicy):
    """Draw a mean for every system from Beta(1 + sum of scores, 1 + sum of (1 - score)) and choose the highest.

    A score s in [0, 1] counts as s successes and 1 - s failures.
    """

    def choose_batch(
        self, rng: np.random.Generator, segments: Sequence[str], contexts: Array | None = None
    ) -> BatchChoice:
        means = rng.beta(1 + self.sums_, 1 + np.maximum(self.rated_ - self.sums_, 0))
        systems = argmax_random_ties(means, rng)
        return BatchChoice(systems, np.full(self.runs, np.nan), one_hot(systems, len(self.systems)), segments)
