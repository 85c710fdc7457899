"""A statistical learner whose log-linear weights learn from rewards only (Sokolov et al., 2015 and 2016).

    BanditSMT(engine, NBestExpectedLoss())    samples from the n-best list         smt-el-cv
    BanditSMT(engine, WeightPerturbation())   decodes with perturbed weights       smt-szo-cv-adam

The memo of a proposal holds a direction. The weights move along it, in proportion to the reward minus the mean so far.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from mtloop.bandits.draw_log import DrawLog
from mtloop.bandits.reward_mean import RewardMean
from mtloop.bandits.ridge import Vector
from mtloop.bandits.statistical.optimisers import Optimiser
from mtloop.core.types import Feedback, Learned, Proposal, Reward, Segment
from mtloop.smt.engine import FEATURES, MAX_WORDS, Thot


@dataclass(frozen=True)
class SampledTranslation:
    """A translation and its direction: the gradient of the expected reward is the reward times `direction`."""

    text: str
    direction: Vector
    probability: float | None = None


class WeightExplorer(Protocol):
    """Chooses a translation; returns None for a source that is empty or too long. Keeps the engine's weights."""

    def __call__(self, engine: Thot, source: str, rng: random.Random) -> SampledTranslation | None: ...


@dataclass(frozen=True)
class NBestExpectedLoss:
    """Samples from the n-best list: p(y) ~ exp(w phi(y) / T); the direction is (phi(y) - E[phi]) / T."""

    nbest_size: int = 50
    temperature: float = 1.0

    def __call__(self, engine: Thot, source: str, rng: random.Random) -> SampledTranslation | None:
        if not 0 < len(engine.tokeniser.tokenise_source(source)) <= MAX_WORDS:
            return None
        texts, rows = zip(*engine.nbest(source, self.nbest_size), strict=True)
        features = np.array([vector_of(row) for row in rows])
        probabilities = softmax(features, vector_of(engine.weights), self.temperature)
        chosen = rng.choices(range(len(texts)), probabilities.tolist())[0]
        direction = score_gradient(features, probabilities, chosen, self.temperature)
        return SampledTranslation(texts[chosen], direction, float(probabilities[chosen]))


@dataclass(frozen=True)
class WeightPerturbation:
    """Adds `perturbation_scale` times a standard Gaussian vector to the weights; that vector is the direction."""

    perturbation_scale: float = 1.0

    def __call__(self, engine: Thot, source: str, rng: random.Random) -> SampledTranslation | None:
        if not engine.tokeniser.tokenise_source(source):
            return None
        kept, direction = engine.weights, np.array([rng.gauss(0.0, 1.0) for _ in FEATURES])
        try:
            engine.weights = weights_by_name(vector_of(kept) + self.perturbation_scale * direction)
            return SampledTranslation(engine.translate(source), direction)
        finally:
            engine.weights = kept


def softmax(features: Vector, weights: Vector, temperature: float = 1.0) -> Vector:
    """Return the probability of each candidate."""
    scores = features @ weights / temperature
    exponentials = np.exp(scores - scores.max())
    return np.asarray(exponentials / exponentials.sum())


def score_gradient(features: Vector, probabilities: Vector, chosen: int, temperature: float = 1.0) -> Vector:
    """Return the gradient of the chosen candidate's log-probability by the weights."""
    return np.asarray((features[chosen] - probabilities @ features) / temperature)


class BanditSMT:
    """Learns the log-linear weights. `BanditNMT` lists the reasons for rejected rewards.

    `control` subtracts the running mean of the rewards, the current one included.
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
        self.draw_log_ = DrawLog(method, seed, RewardMean(control), needs={"direction"})
        self.weights_ = vector_of(engine.weights)

    def propose(self, segment: Segment) -> Proposal:
        drawn = self.explorer(self.engine, segment.source, random.Random(self.draw_log_.next_seed(segment)))
        if drawn is None:
            return Proposal(segment, self.engine.translate(segment.source), self.method)
        memo = self.draw_log_.signed_memo(segment, drawn.text, {"direction": drawn.direction.tolist()})
        return Proposal(segment, drawn.text, self.method, drawn.probability, memo=memo)

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        if (reason := self.draw_log_.rejection(proposal, feedback)) is not None:
            return Learned(rejected=reason)
        assert isinstance(feedback, Reward)
        weight = self.draw_log_.record_reward(proposal, feedback.value)
        return self._update(np.array(proposal.memo["direction"], dtype=float), weight)

    def _update(self, direction: Vector, weight: float) -> Learned:
        kept = self.optimiser.state
        updated = self.weights_ + self.optimiser.step(weight * direction)
        if not np.isfinite(updated).all():
            self.optimiser.state = kept
            return Learned(rejected="not finite")
        self._set_weights(updated)
        return Learned(1, info={"weight": float(f"{weight:.4g}")})

    def _set_weights(self, weights: Vector) -> None:
        """Set the engine's weights and read them back: the engine keeps every weight slightly off zero."""
        self.engine.weights = weights_by_name(weights)
        self.weights_ = vector_of(self.engine.weights)

    def save(self, folder: Path) -> None:
        optimiser = [vector.tolist() for vector in self.optimiser.state]
        self.draw_log_.write(
            folder, self.engine.fingerprint, {"weights": self.weights_.tolist(), "optimiser": optimiser}
        )

    def load(self, folder: Path) -> None:
        learned = self.draw_log_.read(folder, self.engine.fingerprint)
        self._set_weights(np.array(learned["weights"], dtype=float))
        self.optimiser.state = [np.array(vector, dtype=float) for vector in learned["optimiser"]]


def vector_of(weights: Mapping[str, float]) -> Vector:
    """Return features or weights as a vector."""
    return np.array([weights[name] for name in FEATURES], dtype=float)


def weights_by_name(values: Sequence[float] | Vector) -> dict[str, float]:
    """Return a vector of weights by feature name."""
    return dict(zip(FEATURES, map(float, values), strict=True))
