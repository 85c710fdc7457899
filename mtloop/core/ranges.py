"""Checks of numbers against their allowed range, with one wording."""

from __future__ import annotations

import math

from mtloop.core.errors import InputError


def check_at_least(minimum: float, **values: float) -> None:
    """Raise InputError, which names the value, if one is below `minimum` or NaN.

    >>> check_at_least(1, beam_size=0)
    Traceback (most recent call last):
    mtloop.core.errors.InputError: beam_size is 0; expected 1 or more
    """
    for name, value in values.items():
        if not value >= minimum:
            raise InputError(f"{name} is {value}; expected {minimum} or more")


def check_above(minimum: float, **values: float) -> None:
    """Raise InputError, which names the value, if one is not above `minimum` or not finite."""
    for name, value in values.items():
        if not minimum < value < math.inf:
            raise InputError(f"{name} is {value}; expected a finite number above {minimum}")


def check_share(**values: float) -> None:
    """Raise InputError, which names the value, if one is not between 0 and 1 (inclusive)."""
    for name, value in values.items():
        if not 0 <= value <= 1:
            raise InputError(f"{name} is {value}; expected a number from 0 to 1")
