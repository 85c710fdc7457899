"""A filter for sentence pairs that are not usable for training, based on the texts alone."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class PairFilter:
    """Returns the reason to reject a sentence pair ("empty", "copied" or "length"), or None to accept it.

    A copy of the source is legitimate for names and short labels. A copy with `min_copied_words` or more lower-case
    words is in the wrong language. A pair is rejected for length if the longer side has more than `min_length`
    characters and more than `max_ratio` times the characters of the shorter side.
    """

    min_copied_words: float = 4
    max_ratio: float = 6.0
    min_length: int = 30

    def __call__(self, source: str, target: str) -> str | None:
        """Return the reason to reject the pair, or None.

        >>> reject = PairFilter()
        >>> reject("Save the file as a new copy.", "Save the file as a new copy."), reject("Photoshop", "Photoshop")
        ('copied', None)
        """
        if not source.strip() or not target.strip():
            return "empty"
        if source.split() == target.split() and sum(map(str.islower, source.split())) >= self.min_copied_words:
            return "copied"
        shorter, longer = sorted((len(source.strip()), len(target.strip())))
        return "length" if longer > self.min_length and longer > self.max_ratio * shorter else None


ONLY_EMPTY = PairFilter(min_copied_words=math.inf, max_ratio=math.inf)
"""Rejects only pairs with an empty side."""
