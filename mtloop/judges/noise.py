"""Rewards as people would give them: coarse, unsteady, strict or kind (Nguyen, Daumé and Boyd-Graber, 2017)."""

from __future__ import annotations

import random
from dataclasses import dataclass, fields
from math import inf

from mtloop.core.errors import InputError


@dataclass(frozen=True)
class Noise:
    """Perturbs a reward in [0, 1]; what is left at its default changes nothing. Applied in the order of the fields.

    `skew`: the reward to this power; above 1 for a harsh rater, below for a kind one. `variance`: how many times the
    spread that people's ratings of a sentence show, which is widest in the middle of the scale. `granularity`: how
    many steps the scale has.

    >>> Noise(granularity=4)(0.6, random.Random(1)), Noise(skew=2)(0.5, random.Random(1))
    (0.5, 0.25)
    """

    skew: float = 1.0
    variance: float = 0.0
    granularity: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.skew < inf:
            raise InputError(f"skew {self.skew:g}: expected more than 0 (1 changes nothing)")
        if not 0 <= self.variance < inf:
            raise InputError(f"variance {self.variance:g}: expected 0 or more (0 changes nothing)")
        if not 0 <= self.granularity < inf or self.granularity != int(self.granularity):
            raise InputError(f"granularity {self.granularity:g}: expected a whole number of steps (0 changes nothing)")

    def __call__(self, reward: float, rng: random.Random) -> float:
        skewed = reward**self.skew
        spread = skewed if not self.variance else rng.gauss(skewed, self.variance * deviation(skewed))
        kept = min(1.0, max(0.0, spread))
        return round(kept * self.granularity) / self.granularity if self.granularity else kept

    def __bool__(self) -> bool:
        return self != Noise()

    def settings(self) -> dict[str, float]:
        """What differs from the default."""
        return {one.name: getattr(self, one.name) for one in fields(self) if getattr(self, one.name) != one.default}


def deviation(reward: float) -> float:
    """The standard deviation of people's ratings of a sentence, after the 2017 paper's fit; none at either end.

    >>> round(deviation(0.5), 3), deviation(0.0), deviation(1.0)
    (0.335, 0.0, 0.0)
    """
    return max(0.0, 0.64 * reward - 0.0002) if reward < 0.5 else max(0.0, 0.67 - 0.67 * reward)
