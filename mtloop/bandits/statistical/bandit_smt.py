"""A statistical translator whose log-linear weights learn from rewards alone (Sokolov et al., 2015 and 2016).

    BanditSMT(engine, ExpectedLoss(size))   draws from the n-best list          smt-el-cv
    BanditSMT(engine, ZerothOrder(spread))  the best under shaken weights       smt-szo-cv-adam

Either way a proposal carries a direction; the weights climb along it by what the reward is above the mean so far.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from mtloop.bandits.statistical.control_variate import Rewards
from mtloop.bandits.statistical.draw_log import DrawLog
from mtloop.bandits.statistical.optimisers import Optimiser, Vector
from mtloop.core.types import Feedback, Learned, Proposal, Reward, Segment
from mtloop.smt.engine import FEATURES, LONGEST, Thot


@dataclass(frozen=True)
class Drawn:
    """A translation and where its reward points: the gradient of the expected reward is reward times `direction`."""

    text: str
    direction: Vector
    probability: float | None = None


class WeightExplorer(Protocol):
    """Tries something; None where the source gives nothing to try. Leaves the engine's weights as they were."""

    def __call__(self, engine: Thot, source: str, rng: random.Random) -> Drawn | None: ...


@dataclass(frozen=True)
class NBestExpectedLoss:
    """Draws one of the `size` best, p(y) ~ exp(w phi(y) / temperature); the direction is phi(y) - E[phi], over T."""

    size: int = 50
    temperature: float = 1.0

    def __call__(self, engine: Thot, source: str, rng: random.Random) -> Drawn | None:
        if not 0 < len(engine.words.read(source)) <= LONGEST:
            return None
        texts, rows = zip(*engine.nbest(source, self.size), strict=True)
        features = np.array([values_of(row) for row in rows])
        chances = shares(features, values_of(engine.weights), self.temperature)
        chosen = rng.choices(range(len(texts)), chances.tolist())[0]
        return Drawn(texts[chosen], climb(features, chances, chosen, self.temperature), float(chances[chosen]))


@dataclass(frozen=True)
class WeightPerturbation:
    """Translates with the weights moved by `spread` times a standard Gaussian vector, which is the direction."""

    spread: float = 1.0

    def __call__(self, engine: Thot, source: str, rng: random.Random) -> Drawn | None:
        if not engine.words.read(source):
            return None
        kept, direction = engine.weights, np.array([rng.gauss(0.0, 1.0) for _ in FEATURES])
        try:
            engine.weights = named(values_of(kept) + self.spread * direction)
            return Drawn(engine.translate(source), direction)
        finally:
            engine.weights = kept


def shares(features: Vector, weights: Vector, temperature: float = 1.0) -> Vector:
    """The probability of each candidate."""
    scores = features @ weights / temperature
    chances = np.exp(scores - scores.max())
    return np.asarray(chances / chances.sum())


def climb(features: Vector, chances: Vector, chosen: int, temperature: float = 1.0) -> Vector:
    """The gradient of the chosen candidate's log-probability by the weights."""
    return np.asarray((features[chosen] - chances @ features) / temperature)


class BanditSMT:
    """Weights that learn. What teaches nothing is said as for neural learners (see `BanditNMT`).

    `control`: rewards weigh what they are above their running mean, the current one included.
    """

    learns_from: tuple[type[Feedback], ...] = (Reward,)

    def __init__(
        self,
        engine: Thot,
        explorer: WeightExplorer,
        optimiser: Optimiser,
        *,
        method: str = "smt-el-cv",
        control: bool = True,
        seed: int = 1,
    ) -> None:
        self.engine, self.explorer, self.optimiser, self.method = engine, explorer, optimiser, method
        self.ledger_ = DrawLog(method, seed, Rewards(control))
        self.weights_ = values_of(engine.weights)

    def propose(self, segment: Segment) -> Proposal:
        drawn = self.explorer(self.engine, segment.source, random.Random(self.ledger_.draw(segment)))
        if drawn is None:
            return Proposal(segment, self.engine.translate(segment.source), self.method)
        memo = self.ledger_.signed(segment, drawn.text, {"direction": drawn.direction.tolist()})
        return Proposal(segment, drawn.text, self.method, drawn.probability, memo=memo)

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        if (reason := self.ledger_.refusal(proposal, feedback)) is not None:
            return Learned(rejected=reason)
        assert isinstance(feedback, Reward)
        weight = self.ledger_.hear(proposal, feedback.value)
        return self._move(np.array(proposal.memo["direction"], dtype=float), weight)

    def _move(self, direction: Vector, weight: float) -> Learned:
        kept = self.optimiser.state
        moved = self.weights_ + self.optimiser.step(weight * direction)
        if not np.isfinite(moved).all():
            self.optimiser.state = kept
            return Learned(rejected="not finite")
        self._become(moved)
        return Learned(1, info={"weight": float(f"{weight:.4g}")})

    def _become(self, weights: Vector) -> None:
        """The engine keeps every weight a little off zero; what is learned on is what it has."""
        self.engine.weights = named(weights)
        self.weights_ = values_of(self.engine.weights)

    def save(self, folder: Path) -> None:
        optimiser = [vector.tolist() for vector in self.optimiser.state]
        self.ledger_.write(folder, self.engine.fingerprint, {"weights": self.weights_.tolist(), "optimiser": optimiser})

    def load(self, folder: Path) -> None:
        learned = self.ledger_.read(folder, self.engine.fingerprint)
        self._become(np.array(learned["weights"], dtype=float))
        self.optimiser.state = [np.array(vector, dtype=float) for vector in learned["optimiser"]]


def values_of(weights: Mapping[str, float]) -> Vector:
    """Features or weights as a vector."""
    return np.array([weights[name] for name in FEATURES], dtype=float)


def named(values: Sequence[float] | Vector) -> dict[str, float]:
    return dict(zip(FEATURES, map(float, values), strict=True))
