"""What all policies share: arrays over an axis of runs, and the `Policy` protocol as the case of one run."""

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
Places: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Draw:
    """A choice in every run: which system, how likely it was (NaN: it was not drawn), and who should be rated.

    `segments` says in every run which segment it is of, `contexts` what was seen of it. `lacking` are the cells that
    nobody will ever rate, where that is known, as it is of a recording.
    """

    systems: Places
    probability: Array
    asked: Mask
    segments: Sequence[str]
    contexts: Array | None = None
    lacking: Mask | None = None


class BatchPolicy(ABC):
    """A policy with a leading axis of runs; `choose` and `update` are for a single run.

    What is learned ends in `_` and is an array whose first axis is the run; `learned` names those arrays.
    """

    learned: tuple[str, ...] = ()
    bounded = True
    """Whether scores outside [0, 1] are refused."""
    needs_context = False
    stops = False
    """Whether it has a stopping rule."""

    def __init__(self, systems: Sequence[str], *, runs: int = 1) -> None:
        if not systems:
            raise InputError("no systems to choose from; expected at least one")
        if len(set(systems)) < len(systems):
            raise InputError("two systems have the same name")
        self.systems, self.runs = tuple(systems), runs
        self._place = {name: place for place, name in enumerate(self.systems)}
        self._by_name = np.array(sorted(range(len(self.systems)), key=self.systems.__getitem__), dtype=np.intp)

    @property
    def shape(self) -> tuple[int, int]:
        return self.runs, len(self.systems)

    @abstractmethod
    def draw(self, rng: np.random.Generator, segments: Sequence[str], contexts: Array | None = None) -> Draw:
        """Choose a system in every run; leaves no mark."""

    @abstractmethod
    def learn(self, draw: Draw, scores: Array) -> None:
        """Learn from the scores in every run (runs x systems, NaN where there is none)."""

    @abstractmethod
    def standing(self) -> Array:
        """What the systems are ranked by in every run (runs x systems)."""

    def verdicts(self) -> list[Stop | None]:
        """Each run's word that it has seen enough; a policy without a stopping rule never says it."""
        return [None] * self.runs

    def ranking(self, standing: Array) -> Places:
        """Systems from best to worst in every row; equals by name."""
        order = np.argsort(-standing[..., self._by_name], axis=-1, kind="stable")
        return self._by_name[order]

    def leaders(self, standing: Array, top: int) -> Places:
        """The first `top` of `ranking` in every row, without sorting the rest."""
        left = standing[..., self._by_name]  # a copy, and equals are found by name
        found = np.empty((*standing.shape[:-1], top), dtype=np.intp)
        for place in range(top):
            best = left.argmax(axis=-1)
            found[..., place] = self._by_name[best]
            np.put_along_axis(left, best[..., None], -np.inf, axis=-1)
        return found

    def choose(self, context: Segment, rng: random.Random) -> Choice:
        """The `Policy` protocol: one run."""
        seen = self.see(context)
        generator = np.random.Generator(np.random.PCG64(rng.getrandbits(64)))
        draw = self.draw(generator, [context.id], None if seen is None else seen[None])
        probability = float(draw.probability[0])
        return Choice(
            self.systems[int(draw.systems[0])],
            None if math.isnan(probability) else probability,
            self.weights(),
            tuple(self.systems[place] for place in np.flatnonzero(draw.asked[0])),
            context.id,
            () if seen is None else tuple(map(float, seen)),
        )

    def update(self, choice: Choice, scores: Mapping[str, float]) -> None:
        """The `Policy` protocol: one run; everything that is needed of the choice travels on it."""
        row = np.full(self.shape, np.nan)
        for name, score in scores.items():
            row[:, self.place(name)] = self.checked(name, score)
        asked = np.zeros(self.shape, bool)
        asked[:, [self.place(name) for name in choice.asked or (choice.system,)]] = True
        context = np.array([choice.context]) if choice.context else None
        chosen = np.full(self.runs, self.place(choice.system), dtype=np.intp)
        likely = np.full(self.runs, math.nan if choice.probability is None else choice.probability)
        self.learn(Draw(chosen, likely, asked, [choice.segment] * self.runs, context), row)

    def weights(self) -> dict[str, float]:
        return dict(zip(self.systems, self.standing()[0].tolist(), strict=True))

    def verdict(self) -> Stop | None:
        return self.verdicts()[0]

    def see(self, segment: Segment) -> Array | None:
        """What the policy looks at before it chooses; most look at nothing."""
        return None

    def place(self, name: str) -> int:
        if name not in self._place:
            raise InputError(f"no system {name!r} to choose from; expected one of {len(self.systems)} other names")
        return self._place[name]

    def checked(self, name: str, score: float) -> float:
        if math.isnan(score) or (self.bounded and not 0 <= score <= 1):
            raise InputError(f"{name} has score {score}; expected a number from 0 to 1 (absent where nobody rated)")
        return score

    def state(self) -> dict[str, JSON]:
        """What was learned, as plain JSON."""
        return {name: np.asarray(getattr(self, name)).tolist() for name in self.learned}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up what `state` gave, exactly."""
        for name in self.learned:
            value = np.array(state[name], dtype=np.asarray(getattr(self, name)).dtype)
            setattr(self, name, value if value.ndim else value.item())


def pick(probabilities: Array, uniforms: Array) -> Places:
    """The place that each uniform number falls on, in rows of probabilities.

    >>> pick(np.array([[0.2, 0.8], [0.2, 0.8]]), np.array([0.1, 0.3])).tolist()
    [0, 1]
    """
    edges = np.cumsum(probabilities, axis=1)
    found = (uniforms[:, None] >= edges).sum(axis=1)
    places: Places = np.minimum(found, probabilities.shape[1] - 1)
    return places


def softmax(logs: Array) -> Array:
    """Weights from their logarithms, row by row; no size of them overflows."""
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    normal: Array = weights / weights.sum(axis=1, keepdims=True)
    return normal


def best_of(values: Array, rng: np.random.Generator) -> Places:
    """The place of the highest value in each row; equals by lot."""
    lots = np.where(values == values.max(axis=1, keepdims=True), rng.random(values.shape), -1.0)
    places: Places = lots.argmax(axis=1)
    return places


def only(places: Places, width: int) -> Mask:
    """A mask that holds one place a row."""
    mask = np.zeros((len(places), width), bool)
    mask[np.arange(len(places)), places] = True
    return mask
