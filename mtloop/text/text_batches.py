"""Many texts in parts that are small enough for one request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def text_batches(texts: Iterable[str], most: int, characters: int) -> Iterator[list[str]]:
    """Yield texts in parts, each with so many texts and characters at most. One that is too long is a part of its own.

    >>> list(text_batches(["ab", "c", "d", "efgh"], 2, 3))
    [['ab', 'c'], ['d'], ['efgh']]
    """
    part, size = list[str](), 0
    for text in texts:
        if part and (len(part) == most or size + len(text) > characters):
            yield part
            part, size = [], 0
        part.append(text)
        size += len(text)
    if part:
        yield part
