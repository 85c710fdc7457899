"""EWAF: the exponentially weighted average forecaster (Mendonça et al. 2021, Equations 1 and 2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mtloop.core.errors import InputError
from mtloop.selection.policies.batch_policy import Array, BatchPolicy, Draw, pick, softmax

Step = Literal["fixed", "anytime"]
Variant = Literal["paper", "mtol"]


class EWAF(BatchPolicy):
    """Every system is rated; w_j <- w_j exp(-eta loss_j), loss = -score, so a missing or zero score changes nothing.

    `step` "fixed": eta = sqrt(8 ln J / horizon). "anytime": the horizon is not needed; before iteration t the weights
    are exp(eta_t x the sum of scores) with eta_t = sqrt(8 ln J / t). Variant "mtol" is what the published code does:
    after iteration t, exp(eta_t x the sum of scores).
    """

    learned = ("sums_", "logs_", "time_")

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

    def draw(self, rng: np.random.Generator, segments: Sequence[str], contexts: Array | None = None) -> Draw:
        weights = self.standing()
        systems = pick(weights, rng.random(self.runs))
        return Draw(systems, weights[np.arange(self.runs), systems], np.ones(self.shape, bool), segments)

    def learn(self, draw: Draw, scores: Array) -> None:
        heard = ~np.isnan(scores).all(axis=1)
        self.time_ = self.time_ + heard
        gains = np.nan_to_num(scores, nan=0.0)
        self.sums_ = self.sums_ + gains
        if self.variant == "mtol":
            self.logs_ = self._rates(np.maximum(1, self.time_)) * self.sums_
        elif self.step == "anytime":
            self.logs_ = self._rates(self.time_ + 1) * self.sums_
        else:
            self.logs_ = self.logs_ + self._rates(np.array([self.horizon or 1])) * gains

    def standing(self) -> Array:
        return softmax(self.logs_)

    def averages(self) -> Array:
        """The average score so far as the published code reckons it, for `missing="average"`."""
        averages: Array = self.sums_ / np.maximum(1, self.time_ - 1)[:, None]
        return averages

    def _rates(self, times: NDArray[np.int_]) -> Array:
        """A column of step sizes."""
        rates: Array = np.sqrt(8 * math.log(len(self.systems)) / times)[:, None]
        return rates


def check_step(horizon: int | None, step: str, variant: str) -> None:
    """Refuse settings that have no meaning."""
    if variant not in ("paper", "mtol"):
        raise InputError(f"variant is 'paper' or 'mtol', not {variant!r}")
    if step not in ("fixed", "anytime"):
        raise InputError(f"step is 'fixed' or 'anytime', not {step!r}")
    if step == "fixed" and variant == "paper" and (horizon is None or horizon < 1):
        raise InputError("a fixed step needs the number of iterations; give a horizon, or step='anytime'")
