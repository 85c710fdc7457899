"""Numbers with their nouns."""

from __future__ import annotations


def many(number: float, noun: str) -> str:
    """A number and what it counts.

    >>> many(1, "point"), many(2.5, "point")
    ('1 point', '2.5 points')
    """
    return f"{number:g} {noun}{'' if number == 1 else 's'}"
