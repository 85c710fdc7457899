"""Other orders of the same stream. Pairs go in and pairs come out, so one can be put into another."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import TypeVar

from mtloop.core.blocks import by_words
from mtloop.core.errors import InputError
from mtloop.core.types import Segment, Truth

T = TypeVar("T", bound=Truth | None)


def by_document(stream: Iterable[tuple[Segment, T]]) -> Iterator[list[tuple[Segment, T]]]:
    """The documents, in the order in which they first appear; one that is taken up again later stays in one piece.

    >>> stream = [(Segment(str(n), "Save.", {"document": name}), None) for n, name in enumerate("abab", start=1)]
    >>> [[segment.id for segment, _ in document] for document in by_document(stream)]
    [['1', '3'], ['2', '4']]
    """
    documents: dict[str, list[tuple[Segment, T]]] = defaultdict(list)
    for segment, truth in stream:
        documents[segment.document].append((segment, truth))
    yield from documents.values()


def by_blocks(stream: Iterable[tuple[Segment, T]], words: int) -> Iterator[list[tuple[Segment, T]]]:
    """Blocks of at least so many source words, but for the last.

    >>> from mtloop.data.formats.plain_text import pairs
    >>> [len(block) for block in by_blocks(pairs(["Save the file.", "Undo.", "Close it now."], [""] * 3), 4)]
    [2, 1]
    """
    if words < 1:
        raise InputError(f"blocks of {words} words; expected at least 1")
    return by_words(stream, words, lambda pair: pair[0].source)


def shuffled(stream: Iterable[tuple[Segment, T]], seed: int) -> list[tuple[Segment, T]]:
    """The same pairs in an order that depends on the seed alone; ids stay with their segments."""
    items = list(stream)
    random.Random(seed).shuffle(items)
    return items


def first(stream: Iterable[tuple[Segment, T]], n: int) -> Iterator[tuple[Segment, T]]:
    """The first n pairs, or all when there are fewer."""
    if n < 0:
        raise InputError(f"the first {n} pairs; expected 0 or more")
    return islice(stream, n)


def repeated(stream: Iterable[tuple[Segment, T]], times: int) -> Iterator[tuple[Segment, T]]:
    """The whole stream so many times. Ids stay unique: what was "3" is "3#2" the second time.

    >>> from mtloop.data.formats.plain_text import pairs
    >>> [segment.id for segment, _ in repeated(pairs(["Save.", "Undo."], ["", ""]), 2)]
    ['1', '2', '1#2', '2#2']
    """
    items = list(stream)
    taken = {segment.id for segment, _ in items}
    for turn in range(1, times + 1):
        for segment, truth in items:
            yield (segment if turn == 1 else _again(segment, turn, taken)), truth


def without_repeats(stream: Iterable[tuple[Segment, T]]) -> Iterator[tuple[Segment, T]]:
    """Only the first of segments with the very same source: on the others a plain memory wins."""
    seen: set[str] = set()
    for segment, truth in stream:
        if segment.source not in seen:
            seen.add(segment.source)
            yield segment, truth


def cut(
    stream: Iterable[tuple[Segment, T]], *, shuffle: int = 0, skip: int = 0, distinct: bool = False, limit: int = 0
) -> list[tuple[Segment, T]]:
    """The part of a stream that is asked for: shuffled, without its first `skip`, without repeats, `limit` of it.

    A seed and a limit of 0 mean as it is and all of it.

    >>> from mtloop.data.formats.plain_text import pairs
    >>> stream = pairs(["Save.", "Undo.", "Save.", "Undo.", "Close."], [""] * 5)
    >>> [segment.id for segment, _ in cut(stream, skip=1, distinct=True, limit=2)]
    ['2', '3']
    """
    kept = shuffled(stream, shuffle) if shuffle else list(stream)
    kept = kept[skip:]
    kept = list(without_repeats(kept)) if distinct else kept
    return list(first(kept, limit)) if limit else kept


def _again(segment: Segment, turn: int, taken: set[str]) -> Segment:
    name = f"{segment.id}#{turn}"
    if name in taken:
        raise InputError(f"segment id {name!r} is taken; repeat a stream in one go, by the full number of times")
    return replace(segment, id=name)
