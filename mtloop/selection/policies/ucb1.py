"""UCB1 (Auer, Cesa-Bianchi and Fischer, 2002): the benefit of the doubt."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtloop.selection.policies.batch_policy import Array, Draw, best_of, only
from mtloop.selection.policies.tally import Tally


class UCB1(Tally):
    """Chooses the highest mean + sqrt(2 ln t / n); systems never asked about come first, by lot.

    n counts askings, so that a system which nobody rates loses its bonus like any other.
    """

    def draw(self, rng: np.random.Generator, segments: Sequence[str], contexts: Array | None = None) -> Draw:
        asked = np.maximum(self.asked_, 1)
        time = np.maximum(self.asked_.sum(axis=1, keepdims=True), 1)
        hopes = np.where(self.asked_ > 0, self.standing() + np.sqrt(2 * np.log(time) / asked), np.inf)
        systems = best_of(hopes, rng)
        return Draw(systems, np.full(self.runs, np.nan), only(systems, len(self.systems)), segments)
