"""The advantage of a reward: the reward itself, or its difference from the running mean (a control variate)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class RewardMean:
    """Number and sum of the rewards so far. `control` subtracts their mean, which includes the current reward.

    >>> rewards = RewardMean(control=True)
    >>> [rewards.advantage(reward) for reward in (0.5, 1.0, 0.0)]
    [0.0, 0.25, -0.5]
    """

    control: bool = False
    count_: int = 0
    total_: float = 0.0

    def advantage(self, reward: float) -> float:
        """Add a reward; return its advantage."""
        self.count_ += 1
        self.total_ += reward
        return reward - self.total_ / self.count_ if self.control else reward
