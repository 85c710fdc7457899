"""Annealing: towards the end of the stream the sampling temperature and the learning rate fall."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mtloop.core.errors import InputError
from mtloop.core.ranges import check_above, check_at_least, check_share


@dataclass(frozen=True)
class Annealing:
    """Multiply the temperature by `annealing_decay` after each reward, from `annealing_start` of the stream on.

    n rewards after the start, the factor is T_n = max(min_temperature, annealing_decay^n); `min_temperature` is a
    fraction of `temperature`. The learning rate is multiplied by T_n after *every* reward: the decay compounds, as in
    the 2017 paper. There the start was 700,000 of 1.3 million sentences, without a minimum. `stream_length` = 0 means
    that the length is unknown; then nothing is annealed. Both depend only on the number of rewards so far.

    >>> annealing = Annealing(100, annealing_start=0.5, annealing_decay=0.5, min_temperature=0.25, temperature=2.0)
    >>> [annealing.temperature_after(rewards) for rewards in (0, 50, 51, 52, 53)]
    [2.0, 2.0, 1.0, 0.5, 0.5]
    >>> [annealing.learning_rate_scale(rewards) for rewards in (50, 51, 52, 53)]
    [1.0, 0.5, 0.125, 0.03125]
    """

    stream_length: int = 0
    annealing_start: float = 0.54
    annealing_decay: float = 0.99
    min_temperature: float = 0.1
    temperature: float = 1.0

    def __post_init__(self) -> None:
        check_at_least(0, stream_length=self.stream_length)
        check_share(annealing_start=self.annealing_start)
        check_above(0, temperature=self.temperature)
        for name in ("annealing_decay", "min_temperature"):
            if not 0 < getattr(self, name) <= 1:
                raise InputError(f"{name} is {getattr(self, name):g}; expected more than 0 and at most 1")

    def temperature_after(self, rewards: int) -> float:
        """Return the sampling temperature after this number of rewards."""
        return self.temperature * max(self.min_temperature, self.annealing_decay ** self._annealed(rewards))

    def learning_rate_scale(self, rewards: int) -> float:
        """Return the factor of the learning rate after this number of rewards: the product of all T so far."""
        annealed = self._annealed(rewards)
        falling = min(annealed, self._steps_to_minimum())
        decayed = self.annealing_decay ** (falling * (falling + 1) / 2)
        return float(decayed * self.min_temperature ** (annealed - falling))

    def _annealed(self, rewards: int) -> int:
        """The number of rewards since annealing started."""
        return max(rewards - int(self.annealing_start * self.stream_length), 0) if self.stream_length else 0

    def _steps_to_minimum(self) -> int:
        """The number of steps until the temperature reaches its minimum."""
        if self.annealing_decay == 1:
            return 10**18
        return int(math.log(self.min_temperature) / math.log(self.annealing_decay))
