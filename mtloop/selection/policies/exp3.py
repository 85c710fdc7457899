"""EXP3: only the chosen translation is rated (Mendonça et al. 2021, Equations 3 and 4)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mtloop.selection.policies.batch_policy import Array, BatchPolicy, Draw, only, pick, softmax
from mtloop.selection.policies.ewaf import Step, Variant, check_step


class EXP3(BatchPolicy):
    """The weight of the chosen system grows by exp(eta score / p), p the probability it was drawn with.

    `step` "fixed": eta = sqrt(2 ln J / (horizon J)). "anytime": before iteration t the weights are
    exp(eta_t x the sum of score / p) with eta_t = sqrt(2 ln J / (t J)). Variant "mtol" is what the published code does:
    it divides by the probability that the system had after it was last drawn, and after iteration t sets the weight
    of the drawn system alone to exp(eta_t x its sum); the others keep theirs, of an older eta.
    """

    learned = ("sums_", "logs_", "stale_", "time_")

    def __init__(
        self,
        systems: Sequence[str],
        *,
        horizon: int | None = None,
        step: Step = "fixed",
        variant: Variant = "paper",
        runs: int = 1,
    ) -> None:
        super().__init__(systems, runs=runs)
        check_step(horizon, step, variant)
        self.horizon, self.step, self.variant = horizon, step, variant
        self.bounded = variant != "mtol"
        self.sums_, self.logs_, self.time_ = np.zeros(self.shape), np.zeros(self.shape), np.zeros(runs, dtype=int)
        self.stale_ = np.full(self.shape, 1 / len(self.systems))
        self._all = np.arange(runs)

    def draw(self, rng: np.random.Generator, segments: Sequence[str], contexts: Array | None = None) -> Draw:
        weights = softmax(self.logs_)
        systems = pick(weights, rng.random(self.runs))
        return Draw(systems, weights[self._all, systems], only(systems, len(self.systems)), segments)

    def learn(self, draw: Draw, scores: Array) -> None:
        at = (self._all, draw.systems)
        score = scores[at]
        heard = ~np.isnan(score)
        self.time_ = self.time_ + heard
        if self.variant == "mtol":
            self._learn_stale(at, np.where(heard, score, 0.0), heard)
            return
        gain = np.divide(score, draw.probability, out=np.zeros(self.runs), where=heard)
        self.sums_[at] += gain
        if self.step == "anytime":
            self.logs_ = self._rates(self.time_ + 1)[:, None] * self.sums_
        else:
            self.logs_[at] += self._rate(self.horizon or 1) * gain

    def standing(self) -> Array:
        return softmax(self.logs_)

    def averages(self) -> Array:
        """The average reward so far as the published code reckons it: of rewards that are divided by p."""
        averages: Array = self.sums_ / np.maximum(1, self.time_ - 1)[:, None]
        return averages

    def _learn_stale(self, at: tuple[np.ndarray, ...], score: Array, heard: np.ndarray) -> None:
        self.sums_[at] += score / self.stale_[at]
        fresh = self._rates(np.maximum(1, self.time_)) * self.sums_[at]
        self.logs_[at] = np.where(heard, fresh, self.logs_[at])
        self.stale_[at] = np.where(heard, softmax(self.logs_)[at], self.stale_[at])

    def _rate(self, time: int) -> float:
        size = len(self.systems)
        return math.sqrt(2 * math.log(size) / (time * size))

    def _rates(self, times: np.ndarray) -> Array:
        size = len(self.systems)
        rates: Array = np.sqrt(2 * math.log(size) / (times * size))
        return rates
