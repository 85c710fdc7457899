"""Damaged translations for attention checks: words are missing, and the others are in another order."""

from __future__ import annotations

import random

KEPT = 0.6  # share of the words that stay
MIN_WORDS = 4  # a text with fewer words, or in a script without spaces, is damaged by characters


def damaged(text: str, seed: str) -> str | None:
    """A damaged copy of a text, always the same for a seed. None: the text is too short to be damaged visibly.

    >>> damaged("Open the file that you saved before.", "1")
    'before. that Open file'
    >>> damaged("OK", "1") is None
    True
    """
    words = text.split()
    joint, parts = (" ", words) if len(words) >= MIN_WORDS else ("", list(text.strip()))
    if len(parts) < MIN_WORDS:
        return None
    chance = random.Random(f"{seed}/{text}")
    kept = chance.sample(parts, max(2, round(KEPT * len(parts))))
    copy = " ".join(joint.join(kept).split())
    return copy if copy and copy != text else None
