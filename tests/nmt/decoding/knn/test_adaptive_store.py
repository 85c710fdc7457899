"""The network of adaptive kNN-MT: nested votes, its start, its training and its saved state."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from mtloop.core.errors import InputError
from mtloop.nmt.decoding.knn.adaptive_store import BATCH_SENTENCES, AdaptiveStore, ChoiceNetwork, nested_votes
from mtloop.nmt.decoding.knn.neighbours import Neighbours
from mtloop.nmt.decoding.knn.token_store import KnnSettings
from mtloop.nmt.decoding.memory import StoredSegment
from mtloop.nmt.engine.marian import Marian


def found(distances: list[float], values: list[int]) -> Neighbours:
    return Neighbours(np.array(distances, np.float32), np.array(values))


def store_of(model: Marian, **settings: float) -> AdaptiveStore:
    return AdaptiveStore(KnnSettings(neighbours=2, store_weight=0.3), model, **settings)  # type: ignore[arg-type]


def segment(model: Marian, lesson: int, seed: int = 0) -> StoredSegment:
    keys = torch.randn(3, model.shape.width, generator=torch.Generator().manual_seed(seed)).half()
    return StoredSegment(lesson, f"source {lesson}", "target", torch.tensor([5, 6, 0]), keys, ("w",) * 3)


def test_the_nearest_one_two_and_four_vote() -> None:
    """Distances 0, 10, 20 and 30 at temperature 10."""
    votes = nested_votes(np.array([0, 10, 20, 30], np.float32), 10.0)
    powers = [math.exp(-power) for power in range(4)]
    expected = [[1, 0, 0, 0], [*(one / sum(powers[:2]) for one in powers[:2]), 0, 0], [p / sum(powers) for p in powers]]
    np.testing.assert_allclose(votes, expected, rtol=1e-6)


def test_the_network_starts_with_the_given_weight(small: Marian) -> None:
    """With all distances 0 only small random weights of the counts are left."""
    shares = store_of(small).shares(found([0.0, 0.0], [5, 5]))
    assert shares.sum() == pytest.approx(0.3, abs=0.01)
    assert not store_of(small).shares(found([0.0], [5])).any(), "too few neighbours"


def test_the_mixture_is_that_of_the_paper(small: Marian) -> None:
    """p = p(0) p_NMT + p(1) p_1 + p(2) p_2."""
    store, now = store_of(small), found([0.0, 10.0], [5, 6])
    inputs = torch.tensor([0.0, 10.0, 1.0, 2.0])
    _, one, two = store.network_(inputs).tolist()
    share = 1 / (1 + math.exp(-1))
    np.testing.assert_allclose(store.shares(now), [one + two * share, two * (1 - share)], rtol=1e-5)


def test_updates_raise_the_choice_that_is_right() -> None:
    """The corrected tokens are probable with two neighbours alone."""
    network = ChoiceNetwork(2, 0.3, 1e-2, seed=1)
    inputs, chances = torch.tensor([[1.0, 2.0, 1.0, 1.0]]), torch.tensor([[0.1, 0.0, 0.9]])
    before = network(inputs)[0, 2].item()
    losses = [network.update(inputs, chances) for _ in range(50)]
    assert losses[0] == pytest.approx(-math.log(0.7 * 0.1 + 0.15 * 0.9), abs=0.02)
    assert losses[-1] < losses[0]
    assert network(inputs)[0, 2].item() > before + 0.2


def test_every_correction_trains_the_network_and_the_newest_are_kept(small: Marian) -> None:
    store = store_of(small, network_updates=1)
    store.add(segment(small, 0))
    start = store.network_.parameters["output_bias"].detach().clone()
    assert not store.studied_, "there was nothing to look up"
    for lesson in range(1, BATCH_SENTENCES + 3):
        store.add(segment(small, lesson, seed=lesson % 3))
    assert len(store.studied_) == BATCH_SENTENCES
    assert not torch.equal(store.network_.parameters["output_bias"], start)


def test_a_repeated_correction_raises_the_weight(small: Marian) -> None:
    store = store_of(small, network_learning_rate=3e-3)
    for lesson in range(12):
        store.add(segment(small, lesson))
    (nearest, *_) = store.neighbours_of(segment(small, 99))
    assert store.shares(nearest).sum() > 0.5


def test_training_goes_on_after_a_restart_as_if_there_had_been_none(small: Marian) -> None:
    store, other = store_of(small), store_of(small)
    for lesson in range(5):
        store.add(segment(small, lesson, seed=lesson % 2))
    other.restore(store.tensors())
    for one in (store, other):
        one.add(segment(small, 5, seed=1))
    ours, theirs = store.tensors(), other.tensors()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    other.restore({})
    assert not other.studied_
    assert torch.equal(other.network_.parameters["hidden"], store_of(small).network_.parameters["hidden"])


def test_a_network_for_another_number_of_neighbours_is_refused(small: Marian) -> None:
    store = store_of(small)
    for lesson in range(2):
        store.add(segment(small, lesson))
    other = AdaptiveStore(KnnSettings(neighbours=4), small)
    with pytest.raises(InputError, match=r"^this delta was learned with another number of neighbours$"):
        other.restore(store.tensors())


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_the_network_cannot_start_with_certainty(small: Marian, weight: float) -> None:
    with pytest.raises(InputError, match=f"^store_weight is {weight}; expected "):
        AdaptiveStore(KnnSettings(store_weight=weight), small)
