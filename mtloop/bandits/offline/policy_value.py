"""What a policy would have earned on held-out parts of a log, with intervals: before and after learning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mtloop.bandits.offline.estimators import effective, ratios
from mtloop.bandits.statistical.optimisers import Vector
from mtloop.metrics.regret import MeanReward
from mtloop.metrics.significance import Comparison, bootstrap, paired_bootstrap

HEADERS = ("policy", "value", "95 % interval", "by ips", "95 % interval", "worth sentences")


@dataclass(frozen=True)
class PolicyValue:
    """Rewards of a log, and log rho of a policy on it. `value` is self-normalised, as least swayed by a few draws."""

    rewards: Vector
    log_ratios: Vector
    cap: float
    samples: int = 1000
    seed: int = 1

    @property
    def rows(self) -> Vector:
        rho, _ = ratios(self.log_ratios, self.cap)
        return np.column_stack([rho * self.rewards, rho])

    @property
    def plain(self) -> Vector:
        """The same without normalising: inverse propensity."""
        return np.column_stack([self.rows[:, 0], np.ones(len(self.rewards))])

    def against(self, before: PolicyValue) -> Comparison:
        """The difference of two policies on the same sentences."""
        return paired_bootstrap(MeanReward(), self.rows, before.rows, self.samples, self.seed)

    def line(self, name: str) -> list[str]:
        return [name, *self._told(self.rows), *self._told(self.plain), f"{effective(self.log_ratios, self.cap):.1f}"]

    def _told(self, rows: Vector) -> tuple[str, str]:
        low, high = bootstrap(MeanReward(), rows, self.samples, self.seed)
        return f"{MeanReward().score_rows(rows).value:.4f}", f"{low:.4f} to {high:.4f}"


def table(before: PolicyValue, after: PolicyValue) -> str:
    """Who logged, the model before and after, and whether the difference is one."""
    from tabulate import tabulate

    logged = PolicyValue(before.rewards, np.zeros(len(before.rewards)), before.cap, before.samples, before.seed)
    lines: Sequence[list[str]] = [logged.line("as logged"), before.line("before"), after.line("after")]
    found = after.against(before)
    low, high = found.interval
    return "\n".join(
        [
            tabulate(lines, HEADERS, disable_numparse=True, colalign=("left", *["right"] * 5)),
            "",
            f"after less before: {found.difference:+.4f} (95 % interval {low:+.4f} to {high:+.4f});",
            f"{len(before.rewards)} held-out sentences, bootstrap of {before.samples} samples, seed {before.seed}",
        ]
    )
