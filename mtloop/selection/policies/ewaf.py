"""EWAF: the exponentially weighted average forecaster (Mendonça et al. 2021, Equations 1 and 2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mtloop.core.errors import InputError
from mtloop.selection.policies.batch_policy import Array, BatchChoice, BatchPolicy, sample_indices, softmax

StepSize = Literal["fixed", "anytime"]
Variant = Literal["paper", "published"]


class EWAF(BatchPolicy):
    """Rate every system; w_j <- w_j exp(-eta loss_j) with loss = -score. A missing or zero score changes no weight.

    `step_size` "fixed": eta = sqrt(8 ln J / horizon). "anytime": no horizon is needed; before iteration t the weights
    are exp(eta_t x the sum of scores) with eta_t = sqrt(8 ln J / t). Variant "published" does the same as the published
    code: after iteration t, the weights are exp(eta_t x the sum of scores).
    """

    learned = ("sums_", "log_weights_", "time_")

    def __init__(
        self,
        systems: Sequence[str],
        *,
        horizon: int | None = None,
        step_size: StepSize = "fixed",
        variant: Variant = "paper",
        runs: int = 1,
    ) -> None:
        super().__init__(systems, runs=runs)
        check_step_size(horizon, step_size, variant)
        self.horizon, self.step_size, self.variant = horizon, step_size, variant
        self.bounded = variant != "published"
        self.sums_, self.log_weights_ = np.zeros(self.shape), np.zeros(self.shape)
        self.time_ = np.zeros(runs, dtype=int)

    def choose_batch(
        self, rng: np.random.Generator, segments: Sequence[str], contexts: Array | None = None
    ) -> BatchChoice:
        weights = self.batch_weights()
        systems = sample_indices(weights, rng.random(self.runs))
        return BatchChoice(systems, weights[np.arange(self.runs), systems], np.ones(self.shape, bool), segments)

    def update_batch(self, choice: BatchChoice, scores: Array) -> None:
        rated = ~np.isnan(scores).all(axis=1)
        self.time_ = self.time_ + rated
        gains = np.nan_to_num(scores, nan=0.0)
        self.sums_ = self.sums_ + gains
        if self.variant == "published":
            self.log_weights_ = self._step_sizes(np.maximum(1, self.time_)) * self.sums_
        elif self.step_size == "anytime":
            self.log_weights_ = self._step_sizes(self.time_ + 1) * self.sums_
        else:
            self.log_weights_ = self.log_weights_ + self._step_sizes(np.array([self.horizon or 1])) * gains

    def batch_weights(self) -> Array:
        return softmax(self.log_weights_)

    def averages(self) -> Array:
        """The average score so far as the published code computes it, for `missing="average"`."""
        averages: Array = self.sums_ / np.maximum(1, self.time_ - 1)[:, None]
        return averages

    def _step_sizes(self, times: NDArray[np.int_]) -> Array:
        """The step size at each time, as a column."""
        sizes: Array = np.sqrt(8 * math.log(len(self.systems)) / times)[:, None]
        return sizes


def check_step_size(horizon: int | None, step_size: str, variant: str) -> None:
    """Raise InputError for an unknown variant or step size, or for a fixed step size without a horizon."""
    if variant not in ("paper", "published"):
        raise InputError(f"variant is {variant!r}; expected 'paper' or 'published'")
    if step_size not in ("fixed", "anytime"):
        raise InputError(f"step_size is {step_size!r}; expected 'fixed' or 'anytime'")
    if step_size == "fixed" and variant == "paper" and (horizon is None or horizon < 1):
        raise InputError("a fixed step size needs the number of iterations; give a horizon, or step_size='anytime'")
