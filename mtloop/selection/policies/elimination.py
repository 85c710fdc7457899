"""Successive elimination (Even-Dar et al., 2006) for the best few, with empirical Bernstein bounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtloop.core.errors import InputError
from mtloop.core.protocols import Stop
from mtloop.selection.policies.batch_policy import Array, Draw, Mask, best_of, only
from mtloop.selection.policies.tally import Tally


class SuccessiveElimination(Tally):
    """Rates the systems in turn, one a segment, and leaves out those that cannot be among the best `top` any more.

    Bounds hold for every system and every number of ratings at once, with no assumption but that scores lie in [0, 1]
    (Audibert et al., 2009, with the error spent as 1/(n(n+1))): safe and slow. It stops when no system outside its best
    can be better than one of them by more than `indifference`.
    """

    stops = True

    def __init__(
        self,
        systems: Sequence[str],
        *,
        top: int = 3,
        confidence: float = 0.95,
        indifference: float = 0.01,
        runs: int = 1,
    ) -> None:
        super().__init__(systems, runs=runs)
        check_stopping(top, confidence, indifference)
        self.top, self.confidence, self.indifference = min(top, len(self.systems)), confidence, indifference

    def draw(self, rng: np.random.Generator, segments: Sequence[str], contexts: Array | None = None) -> Draw:
        systems = best_of(np.where(self._in_the_race(), -self.asked_, -np.inf), rng)
        return Draw(systems, np.full(self.runs, np.nan), only(systems, len(self.systems)), segments)

    def verdicts(self) -> list[Stop | None]:
        low, high = self._bounds()
        stops: list[Stop | None] = []
        for run, order in enumerate(self.ranking(self.standing())):
            best, rest = order[: self.top], order[self.top :]
            sure = not len(rest) or high[run, rest].max() - low[run, best].min() <= self.indifference
            names = tuple(self.systems[place] for place in best)
            stops.append(Stop(names, self.confidence, self.indifference) if sure else None)
        return stops

    def _in_the_race(self) -> Mask:
        """Systems whose upper bound reaches the lower bound of the system on the last place that counts."""
        low, high = self._bounds()
        bar = -np.sort(-low, axis=1)[:, self.top - 1 : self.top]
        mask: Mask = high >= bar
        return mask

    def _bounds(self) -> tuple[Array, Array]:
        number = np.maximum(self.rated_, 1)
        mean = self.standing()
        spread = np.maximum(self.squares_ / number - mean * mean, 0)
        share = (1 - self.confidence) / len(self.systems) / (number * (number + 1))
        radius = np.sqrt(2 * spread * np.log(3 / share) / number) + 3 * np.log(3 / share) / number
        radius = np.where(self.rated_ > 0, radius, np.inf)
        return mean - radius, mean + radius


def check_stopping(top: int, confidence: float, indifference: float) -> None:
    """Refuse a question that has no answer."""
    if top < 1:
        raise InputError(f"the best {top} systems; expected at least 1")
    if not 0 < confidence < 1:
        raise InputError(f"confidence {confidence}; expected a number between 0 and 1, such as 0.95")
    if not indifference >= 0:
        raise InputError(f"indifference {indifference}; expected 0 or more")
