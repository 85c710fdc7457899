"""Numbers in files: finite, or an error that says where."""

from __future__ import annotations

import math
from pathlib import Path

from mtloop.core.errors import InputError

MISSING = frozenset({"", "None"})


def number(text: str, path: Path, line: int, what: str = "score") -> float:
    """The number that a cell holds; NaN and infinities are none."""
    if not looks_like_number(text) or not math.isfinite(value := float(text)):
        raise InputError(f"{what} {text!r:.40} is not a finite number", path=path, line=line)
    return value


def is_whole(text: str) -> bool:
    """Whether a cell is a whole number as people count with, of digits alone.

    >>> [is_whole(text) for text in ("12", "-1", "²", "1" * 5000)]
    [True, False, False, False]
    """
    return text.isascii() and text.isdecimal() and len(text) < 19


def looks_like_number(text: str) -> bool:
    """Whether a cell was meant as a number.

    >>> [looks_like_number(text) for text in ("-2.5", "nan", "1_000", "fair")]
    [True, True, False, False]
    """
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text
