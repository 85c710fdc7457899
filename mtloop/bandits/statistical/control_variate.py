"""What a reward weighs: itself, or what it is above those heard before (a control variate)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Rewards:
    """The rewards heard so far. With `control` one weighs what it is above their mean, itself included.

    >>> rewards = Rewards(control=True)
    >>> [rewards.weigh(reward) for reward in (0.5, 1.0, 0.0)]
    [0.0, 0.25, -0.5]
    """

    control: bool = False
    heard_: int = 0
    total_: float = 0.0

    def weigh(self, reward: float) -> float:
        self.heard_ += 1
        self.total_ += reward
        return reward - self.total_ / self.heard_ if self.control else reward
