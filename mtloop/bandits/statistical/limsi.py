"""LIMSI's entry of 2017: a regression that predicts rewards picks among candidates, UCB1 picks between it and the seed.

The paper says little of the variants; here `sampling` draws the system in proportion to UCB1's upper bounds, and
`select` fits the regression to every other reward and lets UCB1 hear the rest, which the regression has not seen.

Two things keep a regression on a few thousand rewards from harm. It reads what all candidates of a sentence have in
common apart from how one differs from them: what makes sentences easy does not make a candidate good. And it begins by
ranking candidates as the seed system does, so that it departs from it only as far as rewards give reason to.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from mtloop.bandits.statistical.bandit_smt import values_of
from mtloop.bandits.statistical.draw_log import DrawLog
from mtloop.bandits.statistical.optimisers import Vector
from mtloop.core.errors import InputError
from mtloop.core.types import Feedback, Learned, Proposal, Reward, Segment
from mtloop.smt.engine import FEATURES, LONGEST, Thot

Variant = Literal["ucb1", "sampling", "select"]
ARMS = ("seed", "adapted")
FAITH = 0.1  # reward for a unit of the seed's score, a word: how the regression ranks before it has heard anything


@dataclass
class Ridge:
    """Least squares with a penalty on what departs from `prior`, one example at a time.

    >>> ridge = Ridge(np.zeros(2), penalty=1e-9)
    >>> for x, y in [((1.0, 0.0), 0.5), ((0.0, 2.0), 1.0)]:
    ...     ridge.add(np.array(x), y)
    >>> np.round(ridge.predict(np.array([[1.0, 1.0]])), 6).tolist()
    [1.0]
    """

    prior: Vector
    penalty: float
    products_: Vector = field(init=False)
    targets_: Vector = field(init=False)

    def __post_init__(self) -> None:
        self.products_, self.targets_ = self.penalty * np.eye(len(self.prior)), np.zeros(len(self.prior))

    def add(self, example: Vector, value: float) -> None:
        self.products_ = self.products_ + np.outer(example, example)
        self.targets_ = self.targets_ + (value - example @ self.prior) * example

    def predict(self, examples: Vector) -> Vector:
        return np.asarray(examples @ (self.prior + np.linalg.solve(self.products_, self.targets_)))


def described(features: Vector) -> Vector:
    """Each candidate as the regression reads it: one, what all of them are like on average, how this one differs.

    >>> described(np.array([[1.0, 2.0], [3.0, 2.0]])).tolist()
    [[1.0, 2.0, 2.0, -1.0, 0.0], [1.0, 2.0, 2.0, 1.0, 0.0]]
    """
    common = features.mean(axis=0)
    same = np.tile([1.0, *common], (len(features), 1))
    return np.hstack([same, features - common])


def bounds(sums: Vector, counts: Vector) -> Vector:
    """UCB1's upper bound of each arm: mean + sqrt(2 ln t / n); an arm not tried yet has no bound.

    >>> bounds(np.array([1.0, 0.0]), np.array([2.0, 0.0])).round(3).tolist()
    [1.333, inf]
    """
    tried = np.maximum(counts, 1)
    spread = np.sqrt(2 * math.log(max(counts.sum(), 1)) / tried)
    return np.where(counts > 0, sums / tried + spread, np.inf)


class Limsi:
    """Two systems over one engine, whose own weights never change. Refuses rewards as `BanditNMT` does."""

    learns_from: tuple[type[Feedback], ...] = (Reward,)

    def __init__(self, engine: Thot, *, variant: Variant = "ucb1", ridge: float, size: int = 50, seed: int = 1) -> None:
        self.engine, self.variant, self.size, self.method = engine, variant, size, f"limsi-{variant}"
        self.ledger_ = DrawLog(self.method, seed)
        ranking = FAITH * values_of(engine.weights)
        self.ridge_ = Ridge(np.concatenate([np.zeros(1 + len(FEATURES)), ranking]), ridge)
        self.sums_, self.counts_ = np.zeros(len(ARMS)), np.zeros(len(ARMS))

    def propose(self, segment: Segment) -> Proposal:
        length = len(self.engine.words.read(segment.source))
        if not 0 < length <= LONGEST:
            return Proposal(segment, self.engine.translate(segment.source), self.method)
        texts, rows = zip(*self.engine.nbest(segment.source, self.size), strict=True)
        examples = described(np.array([values_of(row) for row in rows]) / length)
        picks = (0, int(self.ridge_.predict(examples).argmax()))
        chances = self.chances()
        arm = random.Random(self.ledger_.draw(segment)).choices(range(len(ARMS)), chances.tolist())[0]
        text = texts[picks[arm]]
        said = float(sum(chances[other] for other in range(len(ARMS)) if texts[picks[other]] == text))
        memo = self.ledger_.signed(segment, text, {"arm": ARMS[arm], "example": examples[picks[arm]].tolist()})
        return Proposal(segment, text, self.method, said if self.variant == "sampling" else None, memo=memo)

    def chances(self) -> Vector:
        """The probability of each system; without sampling, all of it on the first with the highest bound."""
        upper = bounds(self.sums_, self.counts_)
        if self.variant == "sampling" and np.isfinite(upper).all() and upper.sum() > 0:
            return np.asarray(upper / upper.sum())
        return np.asarray(np.eye(len(ARMS))[int(upper.argmax())])

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        if (reason := self.ledger_.refusal(proposal, feedback)) is not None:
            return Learned(rejected=reason)
        assert isinstance(feedback, Reward)
        even = self.ledger_.rewards_.heard_ % 2 == 0
        self.ledger_.hear(proposal, feedback.value)
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
        self.ledger_.write(folder, self.engine.fingerprint, kept | fitted)

    def load(self, folder: Path) -> None:
        learned = {name: np.array(v) for name, v in self.ledger_.read(folder, self.engine.fingerprint).items()}
        if learned["products"].shape != self.ridge_.products_.shape:
            raise InputError("is of a regression on other features; begin again", path=folder)
        self.sums_, self.counts_ = learned["sums"], learned["counts"]
        self.ridge_.products_, self.ridge_.targets_ = learned["products"], learned["targets"]
