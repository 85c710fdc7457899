"""Mean loss and speed of a number of steps."""

from __future__ import annotations

import time

import torch


class Meter:
    """Collects losses without waiting for the device."""

    def __init__(self) -> None:
        self._losses: list[torch.Tensor] = []
        self._tokens = 0
        self._start = time.monotonic()

    def add(self, loss: torch.Tensor, tokens: int) -> None:
        self._losses.append(loss)
        self._tokens += tokens

    def read(self) -> tuple[float, float]:
        """Return the mean loss and the tokens per second."""
        mean = float(torch.stack(self._losses).mean())  # waits for the device, so read the clock after it
        return mean, self._tokens / (time.monotonic() - self._start)
