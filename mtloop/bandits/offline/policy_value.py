"""The off-policy value of a policy on held-out parts of a log, with intervals: before and after learning."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mtloop.bandits.offline.estimators import effective_sample_size, importance_weights
from mtloop.bandits.ridge import Vector
from mtloop.metrics.regret import MeanReward
from mtloop.metrics.significance import Comparison, bootstrap, paired_bootstrap


@dataclass(frozen=True)
class RewardEstimate:
    """An estimated mean reward with its 95 % interval."""

    value: float
    interval: tuple[float, float]


@dataclass(frozen=True)
class PolicyValue:
    """Rewards of a log, and log rho of a policy on it. The value is self-normalised: robust to a few large weights."""

    rewards: Vector
    log_ratios: Vector
    max_weight: float
    samples: int = 1000
    seed: int = 1

    @property
    def rows(self) -> Vector:
        """Weighted reward and weight of each sentence."""
        rho, _ = importance_weights(self.log_ratios, self.max_weight)
        return np.column_stack([rho * self.rewards, rho])

    @property
    def ips_rows(self) -> Vector:
        """The same without normalisation: inverse propensity scoring."""
        return np.column_stack([self.rows[:, 0], np.ones(len(self.rewards))])

    def compare(self, before: PolicyValue) -> Comparison:
        """Compare two policies on the same sentences."""
        return paired_bootstrap(MeanReward(), self.rows, before.rows, self.samples, self.seed)

    def estimate(self) -> RewardEstimate:
        """Return the value, self-normalised."""
        return self._estimate(self.rows)

    def ips_estimate(self) -> RewardEstimate:
        """Return the value by inverse propensity scoring."""
        return self._estimate(self.ips_rows)

    @property
    def effective_sentences(self) -> float:
        return effective_sample_size(self.log_ratios, self.max_weight)

    def _estimate(self, rows: Vector) -> RewardEstimate:
        interval = bootstrap(MeanReward(), rows, self.samples, self.seed)
        return RewardEstimate(MeanReward().score_rows(rows).value, interval)


def logged_policy(value: PolicyValue) -> PolicyValue:
    """Return the value of the policy that was logged, on the same sentences: every rho is 1."""
    return replace(value, log_ratios=np.zeros(len(value.rewards)))
