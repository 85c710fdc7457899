"""Adaptive kNN-MT (Zheng and others, ACL 2021): a small network chooses how many neighbours vote, and their weight.

Its inputs are the distances of the neighbours, and the number of distinct tokens among the first one, the first two,
and so on. Its output is a distribution over 0, 1, 2, 4, ... neighbours, where 0 is the model alone:
p = sum over k of p_network(k) * p_k, and p_0 = p_NMT. One hidden layer of 32 units with tanh.

The authors train it before use, on the about 2,000 sentences of a validation set, with a store of the whole domain, for
up to 5,000 updates (github.com/zhengxxn/adaptive-knn-mt). Here there is neither: text comes in order, and the store
grows. So the network is trained while it is used. After a correction it gets `network_updates` updates on the newest
32 corrected sentences (the authors' batch), each looked up before it was stored. Loss, Adam, learning rate and
clipping are theirs.

One thing had to change: their network starts with about equal chances for all numbers, that is with a weight of the
votes of 0.8, which is harmful until it has learned. Here it starts with `store_weight`.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mtloop.core.errors import InputError
from mtloop.core.ranges import check_above, check_at_least
from mtloop.nmt.decoding.knn.neighbours import Neighbours
from mtloop.nmt.decoding.knn.policy_store import token_probabilities
from mtloop.nmt.decoding.knn.token_store import KnnSettings, TokenStore
from mtloop.nmt.decoding.knn.votes import probability_of, softmax
from mtloop.nmt.decoding.memory import Array, StoredSegment
from mtloop.nmt.engine.marian import Marian

BATCH_SENTENCES = 32
HIDDEN_WIDTH = 32
BETAS = (0.9, 0.98)
MAX_NORM = 1.0
MIN_PROBABILITY = 1e-30  # added to probabilities, so that their logarithm is finite
PREFIX = "memory/network/"


@dataclass(frozen=True, eq=False)
class StudiedSentence:
    """What the network learns from one corrected sentence, by token.

    `inputs` are those of the network. `chances` are the probabilities of the corrected token, without neighbours and
    with the 1, 2, 4, ... nearest ones.
    """

    inputs: Tensor
    chances: Tensor


class ChoiceNetwork:
    """The network, with its optimiser."""

    def __init__(self, neighbours: int, start_weight: float, learning_rate: float, seed: int) -> None:
        choices, random = len(neighbour_counts(neighbours)), torch.Generator().manual_seed(seed)
        distances = _xavier(HIDDEN_WIDTH, neighbours, 0.01, random)
        counts = _xavier(HIDDEN_WIDTH, neighbours, 0.1, random)
        bias = torch.zeros(1 + choices)
        bias[0] = math.log(choices * (1 - start_weight) / start_weight)
        self.parameters = {
            "hidden": torch.cat([distances, counts], dim=1),
            "hidden_bias": torch.zeros(HIDDEN_WIDTH),
            "output": _xavier(1 + choices, HIDDEN_WIDTH, 0.01, random),
            "output_bias": bias,
        }
        for tensor in self.parameters.values():
            tensor.requires_grad_()
        self._optimiser = torch.optim.Adam(self.parameters.values(), learning_rate, BETAS)

    def __call__(self, inputs: Tensor) -> Tensor:
        """Return the probability of each number of neighbours; the first is 0 neighbours."""
        net = self.parameters
        hidden = (inputs @ net["hidden"].t() + net["hidden_bias"]).tanh()
        return (hidden @ net["output"].t() + net["output_bias"]).softmax(-1)

    def update(self, inputs: Tensor, chances: Tensor) -> float:
        """Take one step; return the loss before it, the mean negative log-probability of the corrected tokens."""
        with torch.enable_grad():
            loss = -((self(inputs) * chances).sum(-1) + MIN_PROBABILITY).log().mean()
            self._optimiser.zero_grad()
            loss.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters.values(), MAX_NORM)
        self._optimiser.step()
        return float(loss.detach())

    def tensors(self) -> dict[str, Tensor]:
        """Return parameters and moments."""
        found = {name: tensor.detach().clone() for name, tensor in self.parameters.items()}
        for name, tensor in self.parameters.items():
            state = self._optimiser.state.get(tensor, {})
            found |= {f"{name}/{kind}": value.clone() for kind, value in state.items()}
        return found

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        for name, tensor in self.parameters.items():
            if tensors[name].shape != tensor.shape:
                raise InputError("this delta was learned with another number of neighbours")
            tensor.data.copy_(tensors[name])
            kinds = [other.removeprefix(f"{name}/") for other in tensors if other.startswith(f"{name}/")]
            self._optimiser.state[tensor] = {kind: tensors[f"{name}/{kind}"].clone() for kind in kinds}


class AdaptiveStore(TokenStore):
    """The store of kNN-MT, and a network that is trained on every correction."""

    def __init__(
        self,
        knn: KnnSettings,
        model: Marian,
        network_learning_rate: float = 3e-4,
        network_updates: int = 4,
        seed: int = 1,
    ) -> None:
        super().__init__(knn)
        check_above(0, network_learning_rate=network_learning_rate, store_weight=knn.store_weight)
        check_at_least(0, network_updates=network_updates)
        if knn.store_weight == 1:
            raise InputError("store_weight is 1.0; expected less than 1: the network starts with it")
        self.model, self.network_updates = model, network_updates
        self._start = knn.neighbours, knn.store_weight, network_learning_rate, seed
        self.network_ = ChoiceNetwork(*self._start)
        self.studied_ = deque[StudiedSentence](maxlen=BATCH_SENTENCES)

    def shares(self, found: Neighbours) -> Array:
        if len(found.distances) < self.knn.neighbours:
            return np.zeros_like(found.distances)
        with torch.no_grad():
            chosen: Array = self.network_(torch.from_numpy(network_inputs(found))).numpy()
        return chosen[1:] @ nested_votes(found.distances, self.knn.temperature)

    def study(self, one: StoredSegment) -> None:
        if len(self.table()) < self.knn.neighbours:
            return
        self.studied_.append(self._studied(one))
        inputs, chances = (torch.cat(parts) for parts in zip(*map(_parts, self.studied_), strict=True))
        for _ in range(self.network_updates):
            self.network_.update(inputs, chances)

    def _studied(self, one: StoredSegment) -> StudiedSentence:
        neighbours = self.neighbours_of(one)
        chances = [
            [float(model), *self._chances(token, found)]
            for model, token, found in zip(
                token_probabilities(self.model, one), one.tokens.tolist(), neighbours, strict=True
            )
        ]
        inputs = np.stack([network_inputs(found) for found in neighbours])
        return StudiedSentence(torch.from_numpy(inputs), torch.tensor(chances))

    def _chances(self, token: int, found: Neighbours) -> list[float]:
        votes = nested_votes(found.distances, self.knn.temperature)
        return [probability_of(token, found, row) for row in votes]

    def forget(self, lesson: int) -> bool:
        """Return False: the training of the network cannot be undone. `drop` deletes the states."""
        return False

    def tensors(self) -> dict[str, Tensor]:
        found = super().tensors()
        if not self.studied_:
            return found
        inputs, chances = (torch.cat(parts) for parts in zip(*map(_parts, self.studied_), strict=True))
        counts = torch.tensor([len(one.inputs) for one in self.studied_])
        studied = {"studied/inputs": inputs, "studied/chances": chances, "studied/counts": counts}
        return found | {f"{PREFIX}{name}": tensor for name, tensor in (self.network_.tensors() | studied).items()}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        super().restore(tensors)
        self.network_ = ChoiceNetwork(*self._start)
        self.studied_.clear()
        own = {name.removeprefix(PREFIX): tensor for name, tensor in tensors.items() if name.startswith(PREFIX)}
        if not own:
            return
        counts = own.pop("studied/counts").tolist()
        parts = (own.pop(f"studied/{name}").split(counts) for name in ("inputs", "chances"))
        self.network_.restore(own)
        self.studied_.extend(StudiedSentence(*both) for both in zip(*parts, strict=True))


def neighbour_counts(neighbours: int) -> list[int]:
    """Return the numbers of neighbours to choose from: powers of two.

    >>> neighbour_counts(8), neighbour_counts(5)
    ([1, 2, 4, 8], [1, 2, 4])
    """
    return [2**power for power in range(neighbours.bit_length())]


def network_inputs(found: Neighbours) -> Array:
    """Return the distances, and the counts of distinct tokens."""
    return np.concatenate([found.distances, found.distinct_counts()])


def nested_votes(distances: Array, temperature: float) -> Array:
    """Return the weights of the neighbours if only the 1, 2, 4, ... nearest vote: (numbers, neighbours)."""
    counts = neighbour_counts(len(distances))
    found = np.zeros((len(counts), len(distances)), np.float32)
    for row, count in enumerate(counts):
        found[row, :count] = softmax(distances[:count] / -temperature)
    return found


def _parts(one: StudiedSentence) -> Sequence[Tensor]:
    return one.inputs, one.chances


def _xavier(height: int, width: int, gain: float, random: torch.Generator) -> Tensor:
    """Return random values with the deviation of Glorot and Bengio (2010), times `gain`."""
    return torch.randn(height, width, generator=random) * (gain * math.sqrt(2 / (height + width)))
