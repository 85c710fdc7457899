"""Reorder, group, repeat and filter streams of `(Segment, Truth)` pairs. The functions can be combined."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import TypeVar

from mtloop.core.blocks import split_by_words
from mtloop.core.errors import InputError
from mtloop.core.types import Segment, Truth

T = TypeVar("T", bound=Truth | None)


def by_document(stream: Iterable[tuple[Segment, T]]) -> Iterator[list[tuple[Segment, T]]]:
    """Yield each document as a list of pairs, in order of first appearance. Scattered parts of a document are merged.

    >>> stream = [(Segment(str(n), "Save.", {"document": name}), None) for n, name in enumerate("abab", start=1)]
    >>> [[segment.id for segment, _ in document] for document in by_document(stream)]
    [['1', '3'], ['2', '4']]
    """
    documents: dict[str, list[tuple[Segment, T]]] = defaultdict(list)
    for segment, truth in stream:
        documents[segment.document].append((segment, truth))
    yield from documents.values()


def by_blocks(stream: Iterable[tuple[Segment, T]], words: int) -> Iterator[list[tuple[Segment, T]]]:
    """Yield blocks of at least `words` source words. The last block may be shorter.

    >>> from mtloop.data.formats.plain_text import pairs
    >>> [len(block) for block in by_blocks(pairs(["Save the file.", "Undo.", "Close it now."], [""] * 3), 4)]
    [2, 1]
    """
    if words < 1:
        raise InputError(f"block size is {words} words; expected at least 1")
    return split_by_words(stream, words, lambda pair: pair[0].source)


def shuffled(stream: Iterable[tuple[Segment, T]], seed: int) -> list[tuple[Segment, T]]:
    """Return the pairs in a random order that depends only on the seed. Segment ids do not change."""
    items = list(stream)
    random.Random(seed).shuffle(items)
    return items


def take(stream: Iterable[tuple[Segment, T]], n: int) -> Iterator[tuple[Segment, T]]:
    """Return the first n pairs, or all pairs if there are fewer than n."""
    if n < 0:
        raise InputError(f"cannot take {n} pairs; expected 0 or more")
    return islice(stream, n)


def repeated(stream: Iterable[tuple[Segment, T]], times: int) -> Iterator[tuple[Segment, T]]:
    """Yield the whole stream `times` times. Ids stay unique: "3" becomes "3#2" in the second repetition.

    >>> from mtloop.data.formats.plain_text import pairs
    >>> [segment.id for segment, _ in repeated(pairs(["Save.", "Undo."], ["", ""]), 2)]
    ['1', '2', '1#2', '2#2']
    """
    items = list(stream)
    used = {segment.id for segment, _ in items}
    for repetition in range(1, times + 1):
        for segment, truth in items:
            yield (segment if repetition == 1 else _renamed(segment, repetition, used)), truth


def without_repeats(stream: Iterable[tuple[Segment, T]]) -> Iterator[tuple[Segment, T]]:
    """Drop segments whose source occurred before: a plain translation memory would translate them correctly."""
    seen: set[str] = set()
    for segment, truth in stream:
        if segment.source not in seen:
            seen.add(segment.source)
            yield segment, truth


def subset(
    stream: Iterable[tuple[Segment, T]], *, shuffle: int = 0, skip: int = 0, distinct: bool = False, limit: int = 0
) -> list[tuple[Segment, T]]:
    """Shuffle the stream, skip the first `skip` pairs, drop repeated sources, keep `limit` pairs, in this order.

    `shuffle` is a seed. A seed of 0 keeps the original order, a limit of 0 keeps all pairs.

    >>> from mtloop.data.formats.plain_text import pairs
    >>> stream = pairs(["Save.", "Undo.", "Save.", "Undo.", "Close."], [""] * 5)
    >>> [segment.id for segment, _ in subset(stream, skip=1, distinct=True, limit=2)]
    ['2', '3']
    """
    kept = shuffled(stream, shuffle) if shuffle else list(stream)
    kept = kept[skip:]
    kept = list(without_repeats(kept)) if distinct else kept
    return list(take(kept, limit)) if limit else kept


def _renamed(segment: Segment, repetition: int, used: set[str]) -> Segment:
    name = f"{segment.id}#{repetition}"
    if name in used:
        raise InputError(f"segment id {name!r} is already used; call `repeated` once, with the full number of times")
    return replace(segment, id=name)
