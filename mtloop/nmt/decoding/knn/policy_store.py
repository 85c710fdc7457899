"""KoK, kNN over kNN (Wang and others, AAAI 2022, arXiv 2109.11136): a second store chooses the weight of the votes.

The first store is that of kNN-MT. When a correction comes, each of its tokens is looked up before it is stored. What
the lookup found is the key of a *policy*: the distances of the neighbours, and the number of distinct tokens among the
first one, the first two, and so on. Its value is 1 if p_kNN of the corrected token is higher than p_NMT, and 0
otherwise.

While decoding, the nearest policies vote with the softmax of -distance / temperature, as tokens do. The weight of the
first store is the share of the votes for 1. Nothing is trained.

The authors' code (github.com/wangqi1996/KoK) multiplies the distances by 1/4, 1/8, 1/16, ... and the counts by the same
factors in reverse order, so that the first distance and the last count matter most. It ignores the first store where
the nearest state is further away than 100, and both stores while they have fewer entries than neighbours. So does this
module. Defaults there: 8 neighbours, temperature 10 for both stores.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from mtloop.core.errors import InputError
from mtloop.core.ranges import check_above
from mtloop.nmt.decoding.knn.neighbours import Neighbours, Numbers, VectorTable
from mtloop.nmt.decoding.knn.token_store import KnnSettings, TokenStore
from mtloop.nmt.decoding.knn.votes import probability_of, softmax
from mtloop.nmt.decoding.memory import Array, Key, StoredSegment
from mtloop.nmt.engine.marian import Marian

PREFIX = "memory/policies/"


def halving_weights(count: int) -> Array:
    """Return 1/4, 1/8, 1/16 and so on; the last two are equal, and the sum is 1/2.

    >>> halving_weights(4).tolist()
    [0.25, 0.125, 0.0625, 0.0625]
    """
    weights = 0.5 ** np.arange(2, count + 2, dtype=np.float32)
    weights[-1] = weights[-2] if count > 1 else 0.5
    return weights.astype(np.float32)


def policy_features(found: Neighbours) -> Array:
    """Return the key of a policy: weighted distances, then weighted counts of distinct tokens."""
    weights = halving_weights(len(found.distances))
    return np.concatenate([found.distances * weights, found.distinct_counts() * weights[::-1]])


class PolicyStore(TokenStore):
    """Two stores: one of tokens, and one of policies."""

    def __init__(
        self, knn: KnnSettings, model: Marian, policy_temperature: float = 10.0, max_distance: float = 100.0
    ) -> None:
        """`max_distance`: where the nearest state is further away, the model decides alone."""
        super().__init__(knn)
        check_above(0, policy_temperature=policy_temperature, max_distance=max_distance)
        self.model, self.policy_temperature, self.max_distance = model, policy_temperature, max_distance
        self._policies: dict[Key, tuple[Array, Numbers]] = {}
        self._policy_table: VectorTable | None = None

    @property
    def policies(self) -> VectorTable:
        """The second store."""
        if self._policy_table is None:
            width = 2 * self.knn.neighbours
            keys = [np.empty((0, width), np.float32), *(features for features, _ in self._policies.values())]
            values = [np.empty(0, np.int64), *(values for _, values in self._policies.values())]
            self._policy_table = VectorTable(np.concatenate(keys), np.concatenate(values))
        return self._policy_table

    def shares(self, found: Neighbours) -> Array:
        return self.weight(found) * self.votes(found)

    def weight(self, found: Neighbours) -> float:
        """Return the weight of the first store (lambda): the share of the votes of the policies for it."""
        too_few = len(found.distances) < self.knn.neighbours or len(self.policies) < self.knn.neighbours
        if too_few or found.distances[0] > self.max_distance:
            return 0.0
        (policies,) = self.policies.nearest(policy_features(found)[None], self.knn.neighbours)
        return probability_of(1, policies, softmax(policies.distances / -self.policy_temperature))

    def study(self, one: StoredSegment) -> None:
        if len(self.table()) < self.knn.neighbours:
            return
        neighbours, tokens = self.neighbours_of(one), one.tokens.tolist()
        model = token_probabilities(self.model, one)
        store = [
            probability_of(token, found, self.votes(found)) for token, found in zip(tokens, neighbours, strict=True)
        ]
        better = np.array(store) > model
        self._policies[one.key] = np.stack([policy_features(found) for found in neighbours]), better.astype(np.int64)
        self._policy_table = None

    def _remove(self, key: Key) -> None:
        if key in self._segments:
            self._policies.pop(key, None)
            self._policy_table = None
        super()._remove(key)

    def _clear(self) -> None:
        super()._clear()
        self._policies.clear()
        self._policy_table = None

    def tensors(self) -> dict[str, Tensor]:
        found = super().tensors()
        if not self._policies:
            return found
        features, values = zip(*self._policies.values(), strict=True)
        counts = [len(self._policies[key][1]) if key in self._policies else 0 for key in self._segments]
        return found | {
            f"{PREFIX}keys": torch.from_numpy(np.concatenate(features)),
            f"{PREFIX}values": torch.from_numpy(np.concatenate(values)),
            f"{PREFIX}counts": torch.tensor(counts),
        }

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        super().restore(tensors)
        if f"{PREFIX}keys" not in tensors:
            return
        keys, values = tensors[f"{PREFIX}keys"], tensors[f"{PREFIX}values"]
        if keys.shape[1] != 2 * self.knn.neighbours:
            message = f"this delta was learned with {keys.shape[1] // 2} neighbours, not {self.knn.neighbours}"
            raise InputError(f"{message}; give --set neighbours={keys.shape[1] // 2}")
        counts = tensors[f"{PREFIX}counts"].tolist()
        for key, *rows in zip(self._segments, keys.split(counts), values.split(counts), strict=True):
            if len(rows[1]):
                self._policies[key] = rows[0].numpy(), rows[1].numpy()


@torch.no_grad()
def token_probabilities(model: Marian, one: StoredSegment) -> Array:
    """Return the model's probability of each token of a segment, from the states before them."""
    probabilities = model.logits(one.keys.float()).softmax(-1)
    found: Array = probabilities[torch.arange(len(one.tokens)), one.tokens].numpy()
    return found
