"""KoK's second store: features, values and weight, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from mtloop.core.errors import InputError
from mtloop.nmt.decoding.knn.neighbours import Neighbours
from mtloop.nmt.decoding.knn.policy_store import PolicyStore, halving_weights, policy_features
from mtloop.nmt.decoding.knn.token_store import KnnSettings
from mtloop.nmt.decoding.memory import StoredSegment
from mtloop.nmt.engine.marian import Marian


def found(distances: list[float], values: list[int]) -> Neighbours:
    return Neighbours(np.array(distances, np.float32), np.array(values))


def store_of(model: Marian, neighbours: int = 2, **settings: float) -> PolicyStore:
    return PolicyStore(KnnSettings(neighbours), model, **settings)


def segment(model: Marian, lesson: int, tokens: list[int], seed: int = 0) -> StoredSegment:
    keys = torch.randn(len(tokens), model.shape.width, generator=torch.Generator().manual_seed(seed)).half()
    return StoredSegment(lesson, f"source {lesson}", "target", torch.tensor(tokens), keys, ("w",) * len(tokens))


def sure(model: Marian, lesson: int, token: int) -> StoredSegment:
    """A segment of one token whose state makes the model certain of that token."""
    output = model.weights["lm_head.weight"][token]
    keys = (output * (60 / output.dot(output)))[None].half()
    return StoredSegment(lesson, f"source {lesson}", "target", torch.tensor([token]), keys, ("w",))


def test_features_weigh_the_first_distance_and_the_last_count_most() -> None:
    """Weights for three neighbours: 1/4, 1/8, 1/8; the counts are 1, 1 and 2."""
    assert halving_weights(3).tolist() == [0.25, 0.125, 0.125]
    assert halving_weights(1).tolist() == [0.5]
    assert halving_weights(8).sum() == pytest.approx(0.5)
    features = policy_features(found([4.0, 8.0, 16.0], [5, 5, 7]))
    assert features.tolist() == [1.0, 1.0, 2.0, 0.125, 0.125, 0.5]


def test_the_first_lesson_makes_no_policies_because_there_is_nothing_to_look_up(small: Marian) -> None:
    store = store_of(small)
    store.add(segment(small, 0, [5, 6]))
    assert len(store.policies) == 0
    store.add(segment(small, 1, [5, 6, 7]))
    assert len(store.policies) == 3, "one for each token"


def test_the_value_says_whether_the_store_had_the_token_more_probable_than_the_model(small: Marian) -> None:
    """The second lesson has the states of the first one; for token 6 it agrees with the store, for 9 it does not."""
    store = store_of(small, neighbours=1)
    keys = torch.randn(2, small.shape.width, generator=torch.Generator().manual_seed(1)).half()
    store.add(StoredSegment(0, "a", "b", torch.tensor([5, 6]), keys, ("w", "w")))
    store.add(StoredSegment(1, "c", "d", torch.tensor([9, 6]), keys, ("w", "w")))
    nearest = store.policies.nearest(np.zeros((1, 2), np.float32), 2)[0]
    assert sorted(nearest.values.tolist()) == [0, 1]
    features, values = store._policies[1, 0]
    assert values.tolist() == [0, 1]
    np.testing.assert_allclose(features, [[0.0, 0.5], [0.0, 0.5]], atol=1e-2)


def test_a_store_that_agrees_with_a_certain_model_is_no_better(small: Marian) -> None:
    store = store_of(small, neighbours=1)
    for lesson in range(2):
        store.add(sure(small, lesson, 6))
    assert store._policies[1, 0][1].tolist() == [0]


def test_the_weight_is_the_share_of_the_nearest_policies_for_the_store(small: Marian) -> None:
    """Distances of the keys 0 and 5 at temperature 10: the weight of the first is 1 / (1 + exp(-0.5))."""
    store = store_of(small, neighbours=2, policy_temperature=10.0)
    now = found([4.0, 4.0], [5, 5])
    key = policy_features(now)
    other = key + np.array([math.sqrt(5), 0, 0, 0], np.float32)
    far = key + np.array([50, 0, 0, 0], np.float32)
    store._policies[0, 0] = np.stack([key, other, far]), np.array([1, 0, 1])
    assert store.weight(now) == pytest.approx(1 / (1 + math.exp(-0.5)), rel=1e-5)
    np.testing.assert_allclose(store.shares(now), [store.weight(now) / 2] * 2, rtol=1e-6)


def test_the_model_decides_alone_without_policies_and_where_all_states_are_far(small: Marian) -> None:
    store = store_of(small, neighbours=2, max_distance=100.0)
    assert store.weight(found([4.0, 4.0], [5, 5])) == 0
    store._policies[0, 0] = np.zeros((2, 4), np.float32), np.array([1, 1])
    store._policy_table = None
    assert store.weight(found([100.0, 120.0], [5, 5])) == pytest.approx(1)
    assert store.weight(found([100.1, 120.0], [5, 5])) == 0
    assert store.weight(found([4.0], [5])) == 0, "fewer neighbours than a policy has"


def test_saved_policies_are_restored_and_not_made_again(small: Marian, monkeypatch: pytest.MonkeyPatch) -> None:
    store, other = store_of(small), store_of(small)
    monkeypatch.setattr(other, "study", lambda one: pytest.fail("a restored segment is not looked up"))
    for lesson in range(4):
        store.add(segment(small, lesson, [5, 6, 7 + lesson], seed=lesson))
    store.forget(2)  # its policies go; those of lesson 3, which were made with it, stay
    other.restore(store.tensors())
    assert len(other.policies) == len(store.policies) == 6
    query = np.zeros((1, 4), np.float32)
    ours, theirs = store.policies.nearest(query, 6)[0], other.policies.nearest(query, 6)[0]
    assert ours.distances.tolist() == theirs.distances.tolist()
    assert ours.values.tolist() == theirs.values.tolist()
    other.restore({})
    assert len(other.policies) == len(other) == 0


def test_policies_of_another_number_of_neighbours_are_refused(small: Marian) -> None:
    store = store_of(small, neighbours=2)
    for lesson in range(2):
        store.add(segment(small, lesson, [5, 6]))
    with pytest.raises(InputError, match=r"^this delta was learned with 2 neighbours, not 4; give --set neighbours=2$"):
        store_of(small, neighbours=4).restore(store.tensors())


@pytest.mark.parametrize("setting", ["policy_temperature", "max_distance"])
def test_settings_must_be_above_zero(small: Marian, setting: str) -> None:
    with pytest.raises(InputError, match=f"^{setting} is 0.0; expected "):
        store_of(small, **{setting: 0.0})
