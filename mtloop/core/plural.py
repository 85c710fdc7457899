"""English plurals for messages."""

from __future__ import annotations


def pluralise(number: float, noun: str) -> str:
    """Return a number with its noun, in the singular for 1 and in the plural otherwise.

    >>> pluralise(1, "point"), pluralise(2.5, "point")
    ('1 point', '2.5 points')
    """
    shown = number if isinstance(number, int) else f"{number:g}"
    return f"{shown} {noun}{'' if number == 1 else 's'}"
