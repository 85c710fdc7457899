"""When to stop exploring: the temperature of the draws falls towards the end of the stream, and the steps with it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mtloop.core.errors import InputError


@dataclass(frozen=True)
class Annealing:
    """After `start` of `steps` rewards the temperature falls by `decay` a step, down to `floor` of what it was.

    With n steps since the start T_n = max(floor, decay^n), and the step size is multiplied by T_n at *every* step: the
    decay compounds, as in the 2017 paper. There the start was 700,000 of 1.3 million sentences and there was no floor;
    `steps` = 0 is a stream without an end, which is never annealed. Both follow from the number of rewards heard.

    >>> annealing = Annealing(steps=100, start=0.5, decay=0.5, floor=0.25, temperature=2.0)
    >>> [annealing.at(heard) for heard in (0, 50, 51, 52, 53)]
    [2.0, 2.0, 1.0, 0.5, 0.5]
    >>> [annealing.pace(heard) for heard in (50, 51, 52, 53)]
    [1.0, 0.5, 0.125, 0.03125]
    """

    steps: int = 0
    start: float = 0.54
    decay: float = 0.99
    floor: float = 0.1
    temperature: float = 1.0

    def __post_init__(self) -> None:
        if self.steps < 0:
            raise InputError(f"steps = {self.steps}; expected the length of the stream, or 0 where it has no end")
        if not 0 <= self.start <= 1:
            raise InputError(f"start = {self.start:g}; expected a share of the stream, from 0 to 1")
        for name in ("decay", "floor"):
            if not 0 < getattr(self, name) <= 1:
                raise InputError(f"{name} = {getattr(self, name):g}; expected more than 0 and at most 1")
        if not 0 < self.temperature < math.inf:
            raise InputError(f"temperature = {self.temperature:g}; expected more than 0 (1: as the model thinks)")

    def at(self, heard: int) -> float:
        """The temperature of a draw after so many rewards."""
        return self.temperature * max(self.floor, self.decay ** self._since(heard))

    def pace(self, heard: int) -> float:
        """By how much of its rate to move after so many rewards: the product of all T so far."""
        since = self._since(heard)
        falling = min(since, self._falls())
        return float(self.decay ** (falling * (falling + 1) / 2) * self.floor ** (since - falling))

    def _since(self, heard: int) -> int:
        return max(heard - int(self.start * self.steps), 0) if self.steps else 0

    def _falls(self) -> int:
        """How many steps it takes to come to the floor."""
        return int(math.log(self.floor) / math.log(self.decay)) if self.decay < 1 else 10**18
