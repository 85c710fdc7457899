"""The most similar pairs, and SK-MT's weight: by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from helpers.tiny_marian import demo_pairs

from mtloop.core.errors import InputError
from mtloop.nmt.decoding.knn.neighbours import Neighbours
from mtloop.nmt.decoding.knn.pair_store import PairStore
from mtloop.nmt.decoding.knn.similar_pairs import PairIndex, edit_likeness, ngram_likeness
from mtloop.nmt.decoding.knn.similar_store import SimilarStore
from mtloop.nmt.decoding.knn.token_store import KnnSettings
from mtloop.nmt.decoding.memory import StoredSegment
from mtloop.nmt.decoding.source_words import SourceWords
from mtloop.nmt.engine.marian import Marian

TEXTS = ["open the tray .", "close the tray .", "print the page", "open the the file now"]


def index() -> PairIndex:
    made = PairIndex()
    for number, text in enumerate(TEXTS):
        made.add((number, 0), text.split())
    return made


def segment(lesson: int, source: str, width: int = 2) -> StoredSegment:
    keys = torch.full((1, width), float(lesson)).half()
    return StoredSegment(lesson, source, f"target {lesson}", torch.tensor([lesson]), keys, ("w",))


def test_bm25_is_that_of_elasticsearch() -> None:
    """The word `open` is in two of four texts; lengths without punctuation marks 3, 3, 3 and 5, 3.5 on average."""
    rarity = math.log(1 + 2.5 / 2.5)
    shorter = rarity / (1 + 1.2 * (0.25 + 0.75 * 3 / 3.5))
    longer = rarity / (1 + 1.2 * (0.25 + 0.75 * 5 / 3.5))
    assert dict(index()._bm25("open")) == pytest.approx({(0, 0): shorter, (3, 0): longer})
    assert index().best_by_bm25(["open", "the", "tray"], 3) == [(0, 0), (1, 0), (3, 0)]
    assert index().best_by_bm25(["unknown", "."], 3) == []


def test_of_equally_similar_sources_the_newer_comes_first() -> None:
    made = index()
    made.add((9, 0), TEXTS[0].split())
    assert made.best_by_bm25(TEXTS[0].split(), 2) == [(9, 0), (0, 0)]


def test_a_removed_source_leaves_no_trace() -> None:
    made, never = index(), PairIndex()
    made.remove((1, 0))
    for number in (0, 2, 3):
        never.add((number, 0), TEXTS[number].split())
    query = ["close", "the", "tray"]
    assert [dict(made._bm25(word)) for word in query] == [dict(never._bm25(word)) for word in query]
    made.clear()
    assert len(made) == 0
    assert not made.best_by_bm25(query, 3)


def test_the_edit_distance_decides_among_the_candidates() -> None:
    """BM25 prefers the source with `file`; by edit distance the one with the same words in order is nearer."""
    made = PairIndex()
    made.add((0, 0), ["file", "file", "file", "a", "b", "c", "d", "e"])
    made.add((1, 0), ["delete", "the", "old", "file"])
    query = ["delete", "the", "new", "file"]
    assert edit_likeness(query, ["delete", "the", "old", "file"]) == 0.75
    assert [key for key, _ in made.most_similar(query, edit_likeness, 64, 2)] == [(1, 0), (0, 0)]
    assert made.most_similar(query, edit_likeness, 1, 2) == [((1, 0), 0.75)], "one candidate"


def test_ngram_likeness_by_hand() -> None:
    """Three of four words, two of three pairs and one of two triples are common; counts are smoothed by 0.1."""
    one, other = ["a", "b", "c", "d"], ["a", "b", "c", "x"]
    logs = [math.log(3.1 / 4.1), math.log(2.1 / 3.1), math.log(1.1 / 2.1), math.log(0.1 / 1.1)]
    assert ngram_likeness(one, other) == pytest.approx(math.exp(sum(logs) / 4))
    assert ngram_likeness(one, one) == pytest.approx(1)
    assert ngram_likeness(one, other[:1]) == 0, "more than twice as long"
    shorter = [math.log(3.1 / 3.1), math.log(2.1 / 2.1), math.log(1.1 / 1.1), math.log(0.1 / 0.1)]
    recall = math.exp((math.log(3.1 / 4.1) + math.log(2.1 / 3.1) + math.log(1.1 / 2.1) + math.log(0.1 / 1.1)) / 4)
    precision = math.exp(sum(shorter) / 4)
    assert ngram_likeness(one, one[:3]) == pytest.approx(2 * precision * recall / (precision + recall))


def test_the_weight_falls_with_the_distance_of_the_nearest_state(small: Marian) -> None:
    """Temperature 100: weight 1 - 25/100, shared by two neighbours in proportion exp(-0.25) to exp(-0.5)."""
    store = SimilarStore(KnnSettings(neighbours=2, temperature=100.0), small.source)
    total = math.exp(-0.25) + math.exp(-0.5)
    shares = store.shares(Neighbours(np.array([25, 50], np.float32), np.array([5, 6])))
    np.testing.assert_allclose(shares, [0.75 * math.exp(-0.25) / total, 0.75 * math.exp(-0.5) / total], rtol=1e-6)
    assert not store.shares(Neighbours(np.array([100, 120], np.float32), np.array([5, 6]))).any()
    assert not store.shares(Neighbours(np.array([300, 320], np.float32), np.array([5, 6]))).any()


def words_of(model: Marian, text: str) -> SourceWords:
    return SourceWords.of(model.source.encode(text), model.source)


def test_only_the_states_of_the_most_similar_pairs_are_compared(small: Marian) -> None:
    store = SimilarStore(KnnSettings(neighbours=2), small.source, similar_pairs=2)
    sources = [source for source, _ in demo_pairs()[:6]]
    for lesson, source in enumerate(sources):
        store.add(segment(lesson, source))
    assert store.similar(words_of(small, sources[3]))[0] == (3, 0)
    assert len(store.similar(words_of(small, sources[3]))) <= 2
    table = store.table_for(words_of(small, sources[3]))
    assert table.nearest(np.full((1, 2), 3, np.float32), 1)[0].values.tolist() == [3]
    saved = store.tensors()
    store.forget(3)
    assert (3, 0) not in store.similar(words_of(small, sources[3]))
    store.restore(saved)
    assert store.similar(words_of(small, sources[3]))[0] == (3, 0)
    store.restore({})
    assert not store.similar(words_of(small, sources[3]))


def test_nothing_votes_for_a_source_without_common_words(small: Marian) -> None:
    store = SimilarStore(KnnSettings(), small.source)
    assert store.processor(words_of(small, "Open.")) is None
    store.add(segment(0, "Open."))
    assert store.processor(words_of(small, "Open.")) is not None
    assert store.processor(words_of(small, "Zzz")) is None


def test_restored_pairs_are_found_again(small: Marian) -> None:
    store, other = PairStore(small.source), PairStore(small.source)
    for lesson, (source, _) in enumerate(demo_pairs()[:6]):
        store.add(segment(lesson, source, width=0))
    other.restore(store.tensors())
    for source, _ in demo_pairs()[:6]:
        ours, theirs = store.most_like(source, 2), other.most_like(source, 2)
        assert [(one.key, value) for one, value in ours] == [(one.key, value) for one, value in theirs]
        assert ours[0][0].source == source
        assert ours[0][1] == pytest.approx(1)


def test_pairs_look_up_repeats_only_if_asked_for(small: Marian) -> None:
    for asked in (False, True):
        store = PairStore(small.source, asked)
        assert store.exact_match("Open.") is None
        store.add(segment(0, "Open.", width=0))
        store.add(segment(1, "Open.", width=0))
        assert store.exact_match("Open.") == ("target 1" if asked else None)


def test_the_number_of_pairs_must_be_at_least_one(small: Marian) -> None:
    with pytest.raises(InputError, match=r"^similar_pairs is 0; expected 1 or more$"):
        SimilarStore(KnnSettings(), small.source, similar_pairs=0)
