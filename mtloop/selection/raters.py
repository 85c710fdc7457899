"""Standardisation of ratings: raters differ in strictness and in how much of the scale they use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev

MIN_RATINGS = 20  # with fewer ratings, a rater's own mean and standard deviation are not used


@dataclass(frozen=True, slots=True)
class Rating:
    """The score that a rater gave to a translation, on [0, 1], not standardised; `systems` all produced that text."""

    rater: str
    segment: str
    systems: tuple[str, ...]
    value: float


@dataclass(frozen=True, slots=True)
class RaterStatistics:
    """The number of a rater's ratings, their mean, and their standard deviation."""

    ratings: int
    mean: float
    standard_deviation: float


def rater_statistics(ratings: Sequence[Rating]) -> dict[str, RaterStatistics]:
    """The statistics of every rater, by name."""
    values: dict[str, list[float]] = defaultdict(list)
    for rating in ratings:
        values[rating.rater].append(rating.value)
    return {rater: RaterStatistics(len(given), fmean(given), pstdev(given)) for rater, given in sorted(values.items())}


def standardise(ratings: Sequence[Rating], min_ratings: int = MIN_RATINGS) -> list[float]:
    """The values after every rater is moved to the mean and standard deviation of all ratings, clipped to [0, 1].

    This is a z-score on the common scale, so the unit stays the same. The values of raters with fewer than
    `min_ratings` ratings stay as they are. The values of a rater with standard deviation 0 are only shifted.

    >>> strict = [Rating("a", str(i), ("x",), 0.2 + 0.1 * (i % 2)) for i in range(20)]
    >>> kind = [Rating("b", str(i), ("x",), 0.8 + 0.1 * (i % 2)) for i in range(20)]
    >>> values = standardise([*strict, *kind])
    >>> round(values[0], 6) == round(values[20], 6)
    True
    """
    if not ratings:
        return []
    statistics = rater_statistics(ratings)
    mean, deviation = fmean(r.value for r in ratings), pstdev(r.value for r in ratings)
    return [_rescale(rating.value, statistics[rating.rater], mean, deviation, min_ratings) for rating in ratings]


def _rescale(value: float, rater: RaterStatistics, mean: float, deviation: float, min_ratings: int) -> float:
    if rater.ratings < min_ratings:
        return value
    stretch = deviation / rater.standard_deviation if rater.standard_deviation > 0 else 1.0
    return min(1.0, max(0.0, mean + (value - rater.mean) * stretch))
