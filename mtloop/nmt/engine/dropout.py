"""Dropout (Srivastava et al., 2014): some numbers are missing while a model learns, so that it leans on none of them.

It falls on the embeddings and on what every attention and feed-forward part adds, not on the attention itself; what
stays is scaled up, so that sums are the same on average.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

Thin = Callable[[Tensor], Tensor]


def untouched(x: Tensor) -> Tensor:
    """Without dropout a tensor goes through as it is."""
    return x


@dataclass(frozen=True, eq=False)
class Dropout:
    """Each call leaves out a share `rate` of a tensor, one mask after the other from one generator."""

    rate: float
    generator: torch.Generator

    @classmethod
    def of(cls, rate: float, seed: int) -> Dropout:
        return cls(rate, torch.Generator().manual_seed(seed))

    def __call__(self, y: Tensor) -> tuple[Tensor, Thin]:
        stays = torch.rand(y.shape, generator=self.generator) >= self.rate
        mask = stays / (1 - self.rate)

        def thin(x: Tensor) -> Tensor:
            return x * mask

        return thin(y), thin
