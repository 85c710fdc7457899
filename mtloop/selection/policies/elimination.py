"""Successive elimination (Even-Dar et al., 2006) for the best `top` systems, with empirical Bernstein bounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtloop.core.errors import InputError
from mtloop.core.protocols import Stop
from mtloop.core.ranges import check_at_least
from mtloop.selection.policies.batch_policy import Array, BatchChoice, Mask, argmax_random_ties, one_hot
from mtloop.selection.policies.mean_score_policy import MeanScorePolicy


class SuccessiveElimination(MeanScorePolicy):
    """Rate the systems in turn, one per segment, and drop those that can no longer be among the best `top`.

    The bounds hold for every system and every number of ratings at the same time. They assume only that scores lie in
    [0, 1] (Audibert et al., 2009, with the error spent as 1/(n(n+1))): safe, but slow. The policy stops when no system
    outside its top can be better than a system in the top by more than `indifference`, on the scale 0 to 1.
    """

    has_stopping_rule = True

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

    def choose_batch(
        self, rng: np.random.Generator, segments: Sequence[str], contexts: Array | None = None
    ) -> BatchChoice:
        systems = argmax_random_ties(np.where(self._candidates(), -self.asked_, -np.inf), rng)
        return BatchChoice(systems, np.full(self.runs, np.nan), one_hot(systems, len(self.systems)), segments)

    def batch_verdicts(self) -> list[Stop | None]:
        low, high = self._bounds()
        stops: list[Stop | None] = []
        for run, order in enumerate(self.ranking(self.batch_weights())):
            best, rest = order[: self.top], order[self.top :]
            sure = not len(rest) or high[run, rest].max() - low[run, best].min() <= self.indifference
            names = tuple(self.systems[index] for index in best)
            stops.append(Stop(names, self.confidence, self.indifference) if sure else None)
        return stops

    def _candidates(self) -> Mask:
        """Systems whose upper bound reaches the `top`-th highest lower bound."""
        low, high = self._bounds()
        threshold = -np.sort(-low, axis=1)[:, self.top - 1 : self.top]
        mask: Mask = high >= threshold
        return mask

    def _bounds(self) -> tuple[Array, Array]:
        """Lower and upper confidence bounds of the means (runs x systems)."""
        number = np.maximum(self.rated_, 1)
        mean = self.batch_weights()
        variance = np.maximum(self.squares_ / number - mean * mean, 0)
        error = (1 - self.confidence) / len(self.systems) / (number * (number + 1))
        radius = np.sqrt(2 * variance * np.log(3 / error) / number) + 3 * np.log(3 / error) / number
        radius = np.where(self.rated_ > 0, radius, np.inf)
        return mean - radius, mean + radius


def check_stopping(top: int, confidence: float, indifference: float) -> None:
    """Raise InputError for a setting of the stopping rule that is out of range."""
    check_at_least(1, top=top)
    if not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence}; expected a number between 0 and 1, such as 0.95")
    if not 0 <= indifference < 1:
        raise InputError(
            f"indifference is {indifference:g}; expected 0 or more and less than 1 (0.01 is one point of 100)"
        )
