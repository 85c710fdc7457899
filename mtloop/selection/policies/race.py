"""Racing for the best few: rate only systems that could still change the answer, and say when nothing could."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mtloop.core.errors import InputError
from mtloop.core.protocols import Stop
from mtloop.core.types import JSON
from mtloop.selection.policies.batch_policy import Array, BatchPolicy, Draw, Mask
from mtloop.selection.policies.elimination import check_stopping
from mtloop.selection.policies.evidence import Evidence, MeanEstimate

GAP = 0.05  # the typical difference between two systems: where the bounds are tightest; they hold for any
HOPELESS = 50  # askings without a single rating, after which a system is no longer waited for


class Race(BatchPolicy):
    """Finds the best `top` systems with few ratings, and stops by itself.

    For each pair of a system in the top and one outside, the ratings so far (see `Evidence`) bound the probability
    that the outsider is better by more than `indifference`: by an anytime-valid p-value (a normal mixture, so looking
    after every few ratings costs nothing). Their sum is the risk of the answer. It stops when the risk is at most
    1 - `confidence`; until then it asks about those systems whose own part of the risk is more than half of
    their fair share. The translation shown is the best system's.

    The guarantee is asymptotic: means of `least` ratings and more are taken to be normal. With `horizon`, it is about
    the ranking that rating all those segments would give; a rating that was asked for and never came is none.
    """

    stops = True

    def __init__(
        self,
        systems: Sequence[str],
        *,
        top: int = 3,
        confidence: float = 0.95,
        indifference: float = 0.01,
        horizon: int | None = None,
        least: int = 10,
        every: int = 5,
        runs: int = 1,
    ) -> None:
        super().__init__(systems, runs=runs)
        check_stopping(top, confidence, indifference)
        if least < 2 or every < 1:
            raise InputError(f"least {least}, every {every}; expected at least 2 ratings and a look every 1 or more")
        self.top, self.confidence, self.indifference = min(top, len(self.systems)), confidence, indifference
        self.horizon, self.least, self.every = horizon, least, every
        self.evidence_ = [Evidence(len(self.systems), horizon) for _ in range(runs)]
        self.means_ = np.zeros(self.shape)
        self.asking_ = np.ones(self.shape, bool)
        self.stops_: list[Stop | None] = [self._trivial() for _ in range(runs)]
        self.since_ = np.zeros(runs, dtype=int)

    def draw(self, rng: np.random.Generator, segments: Sequence[str], contexts: Array | None = None) -> Draw:
        best = self.ranking(self.means_)[:, 0]
        return Draw(best, np.full(self.runs, np.nan), self.asking_.copy(), segments)

    def learn(self, draw: Draw, scores: Array) -> None:
        for run, evidence in enumerate(self.evidence_):
            if self.stops_[run] is None:
                lacking = None if draw.lacking is None else draw.lacking[run]
                evidence.add(draw.segments[run], scores[run], draw.asked[run], lacking)
                self.since_[run] += 1
                if self.since_[run] % self.every == 0:
                    self._look(run)

    def look(self) -> None:
        """Weigh the evidence now, not only after every so many lessons."""
        for run, stop in enumerate(self.stops_):
            if stop is None:
                self._look(run)

    def standing(self) -> Array:
        return self.means_

    def verdicts(self) -> list[Stop | None]:
        return list(self.stops_)

    def _trivial(self) -> Stop | None:
        """There is nothing to find out where all systems are in the top."""
        everybody = self.top == len(self.systems)
        return Stop(self.systems, self.confidence, self.indifference) if everybody else None

    def _look(self, run: int) -> None:
        evidence = self.evidence_[run]
        rated = evidence.rated
        waiting = (rated < self.least) & ~((rated == 0) & (evidence.asked >= HOPELESS))
        estimate = evidence.estimate()
        self.means_[run] = np.nan_to_num(estimate.means, nan=0.0)
        order = self.ranking(np.nan_to_num(estimate.means, nan=-np.inf))
        best, rest = order[: self.top], order[self.top :]
        risks = self._risks(estimate, best, rest)
        if not waiting.any() and risks.sum() <= 1 - self.confidence:
            names = tuple(self.systems[place] for place in best)
            self.stops_[run] = Stop(names, self.confidence, self.indifference)
        self.asking_[run] = waiting
        self.asking_[run, best] |= self._over(risks.sum(axis=1))
        self.asking_[run, rest] |= self._over(risks.sum(axis=0))

    def _over(self, parts: Array) -> Mask:
        """Whose part of the risk is more than half of an equal share: if nobody's is, the sum is small enough."""
        mask: Mask = parts > (1 - self.confidence) / len(parts) / 2
        return mask

    def _risks(self, estimate: MeanEstimate, best: np.ndarray, rest: np.ndarray) -> Array:
        """For each of the best (rows) and each of the rest (columns), how likely the order is wrong."""
        means = estimate.means
        leads = means[best][:, None] - means[rest][None] + self.indifference
        variances = np.array([estimate.variance_between(place)[rest] for place in best])
        return np.where(np.isnan(leads), 0.0, doubt(np.nan_to_num(leads), variances))

    def state(self) -> dict[str, JSON]:
        kept: dict[str, Any] = {
            "evidence": [evidence.state() for evidence in self.evidence_],
            "means": self.means_.tolist(),
            "asking": self.asking_.tolist(),
            "stops": [None if stop is None else list(stop.best) for stop in self.stops_],
            "since": self.since_.tolist(),
        }
        return kept

    def restore(self, state: Mapping[str, Any]) -> None:
        self.evidence_ = [Evidence(len(self.systems), self.horizon) for _ in range(self.runs)]
        for evidence, kept in zip(self.evidence_, state["evidence"], strict=True):
            evidence.restore(kept["rows"], kept["asked"], kept["closed"])
        self.means_, self.asking_ = np.array(state["means"]), np.array(state["asking"], bool)
        self.since_ = np.array(state["since"], dtype=int)
        self.stops_ = [
            None if best is None else Stop(tuple(best), self.confidence, self.indifference) for best in state["stops"]
        ]


def doubt(leads: Array, variances: Array) -> Array:
    """A p-value, valid at any time, for "the lead is not above zero", from the leads and their variances.

    One over the likelihood ratio of a normal mixture with standard deviation `GAP` around zero (Robbins, 1970).

    >>> doubt(np.array([-0.02, 0.0, 0.05]), np.array([1e-4, 1e-4, 1e-4])).round(4).tolist()
    [1.0, 1.0, 0.0]
    """
    variances = np.maximum(variances, 1e-12)
    shrink = GAP**2 / (GAP**2 + variances)
    exponent = np.maximum(leads, 0.0) ** 2 / variances / 2 * shrink
    bound: Array = np.minimum(1.0, np.exp(-exponent) * np.sqrt((variances + GAP**2) / variances))
    return bound
