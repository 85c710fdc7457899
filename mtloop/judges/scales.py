"""Rating scales, and their mapping to rewards in [0, 1]."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mtloop.core.errors import InputError, UnknownName

Array = NDArray[np.float64]
MAX_Z_SCORE = 3.0  # standard deviations from the mean of a rater; scores beyond it are clipped
MAX_MQM_PENALTY = 25.0  # the MQM penalty of a useless translation; larger penalties are clipped


def direct_assessment(scores: Array) -> Array:
    """Map 0-100 to 0-1."""
    return _check_range(scores, 0, 100, "a direct assessment") * 0.01


def mqm(scores: Array) -> Array:
    """Map penalties, given as negative numbers, linearly: 0 to 1, and -25 or less to 0."""
    return 1 + np.maximum(_check_range(scores, -np.inf, 0, "an MQM penalty"), -MAX_MQM_PENALTY) / MAX_MQM_PENALTY


def z_score(scores: Array) -> Array:
    """Map z-scores per rater linearly: -3 or less to 0, 0 to 0.5, and 3 or more to 1.

    >>> z_score(np.array([-4.0, 0.0, 1.5])).tolist()
    [0.0, 0.5, 0.75]
    """
    clipped: Array = np.clip(0.5 + _check_range(scores, -10, 10, "a z-score") / (2 * MAX_Z_SCORE), 0.0, 1.0)
    return clipped


def binary(scores: Array) -> Array:
    """Return ratings of 0 or 1 unchanged; raise InputError for any other value."""
    if np.isin(scores[~np.isnan(scores)], (0, 1)).all():
        return scores
    raise InputError(f"score {_first_invalid(scores, np.isin(scores, (0, 1)))} is not 0 or 1; choose another --scale")


def unit(scores: Array) -> Array:
    """Return scores in [0, 1] unchanged; raise InputError for any other value."""
    return _check_range(scores, 0, 1, "a score on this scale")


def pairwise(scores: Array) -> Array:
    """Map scores on any scale to the share of the segment's other systems that a system beats.

    A tie counts one half. A segment with a single rated system gives NaN. Systems are the first axis.

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
    "z": z_score,
    "binary": binary,
    "unit": unit,
    "pairwise": pairwise,
}


def find_scale(name: str) -> Callable[[Array], Array]:
    """Return the mapping of a scale; raise UnknownName for an unknown scale."""
    if name not in SCALES:
        raise UnknownName("scale", name, SCALES)
    return SCALES[name]


def guess_scale(scores: Array) -> str:
    """Return "mqm" if no score is above zero and some are below, else "da"."""
    rated = scores[~np.isnan(scores)]
    return "mqm" if rated.size and rated.max() <= 0 and rated.min() < 0 else "da"


def min_max(scores: Array) -> Array:
    """Map automatic scores linearly: the lowest score of the file to 0 and the highest to 1.

    >>> min_max(np.array([[-1.5, 0.5, np.nan]])).tolist()
    [[0.0, 1.0, nan]]
    """
    low, high = np.nanmin(scores), np.nanmax(scores)
    scaled: Array = (scores - low) / (high - low) if high > low else np.where(np.isnan(scores), np.nan, 0.5)
    return scaled


METRIC_SCALINGS: dict[str, Callable[[Array], Array]] = {"range": min_max, "none": lambda scores: scores}


def _check_range(scores: Array, low: float, high: float, scale: str) -> Array:
    valid = (scores >= low) & (scores <= high)
    if (valid | np.isnan(scores)).all():
        return scores
    limits = f"from {low:g} to {high:g}" if np.isfinite(low) else f"of at most {high:g}"
    raise InputError(
        f"score {_first_invalid(scores, valid)} is not {scale}: expected numbers {limits}; choose another --scale"
    )


def _first_invalid(scores: Array, valid: NDArray[np.bool_]) -> float:
    return float(scores[~valid & ~np.isnan(scores)].flat[0])
