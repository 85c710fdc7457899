"""Racing for the best systems: rate only those that could still change the answer, and stop when none could."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mtloop.core.protocols import Stop
from mtloop.core.ranges import check_at_least
from mtloop.core.types import JSON
from mtloop.selection.policies.batch_policy import Array, BatchChoice, BatchPolicy, Mask
from mtloop.selection.policies.elimination import check_stopping
from mtloop.selection.policies.evidence import Evidence, MeanEstimate

TYPICAL_GAP = 0.05  # typical difference of two systems; the bounds are tightest here, and hold for any difference
MAX_UNANSWERED = 50  # requests without a single rating, after which the policy stops waiting for a system


class Race(BatchPolicy):
    """Find the best `top` systems with few ratings, and stop automatically.

    For each pair of a system in the top and one outside, the ratings so far (see `Evidence`) bound the probability
    that the outsider is better by more than `indifference`, on the scale 0 to 1. The bound is an anytime-valid p-value
    (a normal mixture), so repeated tests do not weaken it. The sum of the bounds is the risk of the answer. The policy
    stops when the risk is at most 1 - `confidence`. Until then it requests ratings of the systems whose part of the
    risk is more than half of (1 - `confidence`) / number of systems in the group (the top, or the rest). It chooses the
    translation of the best system.

    The guarantee is asymptotic: it assumes that means of `min_ratings` or more ratings are normal. The risk is computed
    after every `evaluation_interval` updates. With `horizon`, the guarantee is about the ranking after all these
    segments were rated. Requested ratings that never arrive do not count as ratings.
    """

    has_stopping_rule = True

    def __init__(
        self,
        systems: Sequence[str],
        *,
        top: int = 3,
        confidence: float = 0.95,
        indifference: float = 0.01,
        horizon: int | None = None,
        min_ratings: int = 10,
        evaluation_interval: int = 5,
        runs: int = 1,
    ) -> None:
        super().__init__(systems, runs=runs)
        check_stopping(top, confidence, indifference)
        check_at_least(2, min_ratings=min_ratings)
        check_at_least(1, evaluation_interval=evaluation_interval)
        self.top, self.confidence, self.indifference = min(top, len(self.systems)), confidence, indifference
        self.horizon, self.min_ratings, self.evaluation_interval = horizon, min_ratings, evaluation_interval
        self.evidence_ = [Evidence(len(self.systems), horizon) for _ in range(runs)]
        self.means_ = np.zeros(self.shape)
        self.to_rate_ = np.ones(self.shape, bool)
        self.stops_: list[Stop | None] = [self._initial_stop() for _ in range(runs)]
        self.updates_ = np.zeros(runs, dtype=int)

    def choose_batch(
        self, rng: np.random.Generator, segments: Sequence[str], contexts: Array | None = None
    ) -> BatchChoice:
        best = self.ranking(self.means_)[:, 0]
        return BatchChoice(best, np.full(self.runs, np.nan), self.to_rate_.copy(), segments)

    def update_batch(self, choice: BatchChoice, scores: Array) -> None:
        for run, evidence in enumerate(self.evidence_):
            if self.stops_[run] is None:
                never_rated = None if choice.never_rated is None else choice.never_rated[run]
                evidence.add(choice.segments[run], scores[run], choice.asked[run], never_rated)
                self.updates_[run] += 1
                if self.updates_[run] % self.evaluation_interval == 0:
                    self._evaluate_run(run)

    def evaluate(self) -> None:
        """Compute means, risks and stops now, without waiting for `evaluation_interval` updates."""
        for run, stop in enumerate(self.stops_):
            if stop is None:
                self._evaluate_run(run)

    def batch_weights(self) -> Array:
        return self.means_

    def batch_verdicts(self) -> list[Stop | None]:
        return list(self.stops_)

    def _initial_stop(self) -> Stop | None:
        """Stop at once if all systems are in the top."""
        all_in_top = self.top == len(self.systems)
        return Stop(self.systems, self.confidence, self.indifference) if all_in_top else None

    def _evaluate_run(self, run: int) -> None:
        evidence = self.evidence_[run]
        rated = evidence.rated
        waiting = (rated < self.min_ratings) & ~((rated == 0) & (evidence.asked >= MAX_UNANSWERED))
        estimate = evidence.estimate()
        self.means_[run] = np.nan_to_num(estimate.means, nan=0.0)
        order = self.ranking(np.nan_to_num(estimate.means, nan=-np.inf))
        best, rest = order[: self.top], order[self.top :]
        risks = self._risks(estimate, best, rest)
        if not waiting.any() and risks.sum() <= 1 - self.confidence:
            names = tuple(self.systems[index] for index in best)
            self.stops_[run] = Stop(names, self.confidence, self.indifference)
        self.to_rate_[run] = waiting
        self.to_rate_[run, best] |= self._above_half_share(risks.sum(axis=1))
        self.to_rate_[run, rest] |= self._above_half_share(risks.sum(axis=0))

    def _above_half_share(self, parts: Array) -> Mask:
        """Whether each system's part of the risk is above half of (1 - `confidence`) / number of systems in the group.

        If no system exceeds this, the total risk is below 1 - `confidence`, so the policy can stop.
        """
        mask: Mask = parts > (1 - self.confidence) / len(parts) / 2
        return mask

    def _risks(self, estimate: MeanEstimate, best: np.ndarray, rest: np.ndarray) -> Array:
        """The risk that the order is wrong, for each of the best (rows) and each of the rest (columns)."""
        means = estimate.means
        leads = means[best][:, None] - means[rest][None] + self.indifference
        variances = np.array([estimate.variance_between(index)[rest] for index in best])
        return np.where(np.isnan(leads), 0.0, anytime_p_value(np.nan_to_num(leads), variances))

    def state(self) -> dict[str, JSON]:
        state: dict[str, Any] = {
            "evidence_": [evidence.state() for evidence in self.evidence_],
            "means_": self.means_.tolist(),
            "to_rate_": self.to_rate_.tolist(),
            "stops_": [None if stop is None else list(stop.best) for stop in self.stops_],
            "updates_": self.updates_.tolist(),
        }
        return state

    def restore(self, state: Mapping[str, Any]) -> None:
        self.evidence_ = [Evidence(len(self.systems), self.horizon) for _ in range(self.runs)]
        for evidence, saved in zip(self.evidence_, state["evidence_"], strict=True):
            evidence.restore(saved["rows"], saved["asked"], saved["closed"])
        self.means_, self.to_rate_ = np.array(state["means_"]), np.array(state["to_rate_"], bool)
        self.updates_ = np.array(state["updates_"], dtype=int)
        self.stops_ = [
            None if best is None else Stop(tuple(best), self.confidence, self.indifference) for best in state["stops_"]
        ]


def anytime_p_value(leads: Array, variances: Array) -> Array:
    """An anytime-valid p-value for the hypothesis "the lead is not above zero", from the leads and their variances.

    One over the likelihood ratio of a normal mixture with standard deviation `TYPICAL_GAP` around zero (Robbins, 1970).

    >>> anytime_p_value(np.array([-0.02, 0.0, 0.05]), np.array([1e-4, 1e-4, 1e-4])).round(4).tolist()
    [1.0, 1.0, 0.0]
    """
    variances = np.maximum(variances, 1e-12)
    shrink = TYPICAL_GAP**2 / (TYPICAL_GAP**2 + variances)
    exponent = np.maximum(leads, 0.0) ** 2 / variances / 2 * shrink
    bound: Array = np.minimum(1.0, np.exp(-exponent) * np.sqrt((variances + TYPICAL_GAP**2) / variances))
    return bound
