"""A statistical translator whose log-linear weights learn from rewards alone (Sokolov et al., 2015 and 2016).

    BanditSMT(engine, ExpectedLoss(size))   draws from the n-best list          smt-el-cv
    BanditSMT(engine, ZerothOrder(spread))  the best under shaken weights       smt-szo-cv-adam

Either way a proposal carries a direction; the weights climb along it by what the reward is above the mean so far.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from mtloop.bandits.draws import key_of, seed_of
from mtloop.bandits.optimisers import Optimiser, Vector
from mtloop.bandits.rewards import Rewards
from mtloop.core.errors import InputError
from mtloop.core.files import write_text
from mtloop.core.types import Feedback, Learned, Proposal, Reward, Segment
from mtloop.translators.thot.engine import FEATURES, LONGEST, Thot

STATE = "bandit.json"


@dataclass(frozen=True)
class Drawn:
    """A translation and where its reward points: the gradient of the expected reward is reward times `direction`."""

    text: str
    direction: Vector
    probability: float | None = None


class Explorer(Protocol):
    """Tries something; None where the source gives nothing to try. Leaves the engine's weights as they were."""

    def __call__(self, engine: Thot, source: str, rng: random.Random) -> Drawn | None: ...


@dataclass(frozen=True)
class ExpectedLoss:
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
class ZerothOrder:
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
        explorer: Explorer,
        optimiser: Optimiser,
        *,
        method: str = "smt-el-cv",
        control: bool = True,
        seed: int = 1,
    ) -> None:
        self.engine, self.explorer, self.optimiser = engine, explorer, optimiser
        self.method, self.seed = method, seed
        self.rewards_ = Rewards(control)
        self.rewarded_: set[int] = set()
        self.weights_ = values_of(engine.weights)

    def propose(self, segment: Segment) -> Proposal:
        heard = self.rewards_.heard_
        seed = seed_of(self.seed, heard, segment.source)
        drawn = self.explorer(self.engine, segment.source, random.Random(seed))
        if drawn is None:
            return Proposal(segment, self.engine.translate(segment.source), self.method)
        direction = drawn.direction.tolist()
        memo = {"draw": seed, "heard": heard, "direction": direction, "check": seed_of(seed, drawn.text, direction)}
        return Proposal(segment, drawn.text, self.method, drawn.probability, memo=memo)

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        if not isinstance(feedback, Reward):
            return Learned(rejected=f"learns from rewards, not from {type(feedback).__name__}")
        if (reason := self._refusal(proposal, feedback)) is not None:
            return Learned(rejected=reason)
        self.rewarded_.add(key_of(proposal))
        weight = self.rewards_.weigh(feedback.value)
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

    def _refusal(self, proposal: Proposal, reward: Reward) -> str | None:
        if not 0 <= reward.value <= 1:  # also when it is no number
            return "reward out of range"
        if proposal.system == self.method and "draw" not in proposal.memo:
            return "not drawn"
        if not self._drew(proposal):
            return "unknown proposal"
        return "rewarded before" if key_of(proposal) in self.rewarded_ else None

    def _drew(self, proposal: Proposal) -> bool:
        """Whether this learner made the proposal, and it is as it was made."""
        seed, heard, direction, check = (proposal.memo.get(name) for name in ("draw", "heard", "direction", "check"))
        if not isinstance(heard, int) or heard > self.rewards_.heard_:
            return False
        made = seed == seed_of(self.seed, heard, proposal.segment.source)
        return made and check == seed_of(seed, proposal.text, direction)

    def save(self, folder: Path) -> None:
        state: dict[str, Any] = {
            "method": self.method,
            "model": self.engine.fingerprint,
            "weights": self.weights_.tolist(),
            "optimiser": [vector.tolist() for vector in self.optimiser.state],
            "heard": self.rewards_.heard_,
            "total": self.rewards_.total_,
            "rewarded": sorted(self.rewarded_),
        }
        write_text(folder / STATE, json.dumps(state))

    def load(self, folder: Path) -> None:
        try:
            state = json.loads((folder / STATE).read_text(encoding="utf-8"))
            of = state["method"], state["model"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"not a snapshot of a statistical bandit: {error}", path=folder / STATE) from error
        if of != (self.method, self.engine.fingerprint):
            raise InputError(f"is of method {of[0]} on model {of[1]}", path=folder / STATE)
        self._become(np.array(state["weights"], dtype=float))
        self.optimiser.state = [np.array(vector, dtype=float) for vector in state["optimiser"]]
        self.rewards_.heard_, self.rewards_.total_ = state["heard"], state["total"]
        self.rewarded_ = set(state["rewarded"])


def values_of(weights: Mapping[str, float]) -> Vector:
    """Features or weights as a vector."""
    return np.array([weights[name] for name in FEATURES], dtype=float)


def named(values: Sequence[float] | Vector) -> dict[str, float]:
    return dict(zip(FEATURES, map(float, values), strict=True))
