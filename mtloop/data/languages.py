"""Compare language tags. "en" also matches "en-US", and case is ignored."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TypeVar

T = TypeVar("T")


@lru_cache(maxsize=1024)
def closeness(wanted: str, found: str) -> int:
    """Return 3 if the tags are equal, 2 if `found` is a variety of `wanted`, 1 for the reverse, 0 otherwise.

    >>> closeness("en", "EN_us"), closeness("pt-BR", "pt"), closeness("en-US", "en-GB"), closeness("de", "den")
    (2, 1, 0, 0)
    """
    wanted, found = (tag.replace("_", "-").lower() for tag in (wanted, found))
    if wanted == found:
        return 3
    return 2 * found.startswith(wanted + "-") or int(wanted.startswith(found + "-") and bool(found))


def closest(wanted: str, tagged: Iterable[tuple[str, T]]) -> T | None:
    """Return the item whose tag is closest to `wanted`, the first of equally close ones, or None if no tag matches."""
    best = max(tagged, key=lambda pair: closeness(wanted, pair[0]), default=None)
    return best[1] if best is not None and closeness(wanted, best[0]) else None
