"""The moving average of the weights, which is validated during training and becomes the final model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch


class MovingAverage:
    """An exponential moving average of weights; the decay rises during the first steps until it reaches `decay`."""

    def __init__(self, weights: Mapping[str, torch.Tensor], decay: float) -> None:
        self.decay = decay
        self._weights = dict(weights)
        self.values = {name: weight.detach().clone() for name, weight in weights.items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Add the weights after a step (counted from 0)."""
        decay = min(self.decay, (1 + step) / (10 + step))
        current = [weight.detach() for weight in self._weights.values()]
        torch._foreach_lerp_(list(self.values.values()), current, 1 - decay)

    @contextmanager
    def applied(self, values: Mapping[str, torch.Tensor] | None = None) -> Iterator[None]:
        """Put the averaged weights, or `values`, into the model; restore its own weights afterwards."""
        own = {name: weight.detach().clone() for name, weight in self._weights.items()}
        self._set(self.values if values is None else values)
        try:
            yield
        finally:
            self._set(own)

    @torch.no_grad()
    def _set(self, values: Mapping[str, torch.Tensor]) -> None:
        for name, weight in self._weights.items():
            weight.copy_(values[name])
