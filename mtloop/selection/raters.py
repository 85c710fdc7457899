"""Raters differ: one is strict, one uses the whole scale. Standardising takes that out once a rater is known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev

ENOUGH = 20  # ratings, before a rater's own mean and spread are believed


@dataclass(frozen=True, slots=True)
class Rating:
    """What one rater said of one translation, on [0, 1], as given; `systems` are all that produced it."""

    rater: str
    segment: str
    systems: tuple[str, ...]
    value: float


@dataclass(frozen=True, slots=True)
class Habit:
    """How a rater rates."""

    ratings: int
    mean: float
    spread: float


def habits(ratings: Sequence[Rating]) -> dict[str, Habit]:
    """Each rater's number of ratings, mean and standard deviation."""
    values: dict[str, list[float]] = defaultdict(list)
    for rating in ratings:
        values[rating.rater].append(rating.value)
    return {rater: Habit(len(given), fmean(given), pstdev(given)) for rater, given in sorted(values.items())}


def standardised(ratings: Sequence[Rating], enough: int = ENOUGH) -> list[float]:
    """The values as if every well-known rater had the mean and spread of all ratings together, within [0, 1].

    A z-score on the common scale, so that a point stays a point. Raters with fewer than `enough` ratings are taken at
    their word; one who always says the same is only shifted.

    >>> strict = [Rating("a", str(i), ("x",), 0.2 + 0.1 * (i % 2)) for i in range(20)]
    >>> kind = [Rating("b", str(i), ("x",), 0.8 + 0.1 * (i % 2)) for i in range(20)]
    >>> values = standardised([*strict, *kind])
    >>> round(values[0], 6) == round(values[20], 6)
    True
    """
    if not ratings:
        return []
    known = habits(ratings)
    mean, spread = fmean(r.value for r in ratings), pstdev(r.value for r in ratings)
    return [_shifted(rating.value, known[rating.rater], mean, spread, enough) for rating in ratings]


def _shifted(value: float, habit: Habit, mean: float, spread: float, enough: int) -> float:
    if habit.ratings < enough:
        return value
    stretch = spread / habit.spread if habit.spread > 0 else 1.0
    return min(1.0, max(0.0, mean + (value - habit.mean) * stretch))
