"""The off-policy value of a policy on held-out parts of a log, with intervals: before and after learning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mtloop.bandits.offline.estimators import effective_sample_size, importance_weights
from mtloop.bandits.ridge import Vector
from mtloop.metrics.regret import MeanReward
from mtloop.metrics.significance import Comparison, bootstrap, paired_bootstrap

HEADERS = ("policy", "value", "95 % interval", "by ips", "95 % interval", "effective sentences")


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

    def table_row(self, name: str) -> list[str]:
        return [
            name,
            *self._with_interval(self.rows),
            *self._with_interval(self.ips_rows),
            f"{effective_sample_size(self.log_ratios, self.max_weight):.1f}",
        ]

    def _with_interval(self, rows: Vector) -> tuple[str, str]:
        low, high = bootstrap(MeanReward(), rows, self.samples, self.seed)
        return f"{MeanReward().score_rows(rows).value:.4f}", f"{low:.4f} to {high:.4f}"


def table(before: PolicyValue, after: PolicyValue) -> str:
    """Return a table of the logged policy and the model before and after learning, with the difference."""
    from tabulate import tabulate

    logged = PolicyValue(before.rewards, np.zeros(len(before.rewards)), before.max_weight, before.samples, before.seed)
    rows: Sequence[list[str]] = [logged.table_row("as logged"), before.table_row("before"), after.table_row("after")]
    comparison = after.compare(before)
    low, high = comparison.interval
    return "\n".join(
        [
            tabulate(rows, HEADERS, disable_numparse=True, colalign=("left", *["right"] * 5)),
            "",
            f"after minus before: {comparison.difference:+.4f} (95 % interval {low:+.4f} to {high:+.4f});",
            f"{len(before.rewards)} held-out sentences, bootstrap of {before.samples} samples, seed {before.seed}",
        ]
    )
