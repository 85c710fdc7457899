"""Language tags as files and people write them: "en" means "en-US" too, and case does not count."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TypeVar

T = TypeVar("T")


@lru_cache(maxsize=1024)
def closeness(wanted: str, there: str) -> int:
    """3 for the same tag, 2 for a variety of it, 1 for what it is a variety of, 0 for another language.

    >>> closeness("en", "EN_us"), closeness("pt-BR", "pt"), closeness("en-US", "en-GB"), closeness("de", "den")
    (2, 1, 0, 0)
    """
    wanted, there = (tag.replace("_", "-").lower() for tag in (wanted, there))
    if wanted == there:
        return 3
    return 2 * there.startswith(wanted + "-") or int(wanted.startswith(there + "-") and bool(there))


def closest(wanted: str, tagged: Iterable[tuple[str, T]]) -> T | None:
    """What is tagged with the language, or with the closest variety of it; the first among equals."""
    best = max(tagged, key=lambda pair: closeness(wanted, pair[0]), default=None)
    return best[1] if best is not None and closeness(wanted, best[0]) else None
