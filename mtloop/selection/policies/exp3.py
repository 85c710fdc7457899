"""EXP3: only the chosen translation is rated (Mendonça et al. 2021, Equations 3 and 4)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mtloop.selection.policies.batch_policy import Array, BatchChoice, BatchPolicy, one_hot, sample_indices, softmax
from mtloop.selection.policies.ewaf import StepSize, Variant, check_step_size


class EXP3(BatchPolicy):
    """Multiply the weight of the chosen system by exp(eta score / p), where p is the probability of its choice.

    `step_size` "fixed": eta = sqrt(2 ln J / (horizon J)). "anytime": before iteration t the weights are
    exp(eta_t x the sum of score / p) with eta_t = sqrt(2 ln J / (t J)). Variant "published" does the same as the
    published code: it divides by the probability that the system had after its previous draw. After iteration t it sets
    only the weight of the drawn system to exp(eta_t x its sum); the other weights keep the eta of an earlier iteration.
    """

    learned = ("sums_", "log_weights_", "last_probabilities_", "time_")

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
        self.last_probabilities_ = np.full(self.shape, 1 / len(self.systems))
        self._all_runs = np.arange(runs)

    def choose_batch(
        self, rng: np.random.Generator, segments: Sequence[str], contexts: Array | None = None
    ) -> BatchChoice:
        weights = softmax(self.log_weights_)
        systems = sample_indices(weights, rng.random(self.runs))
        return BatchChoice(systems, weights[self._all_runs, systems], one_hot(systems, len(self.systems)), segments)

    def update_batch(self, choice: BatchChoice, scores: Array) -> None:
        cells = (self._all_runs, choice.systems)
        score = scores[cells]
        rated = ~np.isnan(score)
        self.time_ = self.time_ + rated
        if self.variant == "published":
            self._update_published(cells, np.where(rated, score, 0.0), rated)
            return
        gain = np.divide(score, choice.probability, out=np.zeros(self.runs), where=rated)
        self.sums_[cells] += gain
        if self.step_size == "anytime":
            self.log_weights_ = self._step_sizes(self.time_ + 1)[:, None] * self.sums_
        else:
            self.log_weights_[cells] += self._step_size_at(self.horizon or 1) * gain

    def batch_weights(self) -> Array:
        return softmax(self.log_weights_)

    def averages(self) -> Array:
        """The average reward so far as the published code computes it: the average of reward / p."""
        averages: Array = self.sums_ / np.maximum(1, self.time_ - 1)[:, None]
        return averages

    def _update_published(self, cells: tuple[np.ndarray, ...], score: Array, rated: np.ndarray) -> None:
        self.sums_[cells] += score / self.last_probabilities_[cells]
        updated = self._step_sizes(np.maximum(1, self.time_)) * self.sums_[cells]
        self.log_weights_[cells] = np.where(rated, updated, self.log_weights_[cells])
        probabilities = softmax(self.log_weights_)[cells]
        self.last_probabilities_[cells] = np.where(rated, probabilities, self.last_probabilities_[cells])

    def _step_size_at(self, time: int) -> float:
        size = len(self.systems)
        return math.sqrt(2 * math.log(size) / (time * size))

    def _step_sizes(self, times: np.ndarray) -> Array:
        size = len(self.systems)
        sizes: Array = np.sqrt(2 * math.log(size) / (times * size))
        return sizes
