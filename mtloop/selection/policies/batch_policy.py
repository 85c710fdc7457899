"""The base class of all policies: arrays with a leading axis of runs. The `Policy` protocol is the case of one run."""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mtloop.core.errors import InputError
from mtloop.core.protocols import Choice, Stop
from mtloop.core.types import JSON, Segment

Array: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
Indices: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class BatchChoice:
    """One choice per run: the system, its probability (NaN: not drawn at random), and the systems to rate.

    `segments` holds the segment id of every run, `contexts` its features. `never_rated` marks the cells that will
    never get a rating; it is None unless this is known in advance, as in a recording.
    """

    systems: Indices
    probability: Array
    asked: Mask
    segments: Sequence[str]
    contexts: Array | None = None
    never_rated: Mask | None = None


class BatchPolicy(ABC):
    """A policy with a leading axis of runs; `choose` and `update` are for a single run.

    Learned attributes end in `_`. They are arrays whose first axis is the run. `learned` lists their names.
    """

    learned: tuple[str, ...] = ()
    bounded = True
    """Whether scores outside [0, 1] are refused."""
    needs_context = False
    """Whether the policy needs features of the segment."""
    has_stopping_rule = False

    def __init__(self, systems: Sequence[str], *, runs: int = 1) -> None:
        if not systems:
            raise InputError("no systems to choose from; expected at least one")
        if len(set(systems)) < len(systems):
            raise InputError("two systems have the same name")
        self.systems, self.runs = tuple(systems), runs
        self._index = {name: index for index, name in enumerate(self.systems)}
        self._by_name = np.array(sorted(range(len(self.systems)), key=self.systems.__getitem__), dtype=np.intp)

    @property
    def shape(self) -> tuple[int, int]:
        """Runs x systems."""
        return self.runs, len(self.systems)

    @abstractmethod
    def choose_batch(
        self, rng: np.random.Generator, segments: Sequence[str], contexts: Array | None = None
    ) -> BatchChoice:
        """Choose a system in every run. This does not change the policy."""

    @abstractmethod
    def update_batch(self, choice: BatchChoice, scores: Array) -> None:
        """Learn from the scores of every run (runs x systems, NaN where there is no score)."""

    @abstractmethod
    def batch_weights(self) -> Array:
        """The values by which the systems are ranked in every run (runs x systems)."""

    def batch_verdicts(self) -> list[Stop | None]:
        """The stopping decision of every run; None while a run goes on, and for a policy without a stopping rule."""
        return [None] * self.runs

    def ranking(self, weights: Array) -> Indices:
        """Systems from best to worst in every row; ties are ordered by name."""
        order = np.argsort(-weights[..., self._by_name], axis=-1, kind="stable")
        return self._by_name[order]

    def top_indices(self, weights: Array, top: int) -> Indices:
        """The first `top` of `ranking` in every row, without sorting the rest."""
        left = weights[..., self._by_name]  # a copy, in name order, so that argmax breaks ties by name
        found = np.empty((*weights.shape[:-1], top), dtype=np.intp)
        for rank in range(top):
            best = left.argmax(axis=-1)
            found[..., rank] = self._by_name[best]
            np.put_along_axis(left, best[..., None], -np.inf, axis=-1)
        return found

    def choose(self, context: Segment, rng: random.Random) -> Choice:
        """Choose a system for one segment (the `Policy` protocol)."""
        features = self.features(context)
        generator = np.random.Generator(np.random.PCG64(rng.getrandbits(64)))
        choice = self.choose_batch(generator, [context.id], None if features is None else features[None])
        probability = float(choice.probability[0])
        return Choice(
            self.systems[int(choice.systems[0])],
            None if math.isnan(probability) else probability,
            self.weights(),
            tuple(self.systems[index] for index in np.flatnonzero(choice.asked[0])),
            context.id,
            () if features is None else tuple(map(float, features)),
        )

    def update(self, choice: Choice, scores: Mapping[str, float]) -> None:
        """Learn from the scores of one segment (the `Policy` protocol). The choice holds everything that is needed."""
        row = np.full(self.shape, np.nan)
        for name, score in scores.items():
            row[:, self.index_of(name)] = self.check_score(name, score)
        asked = np.zeros(self.shape, bool)
        asked[:, [self.index_of(name) for name in choice.asked or (choice.system,)]] = True
        context = np.array([choice.context]) if choice.context else None
        chosen = np.full(self.runs, self.index_of(choice.system), dtype=np.intp)
        probability = np.full(self.runs, math.nan if choice.probability is None else choice.probability)
        self.update_batch(BatchChoice(chosen, probability, asked, [choice.segment] * self.runs, context), row)

    def weights(self) -> dict[str, float]:
        """The weights of the first run by system."""
        return dict(zip(self.systems, self.batch_weights()[0].tolist(), strict=True))

    def verdict(self) -> Stop | None:
        """The stopping decision of the first run."""
        return self.batch_verdicts()[0]

    def features(self, segment: Segment) -> Array | None:
        """The features of a segment; None for a policy that uses no context."""
        return None

    def index_of(self, name: str) -> int:
        """The index of a system; raise InputError if there is none of that name."""
        if name not in self._index:
            raise InputError(f"no system {name!r} to choose from; expected one of {len(self.systems)} other names")
        return self._index[name]

    def check_score(self, name: str, score: float) -> float:
        """Return the score; raise InputError if it is NaN or out of range."""
        if math.isnan(score) or (self.bounded and not 0 <= score <= 1):
            raise InputError(f"{name} has score {score}; expected a number from 0 to 1 (absent where nobody rated)")
        return score

    def state(self) -> dict[str, JSON]:
        """The learned arrays as plain JSON."""
        return {name: np.asarray(getattr(self, name)).tolist() for name in self.learned}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore exactly what `state` returned."""
        for name in self.learned:
            value = np.array(state[name], dtype=np.asarray(getattr(self, name)).dtype)
            setattr(self, name, value if value.ndim else value.item())


def sample_indices(probabilities: Array, uniforms: Array) -> Indices:
    """Draw one index per row of probabilities, from one uniform number per row.

    >>> sample_indices(np.array([[0.2, 0.8], [0.2, 0.8]]), np.array([0.1, 0.3])).tolist()
    [0, 1]
    """
    edges = np.cumsum(probabilities, axis=1)
    found = (uniforms[:, None] >= edges).sum(axis=1)
    indices: Indices = np.minimum(found, probabilities.shape[1] - 1)
    return indices


def softmax(logs: Array) -> Array:
    """Normalised weights from their logarithms, row by row; large values do not overflow."""
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    normal: Array = weights / weights.sum(axis=1, keepdims=True)
    return normal


def argmax_random_ties(values: Array, rng: np.random.Generator) -> Indices:
    """The index of the highest value in each row; ties are broken at random."""
    tie_breakers = np.where(values == values.max(axis=1, keepdims=True), rng.random(values.shape), -1.0)
    indices: Indices = tie_breakers.argmax(axis=1)
    return indices


def one_hot(indices: Indices, width: int) -> Mask:
    """A mask with one True per row, at the given index."""
    mask = np.zeros((len(indices), width), bool)
    mask[np.arange(len(indices)), indices] = True
    return mask
