"""The moving average of the weights: what a training ends with, and what is validated on the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch


class MovingAverage:
    """Follows weights; an average over few steps at first, over ever more until `decay` is reached."""

    def __init__(self, weights: Mapping[str, torch.Tensor], decay: float) -> None:
        self.decay = decay
        self._weights = dict(weights)
        self.values = {name: weight.detach().clone() for name, weight in weights.items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the weights after a step (from 0)."""
        keep = min(self.decay, (1 + step) / (10 + step))
        now = [weight.detach() for weight in self._weights.values()]
        torch._foreach_lerp_(list(self.values.values()), now, 1 - keep)

    @contextmanager
    def in_place(self, values: Mapping[str, torch.Tensor] | None = None) -> Iterator[None]:
        """The averaged weights, or others, stand in the model; afterwards its own again."""
        own = {name: weight.detach().clone() for name, weight in self._weights.items()}
        self._put(self.values if values is None else values)
        try:
            yield
        finally:
            self._put(own)

    @torch.no_grad()
    def _put(self, values: Mapping[str, torch.Tensor]) -> None:
        for name, weight in self._weights.items():
            weight.copy_(values[name])
