"""Cutting a stream into blocks of about so many source words: one rule for schedules, streams and curves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def by_words(items: Iterable[T], words: int, source: Callable[[T], str]) -> Iterator[list[T]]:
    """Cut after the item that fills a block, so that every block but the last holds at least `words`.

    >>> list(by_words(["a b", "c", "d e f", "g"], 3, str))
    [['a b', 'c'], ['d e f'], ['g']]
    """
    block: list[T] = []
    size = 0
    for item in items:
        block.append(item)
        size += len(source(item).split())
        if size >= words:
            yield block
            block, size = [], 0
    if block:
        yield block
