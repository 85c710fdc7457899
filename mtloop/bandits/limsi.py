"""LIMSI's entry of 2017: a regression that predicts rewards picks among candidates, UCB1 picks between it and the seed.

The paper says little of the variants; here `sampling` draws the system in proportion to UCB1's upper bounds, and
`select` fits the regression to every other reward and lets UCB1 hear the rest, which the regression has not seen.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from mtloop.bandits.ledger import Ledger
from mtloop.bandits.optimisers import Vector
from mtloop.bandits.smt import values_of
from mtloop.core.types import Feedback, Learned, Proposal, Reward, Segment
from mtloop.translators.thot.engine import FEATURES, LONGEST, Thot

Variant = Literal["ucb1", "sampling", "select"]
ARMS = ("seed", "adapted")


@dataclass
class Ridge:
    """Least squares with a penalty, one example at a time: predicts what it has no reason to doubt.

    >>> ridge = Ridge(2, penalty=1e-9)
    >>> for x, y in [((1.0, 0.0), 0.5), ((0.0, 2.0), 1.0)]:
    ...     ridge.add(np.array(x), y)
    >>> np.round(ridge.predict(np.array([[1.0, 1.0]])), 6).tolist()
    [1.0]
    """

    width: int
    penalty: float = 1.0
    products_: Vector = field(init=False)
    targets_: Vector = field(init=False)

    def __post_init__(self) -> None:
        self.products_, self.targets_ = self.penalty * np.eye(self.width), np.zeros(self.width)

    def add(self, example: Vector, value: float) -> None:
        self.products_ = self.products_ + np.outer(example, example)
        self.targets_ = self.targets_ + value * example

    def predict(self, examples: Vector) -> Vector:
        return np.asarray(examples @ np.linalg.solve(self.products_, self.targets_))


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

    def __init__(
        self, engine: Thot, *, variant: Variant = "ucb1", size: int = 50, ridge: float = 1.0, seed: int = 1
    ) -> None:
        self.engine, self.variant, self.size, self.method = engine, variant, size, f"limsi-{variant}"
        self.ledger_ = Ledger(self.method, seed)
        self.ridge_ = Ridge(len(FEATURES) + 1, ridge)
        self.sums_, self.counts_ = np.zeros(len(ARMS)), np.zeros(len(ARMS))

    def propose(self, segment: Segment) -> Proposal:
        length = len(self.engine.words.read(segment.source))
        if not 0 < length <= LONGEST:
            return Proposal(segment, self.engine.translate(segment.source), self.method)
        texts, rows = zip(*self.engine.nbest(segment.source, self.size), strict=True)
        examples = np.array([[1.0, *(values_of(row) / length)] for row in rows])
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
        self.sums_, self.counts_ = learned["sums"], learned["counts"]
        self.ridge_.products_, self.ridge_.targets_ = learned["products"], learned["targets"]
