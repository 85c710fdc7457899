"""Split a sequence into blocks by source words: the one rule that schedules, streams and curves share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def split_by_words(items: Iterable[T], words: int, source: Callable[[T], str]) -> Iterator[list[T]]:
    """Yield blocks of at least `words` source words each; only the last block may have fewer.

    A block ends after the item that reaches the limit. `source` returns the source text of an item.

    >>> list(split_by_words(["a b", "c", "d e f", "g"], 3, str))
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
