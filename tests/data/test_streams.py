"""Grouping, shuffling, repeating and deduplicating streams of pairs."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtloop.core.errors import InputError
from mtloop.core.types import Segment
from mtloop.data import by_blocks, by_document, pairs, repeated, shuffled, take, without_repeats

streams = st.lists(st.sampled_from(["Save.", "Undo it.", "Close the file now."])).map(
    lambda sources: pairs(sources, [source.upper() for source in sources])
)


def test_documents_are_grouped_in_order_of_first_appearance() -> None:
    named = [(Segment(str(n), "Save.", {"document": name}), None) for n, name in enumerate("bab")]
    assert [[s.id for s, _ in document] for document in by_document(named)] == [["0", "2"], ["1"]]


@given(streams, st.integers(1, 9))
def test_all_blocks_but_the_last_have_enough_words(stream: list, words: int) -> None:
    blocks = list(by_blocks(stream, words))
    assert [pair for block in blocks for pair in block] == stream
    sizes = [sum(len(segment.source.split()) for segment, _ in block) for block in blocks]
    assert all(size >= words for size in sizes[:-1])


@given(streams, st.integers())
def test_shuffled_depends_only_on_the_seed(stream: list, seed: int) -> None:
    assert shuffled(stream, seed) == shuffled(iter(stream), seed)
    assert sorted(shuffled(stream, seed), key=lambda pair: int(pair[0].id)) == stream


def test_shuffled_golden() -> None:
    """A seed gives the same order on every machine. Otherwise a trace could not be resumed on another machine."""
    assert [segment.id for segment, _ in shuffled(pairs(["a"] * 6, ["b"] * 6), 1)] == ["3", "4", "6", "1", "5", "2"]


def test_take_consumes_only_n_pairs() -> None:
    stream = iter(pairs(["a", "b", "c"], ["A", "B", "C"]))
    assert [segment.source for segment, _ in take(stream, 2)] == ["a", "b"]
    assert next(stream)[0].source == "c"


@given(streams, st.integers(0, 3))
def test_repeated(stream: list, times: int) -> None:
    items = list(repeated(iter(stream), times))
    assert [pair[0].source for pair in items] == [pair[0].source for pair in stream] * times
    assert max(Counter(segment.id for segment, _ in items).values(), default=1) == 1


def test_repeated_twice_is_refused_because_ids_would_collide() -> None:
    with pytest.raises(InputError, match="segment id '1#2' is already used; call `repeated` once"):
        list(repeated(repeated(pairs(["a"], ["b"]), 2), 2))


@given(streams)
def test_without_repeats(stream: list) -> None:
    distinct = list(without_repeats(stream))
    sources = [segment.source for segment, _ in distinct]
    assert len(set(sources)) == len(sources)
    assert set(sources) == {segment.source for segment, _ in stream}


@pytest.mark.parametrize("call", [lambda: by_blocks([], 0), lambda: take([], -1)])
def test_invalid_numbers_are_refused(call) -> None:
    with pytest.raises(InputError, match="expected"):
        call()
