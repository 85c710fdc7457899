"""Thompson sampling: choose a system as often as it is likely to be the best."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtloop.selection.policies.batch_policy import Array, Draw, best_of, only
from mtloop.selection.policies.tally import Tally


class Thompson(Tally):
    """Draws a mean for every system from Beta(1 + scores, 1 + lost scores) and takes the highest.

    A score in [0, 1] counts as that share of a success, the rest as a failure.
    """

    def draw(self, rng: np.random.Generator, segments: Sequence[str], contexts: Array | None = None) -> Draw:
        means = rng.beta(1 + self.sums_, 1 + np.maximum(self.rated_ - self.sums_, 0))
        systems = best_of(means, rng)
        return Draw(systems, np.full(self.runs, np.nan), only(systems, len(self.systems)), segments)
