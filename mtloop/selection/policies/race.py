"""Racing for the best systems: rate only those that could still change the answer, and stop when none could."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mtloop.core.errors import InputError, UnknownName
from mtloop.core.protocols import Stop
from mtloop.core.ranges import check_at_least
from mtloop.core.types import JSON
from mtloop.selection.policies.batch_policy import Array, BatchChoice, BatchPolicy, Mask
from mtloop.selection.policies.elimination import check_stopping
from mtloop.selection.policies.evidence import Evidence
from mtloop.selection.policies.risk_bounds import RiskBound, anytime_risk, posterior_risk

MAX_UNANSWERED = 50  # requests without a single rating, after which the policy stops waiting for a system


@dataclass(frozen=True)
class RaceRule:
    """How a race uses a bound: its risk may be `share` of 1 - `confidence`, with at least `min_ratings` ratings each.

    A system is not rated while its part of the risk is below `focus` of the largest part in its group.
    """

    risk: RiskBound
    share: float = 1.0
    min_ratings: int = 2
    focus: float = 0.0
    max_confidence: float = 1.0


RULES = {
    "anytime": RaceRule(anytime_risk),
    # no proof covers repeated tests, near ties and skewed scores: the share was calibrated on made scores
    "posterior": RaceRule(posterior_risk, share=0.4, min_ratings=60, focus=0.1, max_confidence=0.99),
}


class Race(BatchPolicy):
    """Find the best `top` systems with few ratings, and stop automatically.

    For each pair of a system in the top and one outside, the ratings so far (see `Evidence`) bound the probability
    that the outsider is better by more than `indifference`, on the scale 0 to 1. The bound is an anytime-valid p-value
    (a normal mixture), so repeated tests do not weaken it. The sum of the bounds is the risk of the answer. The policy
    stops when the risk is at most 1 - `confidence`. Until then it requests ratings of the systems whose part of the
    risk is more than half of (1 - `confidence`) / number of systems in the group (the top, or the rest). It chooses the
    translation of the best system.

    With `bound="posterior"` the risk is the probability of a wrong answer under a normal posterior, and may be 0.4 of
    1 - `confidence`. It needs fewer ratings. It was calibrated on made scores and has no proof for repeated tests.

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
        bound: str = "anytime",
        runs: int = 1,
    ) -> None:
        super().__init__(systems, runs=runs)
        check_stopping(top, confidence, indifference)
        check_at_least(2, min_ratings=min_ratings)
        check_at_least(1, evaluation_interval=evaluation_interval)
        if bound not in RULES:
            raise UnknownName("bound", bound, RULES)
        if confidence > RULES[bound].max_confidence:
            least = f"at most {RULES[bound].max_confidence}"
            raise InputError(f"confidence is {confidence}; bound={bound} was calibrated for {least}; use bound=anytime")
        self.bound, self._rule = bound, RULES[bound]
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
        unanswered = (rated == 0) & (evidence.asked >= MAX_UNANSWERED)
        waiting = (rated < max(self.min_ratings, self._rule.min_ratings)) & ~unanswered
        estimate = evidence.estimate()
        self.means_[run] = np.nan_to_num(estimate.means, nan=0.0)
        order = self.ranking(np.nan_to_num(estimate.means, nan=-np.inf))
        best, rest = order[: self.top], order[self.top :]
        risk = self._rule.risk(estimate, best, rest, self.indifference)
        if not waiting.any() and risk.total <= self._allowed:
            names = tuple(self.systems[index] for index in best)
            self.stops_[run] = Stop(names, self.confidence, self.indifference)
        self.to_rate_[run] = waiting
        self.to_rate_[run, best] |= self._is_large(risk.best)
        self.to_rate_[run, rest] |= self._is_large(risk.rest)

    @property
    def _allowed(self) -> float:
        """The risk at which the policy stops."""
        return self._rule.share * (1 - self.confidence)

    def _is_large(self, parts: Array) -> Mask:
        """Whether each system's part of the risk is above half of the allowed risk / number of systems in the group.

        If no system exceeds this, the total risk is below the allowed one, so the policy can stop.
        """
        mask: Mask = parts > max(self._allowed / len(parts) / 2, self._rule.focus * parts.max())
        return mask

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
