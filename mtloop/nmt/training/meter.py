"""Loss and speed since one last looked."""

from __future__ import annotations

import time

import torch


class Meter:
    """Collects losses without waiting for the device that computes them."""

    def __init__(self) -> None:
        self._losses: list[torch.Tensor] = []
        self._tokens = 0
        self._since = time.monotonic()

    def add(self, loss: torch.Tensor, tokens: int) -> None:
        self._losses.append(loss)
        self._tokens += tokens

    def read(self) -> tuple[float, float]:
        """Mean loss, and tokens a second."""
        mean = float(torch.stack(self._losses).mean())  # waits for the device, so the clock is read after it
        return mean, self._tokens / (time.monotonic() - self._since)
