"""Nearest neighbours, their votes and the mixture, by hand on small vectors."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from mtloop.core.errors import InputError
from mtloop.nmt.decoding.knn.neighbours import Neighbours, VectorTable
from mtloop.nmt.decoding.knn.token_store import KnnSettings, TokenStore
from mtloop.nmt.decoding.knn.votes import KnnProcessor, add_votes
from mtloop.nmt.decoding.memory import StoredSegment
from mtloop.nmt.decoding.source_words import SourceWords
from mtloop.nmt.engine.search import SearchState

KEYS = np.array([[0, 0], [3, 4], [1, 0], [0, 2]], np.float32)
TOKENS = np.array([5, 6, 5, 7])
NO_WORDS = SourceWords((), torch.empty(0))


def table() -> VectorTable:
    return VectorTable(KEYS, TOKENS)


def found(distances: list[float], values: list[int]) -> Neighbours:
    return Neighbours(np.array(distances, np.float32), np.array(values))


def segment(lesson: int, keys: list[list[float]], tokens: list[int], source: str = "s") -> StoredSegment:
    words = ("w",) * len(tokens)
    return StoredSegment(lesson, source, "t", torch.tensor(tokens), torch.tensor(keys).half(), words)


def test_distances_are_squared_and_not_divided_by_the_width() -> None:
    queries = np.array([[0, 0], [3, 0]], np.float32)
    np.testing.assert_allclose(table().distances(queries), [[0, 25, 1, 4], [9, 16, 4, 13]], atol=1e-5)


def test_the_nearest_come_in_order_and_of_equal_ones_the_older_first() -> None:
    (nearest,) = table().nearest(np.zeros((1, 2), np.float32), 3)
    assert nearest.distances.tolist() == [0, 1, 4]
    assert nearest.values.tolist() == [5, 5, 7]
    (all_four,) = table().nearest(np.zeros((1, 2), np.float32), 9)
    assert all_four.values.tolist() == [5, 5, 7, 6]
    equal = VectorTable(np.array([[1, 0], [0, 1], [-1, 0]], np.float32), np.array([3, 1, 2]))
    assert equal.nearest(np.zeros((1, 2), np.float32), 3)[0].values.tolist() == [3, 1, 2]


def test_distinct_tokens_are_counted_among_the_first_ones() -> None:
    assert found([0, 1, 2, 3], [5, 5, 7, 6]).distinct_counts().tolist() == [1, 1, 2, 3]


def test_neighbours_vote_with_the_softmax_of_their_distances() -> None:
    """Distances 0, 10 and 20 at temperature 10: 1, 1/e and 1/e^2, divided by their sum; weight 0.4."""
    store = TokenStore(KnnSettings(neighbours=3, temperature=10.0, store_weight=0.4))
    total = 1 + math.exp(-1) + math.exp(-2)
    expected = [0.4 / total, 0.4 * math.exp(-1) / total, 0.4 * math.exp(-2) / total]
    np.testing.assert_allclose(store.shares(found([0, 10, 20], [5, 6, 5])), expected, rtol=1e-6)


def test_votes_and_model_are_mixed_by_the_weight() -> None:
    """p = 0.4 p_kNN + 0.6 p_NMT; two neighbours with the same token add up."""
    logits = torch.tensor([0.1, 0.2, 0.7]).log() + 3.0
    add_votes(found([0, 0, 0], [1, 2, 1]), np.array([0.1, 0.2, 0.1], np.float32), logits)
    np.testing.assert_allclose(logits.softmax(-1), [0.06, 0.12 + 0.2, 0.42 + 0.2], rtol=1e-5)


def test_a_weight_of_one_leaves_the_model_a_finite_rest() -> None:
    logits = torch.tensor([0.5, 0.5]).log()
    add_votes(found([0], [1]), np.array([1.0], np.float32), logits)
    assert logits.isfinite().all()
    np.testing.assert_allclose(logits.softmax(-1), [0.00005, 0.99995], rtol=1e-3)


def test_votes_without_weight_change_nothing() -> None:
    logits = torch.tensor([0.5, 0.5]).log()
    before = logits.clone()
    add_votes(found([0], [1]), np.zeros(1, np.float32), logits)
    assert torch.equal(logits, before)


def test_each_hypothesis_of_a_beam_has_its_own_neighbours() -> None:
    processor = KnnProcessor(table(), 1, lambda one: np.full_like(one.distances, 0.5))
    states = torch.tensor([[0.0, 0.1], [3.0, 4.0]])
    logits = processor(SearchState(states, torch.empty(0), [[], []]), torch.zeros(2, 10))
    assert logits.argmax(1).tolist() == [5, 6]
    assert logits.softmax(-1)[0, 5] == pytest.approx(0.55)


def test_a_store_grows_and_forgets() -> None:
    store = TokenStore(KnnSettings(neighbours=2))
    assert store.processor(NO_WORDS) is None
    store.add(segment(0, [[0.0, 0.0], [1.0, 1.0]], [5, 6]))
    store.add(segment(1, [[2.0, 2.0]], [7]))
    assert store.processor(NO_WORDS) is not None
    query = np.array([[2, 2]], np.float32)
    assert store.table().nearest(query, 3)[0].values.tolist() == [7, 6, 5]
    assert store.forget(0)
    assert store.table().nearest(query, 3)[0].values.tolist() == [7]
    store.add(segment(2, [[0.0, 0.0]], [8]))
    assert store.table().nearest(query, 3)[0].values.tolist() == [7, 8]


def test_a_restored_store_is_the_same() -> None:
    store, other = TokenStore(KnnSettings()), TokenStore(KnnSettings())
    store.add(segment(0, [[0.0, 0.0], [1.0, 1.0]], [5, 6]))
    store.add(segment(3, [[2.0, 2.0]], [7]))
    other.restore(store.tensors())
    assert [one.lesson for one in other] == [0, 3]
    query = np.ones((1, 2), np.float32)
    ours, theirs = store.table().nearest(query, 8)[0], other.table().nearest(query, 8)[0]
    assert ours.distances.tolist() == theirs.distances.tolist()
    assert ours.values.tolist() == theirs.values.tolist()


@pytest.mark.parametrize("visible", [None, {0}])
def test_an_empty_snapshot_leaves_no_votes_in_a_used_store(visible: set[int] | None) -> None:
    store = TokenStore(KnnSettings())
    empty = store.tensors()
    store.add(segment(0, [[0.0, 0.0]], [5]))
    store.visible = visible
    assert store.processor(NO_WORDS) is not None
    store.restore(empty)
    assert store.processor(NO_WORDS) is None


def test_repeats_are_looked_up_only_if_asked_for() -> None:
    for asked in (False, True):
        store = TokenStore(KnnSettings(exact_match=asked))
        store.add(segment(0, [[0.0, 0.0]], [5], source="Open."))
        assert store.exact_match("Open.") == ("t" if asked else None)


@pytest.mark.parametrize(
    "settings", [{"neighbours": 0}, {"temperature": 0.0}, {"store_weight": 1.5}, {"store_weight": float("nan")}]
)
def test_settings_out_of_range_are_refused(settings: dict[str, float]) -> None:
    (name,) = settings
    with pytest.raises(InputError, match=f"^{name} is {settings[name]}; expected "):
        KnnSettings(**settings)  # type: ignore[arg-type]
