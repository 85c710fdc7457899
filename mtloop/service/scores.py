"""Standings as people read them: leaderboards and curves."""

from __future__ import annotations

import math

POINTS_A_DECADE = 20


def is_milestone(position: int) -> bool:
    """Whether a curve keeps this position: about twenty for every power of ten, spread as on a logarithmic axis.

    >>> [position for position in range(1, 40) if is_milestone(position)][-8:]
    [23, 26, 29, 32, 36]
    """
    if position < POINTS_A_DECADE // 2:
        return position > 0
    step = math.floor(math.log10(position) * POINTS_A_DECADE)
    return math.floor(math.log10(position - 1) * POINTS_A_DECADE) < step
