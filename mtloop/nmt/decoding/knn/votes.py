"""How neighbours vote: their weights, and the mixture with the model's own probabilities."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from torch import Tensor

from mtloop.nmt.decoding.knn.neighbours import Neighbours, VectorTable
from mtloop.nmt.decoding.memory import Array
from mtloop.nmt.engine.search import SearchState

MAX_WEIGHT = 0.9999  # of all votes together, as in KoK: the model's tokens keep a finite logarithm
Shares: TypeAlias = Callable[[Neighbours], Array]
"""Returns what each neighbour adds to the probability of its token; the sum is the weight of the votes (lambda)."""


def softmax(scores: Array) -> Array:
    weights: Array = np.exp(scores - scores.max())
    weights /= weights.sum()
    return weights


def probability_of(value: int, found: Neighbours, shares: Array) -> float:
    """Return the sum of the shares of the neighbours with this value."""
    return float(shares[found.values == value].sum())


def add_votes(found: Neighbours, shares: Array, logits: Tensor) -> None:
    """Change logits in place so that their softmax is the mixture: shares of the votes, and the rest for the model."""
    weight = float(shares.sum())
    if weight <= 0:
        return
    odds = shares * (min(weight, MAX_WEIGHT) / weight / (1 - min(weight, MAX_WEIGHT)))
    sums: dict[int, float] = {}
    for token, odd in zip(found.values.tolist(), odds.tolist(), strict=True):
        sums[token] = sums.get(token, 0.0) + odd
    values = logits.numpy()
    total = _logsumexp(values)
    for token, odd in sums.items():
        if odd > 0:
            values[token] = np.logaddexp(values[token], total + math.log(odd))


def _logsumexp(values: Array) -> float:
    largest = values.max()
    return float(largest) + math.log(np.exp(values - largest).sum())


class KnnProcessor:
    """Lets the nearest states of a table vote on each next token."""

    def __init__(self, states: VectorTable, neighbours: int, shares: Shares) -> None:
        self._states, self._neighbours, self._shares = states, neighbours, shares

    def __call__(self, state: SearchState, logits: Tensor) -> Tensor:
        """Mix the votes into the logits, in place; their softmax is the mixed distribution."""
        found: Sequence[Neighbours] = self._states.nearest(state.decoder_states.numpy(), self._neighbours)
        for row, neighbours in enumerate(found):
            add_votes(neighbours, self._shares(neighbours), logits[row])
        return logits
