"""Noise that makes simulated rewards more like human ones (Nguyen, Daumé and Boyd-Graber, 2017)."""

from __future__ import annotations

import random
from dataclasses import dataclass, fields
from math import inf

from mtloop.core.errors import InputError


@dataclass(frozen=True)
class Noise:
    """Perturbs a reward in [0, 1]. The fields are applied in order; the defaults change nothing.

    `skew`: raises the reward to this power (above 1: harsh rater, below 1: lenient rater). `variance`: multiplier of
    the standard deviation of human ratings, which is largest in the middle of the scale (0: off). `granularity`: the
    number of equal steps of the scale (0: continuous).

    >>> Noise(granularity=4)(0.6, random.Random(1)), Noise(skew=2)(0.5, random.Random(1))
    (0.5, 0.25)
    """

    skew: float = 1.0
    variance: float = 0.0
    granularity: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.skew < inf:
            raise InputError(f"skew is {self.skew:g}; expected more than 0 (1 changes nothing)")
        if not 0 <= self.variance < inf:
            raise InputError(f"variance is {self.variance:g}; expected 0 or more (0 changes nothing)")
        if not 0 <= self.granularity < inf or self.granularity != int(self.granularity):
            message = f"granularity is {self.granularity:g}; expected a whole number of steps (0 changes nothing)"
            raise InputError(message)

    def __call__(self, reward: float, rng: random.Random) -> float:
        skewed = reward**self.skew
        varied = skewed if not self.variance else rng.gauss(skewed, self.variance * rating_deviation(skewed))
        clipped = min(1.0, max(0.0, varied))
        return round(clipped * self.granularity) / self.granularity if self.granularity else clipped

    def __bool__(self) -> bool:
        """Return whether the noise changes anything."""
        return self != Noise()

    def settings(self) -> dict[str, float]:
        """Return the fields that differ from their default."""
        return {
            spec.name: getattr(self, spec.name) for spec in fields(self) if getattr(self, spec.name) != spec.default
        }


def rating_deviation(reward: float) -> float:
    """Return the standard deviation of human ratings, as fitted in the 2017 paper; it is 0 at both ends of the scale.

    >>> round(rating_deviation(0.5), 3), rating_deviation(0.0), rating_deviation(1.0)
    (0.335, 0.0, 0.0)
    """
    return max(0.0, 0.64 * reward - 0.0002) if reward < 0.5 else max(0.0, 0.67 - 0.67 * reward)
