"""The scales people rate on, and how each becomes a reward in [0, 1]."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mtloop.core.errors import InputError, UnknownName

Array = NDArray[np.float64]
WIDEST = 3.0  # standard deviations from a rater's mean; what lies farther out counts like it
WORST = 25.0  # the MQM penalty of a segment that is of no use at all; worse ones count like it


def direct_assessment(scores: Array) -> Array:
    """0-100, divided by 100."""
    return _within(scores, 0, 100, "a direct assessment") * 0.01


def mqm(scores: Array) -> Array:
    """Penalties as negative numbers: 0 is 1, -25 and worse is 0, linear between them."""
    return 1 + np.maximum(_within(scores, -np.inf, 0, "an MQM penalty"), -WORST) / WORST


def standardised(scores: Array) -> Array:
    """z-scores of their raters: 0 is 0.5, three standard deviations below is 0 and above 1, linear between them.

    >>> standardised(np.array([-4.0, 0.0, 1.5])).tolist()
    [0.0, 0.5, 0.75]
    """
    ranged: Array = np.clip(0.5 + _within(scores, -10, 10, "a z-score") / (2 * WIDEST), 0.0, 1.0)
    return ranged


def binary(scores: Array) -> Array:
    """0 or 1 and nothing between."""
    if np.isin(scores[~np.isnan(scores)], (0, 1)).all():
        return scores
    raise InputError(f"score {_first(scores, np.isin(scores, (0, 1)))} is neither 0 nor 1; expected binary ratings")


def unit(scores: Array) -> Array:
    """Already in [0, 1]."""
    return _within(scores, 0, 1, "a score on this scale")


def pairwise(scores: Array) -> Array:
    """Whatever the scale, only who was preferred to whom: the share of a segment's other systems that one beats.

    Ties count half; a segment with a single rated system says nothing. Systems are the first axis.

    >>> pairwise(np.array([[70.0, 5.0], [90.0, np.nan], [70.0, np.nan]])).tolist()
    [[0.25, nan], [1.0, nan], [0.25, nan]]
    """
    others = (~np.isnan(scores)).sum(axis=0) - 1
    wins = np.stack([(row > scores).sum(axis=0) + 0.5 * ((row == scores).sum(axis=0) - 1) for row in scores])
    shares: Array = np.divide(wins, others, out=np.full(scores.shape, np.nan), where=others > 0)
    return np.where(np.isnan(scores), np.nan, shares)


SCALES: dict[str, Callable[[Array], Array]] = {
    "da": direct_assessment,
    "mqm": mqm,
    "z": standardised,
    "binary": binary,
    "unit": unit,
    "pairwise": pairwise,
}


def find_scale(name: str) -> Callable[[Array], Array]:
    if name not in SCALES:
        raise UnknownName("scale", name, SCALES)
    return SCALES[name]


def guess_scale(scores: Array) -> str:
    """MQM if nothing is above zero and something is below; else direct assessment."""
    known = scores[~np.isnan(scores)]
    return "mqm" if known.size and known.max() <= 0 and known.min() < 0 else "da"


def metric_range(scores: Array) -> Array:
    """An automatic score as a reward: linear, the lowest score of the file to 0 and the highest to 1.

    >>> metric_range(np.array([[-1.5, 0.5, np.nan]])).tolist()
    [[0.0, 1.0, nan]]
    """
    low, high = np.nanmin(scores), np.nanmax(scores)
    ranged: Array = (scores - low) / (high - low) if high > low else np.where(np.isnan(scores), np.nan, 0.5)
    return ranged


METRIC_MAPS: dict[str, Callable[[Array], Array]] = {"range": metric_range, "none": lambda scores: scores}


def _within(scores: Array, low: float, high: float, what: str) -> Array:
    good = (scores >= low) & (scores <= high)
    if (good | np.isnan(scores)).all():
        return scores
    limits = f"from {low:g} to {high:g}" if np.isfinite(low) else f"of at most {high:g}"
    raise InputError(f"score {_first(scores, good)} is not {what}: expected numbers {limits}; choose another --scale")


def _first(scores: Array, good: NDArray[np.bool_]) -> float:
    return float(scores[~good & ~np.isnan(scores)].flat[0])
