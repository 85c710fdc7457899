"""Parse numbers in table cells."""

from __future__ import annotations

import math
from pathlib import Path

from mtloop.core.errors import InputError

MISSING = frozenset({"", "None"})
"""Cells that mean "no score"."""


def parse_number(text: str, path: Path, line: int, name: str = "score") -> float:
    """Return the number in a cell. Raise InputError if it is not a finite number."""
    if not looks_like_number(text) or not math.isfinite(value := float(text)):
        raise InputError(f"{name} {text!r:.40} is not a finite number", path=path, line=line)
    return value


def is_whole(text: str) -> bool:
    """Whether a cell is a non-negative integer of at most 18 ASCII digits.

    >>> [is_whole(text) for text in ("12", "-1", "²", "1" * 5000)]
    [True, False, False, False]
    """
    return text.isascii() and text.isdecimal() and len(text) < 19


def looks_like_number(text: str) -> bool:
    """Whether a cell is written as a number. NaN and infinity count, underscores between digits do not.

    >>> [looks_like_number(text) for text in ("-2.5", "nan", "1_000", "fair")]
    [True, True, False, False]
    """
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text
