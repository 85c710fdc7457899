"""LIMSI's system of 2017: a regression on rewards reranks candidates; UCB1 chooses between it and the seed system.

The paper does not describe the variants in detail. Here `sampling` samples the system in proportion to UCB1's upper
bounds. `select` fits the regression to every other reward, and gives UCB1 the rest, which the regression has not seen.

Two measures protect a regression on a few thousand rewards. It has separate features for the mean of all candidates of
a sentence and for the difference of one candidate from it: an easy sentence does not make a candidate good. And its
prior ranks candidates as the seed system does, so it departs from that ranking only as far as the rewards support it.
"""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Literal

import numpy as np

from mtloop.bandits.draw_log import DrawLog
from mtloop.bandits.ridge import Ridge, Vector
from mtloop.bandits.statistical.bandit_smt import vector_of
from mtloop.core.errors import InputError
from mtloop.core.types import Feedback, Learned, Proposal, Reward, Segment
from mtloop.smt.engine import FEATURES, MAX_WORDS, Thot

Variant = Literal["ucb1", "sampling", "select"]
ARMS = ("seed", "adapted")
PRIOR_SCALE = 0.1  # predicted reward for a unit of the seed's score per word, before the first reward


def candidate_features(features: Vector) -> Vector:
    """Return the features of each candidate: 1, the mean of all candidates, and the difference from that mean.

    >>> candidate_features(np.array([[1.0, 2.0], [3.0, 2.0]])).tolist()
    [[1.0, 2.0, 2.0, -1.0, 0.0], [1.0, 2.0, 2.0, 1.0, 0.0]]
    """
    common = features.mean(axis=0)
    same = np.tile([1.0, *common], (len(features), 1))
    return np.hstack([same, features - common])


def upper_bounds(sums: Vector, counts: Vector) -> Vector:
    """Return UCB1's upper bound of each arm: mean + sqrt(2 ln t / n), infinite for an arm without rewards.

    >>> upper_bounds(np.array([1.0, 0.0]), np.array([2.0, 0.0])).round(3).tolist()
    [1.333, inf]
    """
    at_least_one = np.maximum(counts, 1)
    width = np.sqrt(2 * math.log(max(counts.sum(), 1)) / at_least_one)
    return np.where(counts > 0, sums / at_least_one + width, np.inf)


class Limsi:
    """Two systems over one engine, whose weights never change. Rejects rewards for the same reasons as `BanditNMT`."""

    learns_from: tuple[type[Feedback], ...] = (Reward,)

    def __init__(
        self, engine: Thot, *, variant: Variant = "ucb1", ridge_penalty: float, nbest_size: int = 50, seed: int = 1
    ) -> None:
        self.engine, self.variant, self.nbest_size, self.method = engine, variant, nbest_size, f"limsi-{variant}"
        self.draw_log_ = DrawLog(self.method, seed, needs={"arm", "example"})
        seed_ranking = PRIOR_SCALE * vector_of(engine.weights)
        self.ridge_ = Ridge(np.concatenate([np.zeros(1 + len(FEATURES)), seed_ranking]), ridge_penalty)
        self.sums_, self.counts_ = np.zeros(len(ARMS)), np.zeros(len(ARMS))

    def propose(self, segment: Segment) -> Proposal:
        length = len(self.engine.tokeniser.tokenise_source(segment.source))
        if not 0 < length <= MAX_WORDS:
            return Proposal(segment, self.engine.translate(segment.source), self.method)
        texts, rows = zip(*self.engine.nbest(segment.source, self.nbest_size), strict=True)
        examples = candidate_features(np.array([vector_of(row) for row in rows]) / length)
        choices = (0, int(self.ridge_.predict(examples).argmax()))
        probabilities = self.probabilities()
        arm = random.Random(self.draw_log_.next_seed(segment)).choices(range(len(ARMS)), probabilities.tolist())[0]
        text = texts[choices[arm]]
        probability = float(sum(probabilities[other] for other in range(len(ARMS)) if texts[choices[other]] == text))
        memo = self.draw_log_.signed_memo(segment, text, {"arm": ARMS[arm], "example": examples[choices[arm]].tolist()})
        return Proposal(segment, text, self.method, probability if self.variant == "sampling" else None, memo=memo)

    def probabilities(self) -> Vector:
        """Return the probability of each system; without sampling, 1 for the first one with the highest bound."""
        upper = upper_bounds(self.sums_, self.counts_)
        if self.variant == "sampling" and np.isfinite(upper).all() and upper.sum() > 0:
            return np.asarray(upper / upper.sum())
        return np.asarray(np.eye(len(ARMS))[int(upper.argmax())])

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        if (reason := self.draw_log_.rejection(proposal, feedback)) is not None:
            return Learned(rejected=reason)
        assert isinstance(feedback, Reward)
        even = self.draw_log_.rewards_.count_ % 2 == 0
        self.draw_log_.record_reward(proposal, feedback.value)
        if self.variant != "select" or even:
            self.ridge_.add(np.array(proposal.memo["example"], dtype=float), feedback.value)
        if self.variant != "select" or not even:
            arm = ARMS.index(str(proposal.memo["arm"]))
            self.sums_[arm] += feedback.value
            self.counts_[arm] += 1
        return Learned(1)

    def save(self, folder: Path) -> None:
        kept = {name: getattr(self, f"{name}_").tolist() for name in ("sums", "counts")}
        fitted = {name: getattr(self.ridge_, f"{name}_").tolist() for name in ("products", "targets")}
        self.draw_log_.write(folder, self.engine.fingerprint, kept | fitted)

    def load(self, folder: Path) -> None:
        learned = {name: np.array(v) for name, v in self.draw_log_.read(folder, self.engine.fingerprint).items()}
        if learned["products"].shape != self.ridge_.products_.shape:
            raise InputError("holds a regression on other features; start a new run", path=folder)
        self.sums_, self.counts_ = learned["sums"], learned["counts"]
        self.ridge_.products_, self.ridge_.targets_ = learned["products"], learned["targets"]
