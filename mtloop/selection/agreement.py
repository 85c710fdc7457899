"""Agreement of raters: Krippendorff's alpha over all of them, and the agreement of each pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

Units = Mapping[tuple[str, ...], Mapping[str, float]]
"""What was rated: the value of each rater, by rated unit."""


@dataclass(frozen=True)
class RaterPair:
    """Two raters, and the number of units that both rated.

    `correlation` is Pearson's; None if one of them gave the same value everywhere. `equal` is the share of units
    with the same value.
    """

    raters: tuple[str, str]
    count: int
    correlation: float | None
    equal: float


def krippendorff_alpha(units: Iterable[Sequence[float]], nominal: bool = False) -> float | None:
    """Krippendorff's alpha (2011), from the values of each unit; 1: full agreement, 0: agreement by chance.

    The difference of two values is the square of their distance or, if they are nominal, 1. Units with one value do
    not count. None: no unit has two values, or all values are equal.

    >>> krippendorff_alpha([[1, 1], [2, 2], [3, 3]])
    1.0
    """
    pairable = [list(values) for values in units if len(values) > 1]
    everything = [value for values in pairable for value in values]
    difference = _nominal_differences if nominal else _squared_differences
    if len(set(everything)) < 2:
        return None
    expected = difference(everything)
    observed = sum(difference(values) / (len(values) - 1) for values in pairable)
    return 1 - (len(everything) - 1) * observed / expected


def rater_pairs(units: Units, most: int | None = None) -> list[RaterPair]:
    """The agreement of every two raters who rated a unit in common, by name; at most those with the most in common."""
    counts = Counter(pair for values in units.values() for pair in combinations(sorted(values), 2))
    chosen = sorted(sorted(counts, key=lambda pair: (-counts[pair], pair))[:most])
    return [pair for left, right in chosen if (pair := _pair(units, left, right)) is not None]


def correlation(left: Sequence[float], right: Sequence[float]) -> float | None:
    """Pearson's correlation; None if one side does not vary.

    >>> correlation([1, 2, 3], [2, 4, 6]), correlation([1, 1], [1, 2])
    (1.0, None)
    """
    left_mean, right_mean = fmean(left), fmean(right)
    pairs = [(x - left_mean, y - right_mean) for x, y in zip(left, right, strict=True)]
    spread = (sum(x * x for x, _ in pairs) * sum(y * y for _, y in pairs)) ** 0.5
    return sum(x * y for x, y in pairs) / spread if spread else None


def _pair(units: Units, left: str, right: str) -> RaterPair | None:
    common = [(values[left], values[right]) for values in units.values() if left in values and right in values]
    if not common:
        return None
    equal = fmean(x == y for x, y in common)
    return RaterPair((left, right), len(common), correlation(*zip(*common, strict=True)), equal)


def _squared_differences(values: Sequence[float]) -> float:
    """The sum of the squared differences of all ordered pairs."""
    mean = fmean(values) if values else 0.0
    return 2 * len(values) * sum((value - mean) ** 2 for value in values)


def _nominal_differences(values: Sequence[float]) -> float:
    """The number of ordered pairs of values that are not equal."""
    return len(values) ** 2 - sum(count * count for count in Counter(values).values())
