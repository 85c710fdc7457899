"""Dropout (Srivastava et al., 2014): random activations are set to zero during training, against overfitting.

It applies to the embeddings and to the output of every attention and feed-forward sublayer, not to the attention
weights. The remaining values are scaled up, so that the expected sum stays the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

MaskFunction = Callable[[Tensor], Tensor]


def identity(x: Tensor) -> Tensor:
    """Return the tensor unchanged: the mask function without dropout."""
    return x


@dataclass(frozen=True, eq=False)
class Dropout:
    """Sets a share `rate` (0 to below 1) of each tensor to zero. All masks come from one random generator."""

    rate: float
    generator: torch.Generator

    @classmethod
    def seeded(cls, rate: float, seed: int) -> Dropout:
        return cls(rate, torch.Generator().manual_seed(seed))

    def __call__(self, y: Tensor) -> tuple[Tensor, MaskFunction]:
        """Return the masked tensor, and a function that applies the same mask to a gradient."""
        kept = torch.rand(y.shape, generator=self.generator) >= self.rate
        mask = kept / (1 - self.rate)

        def apply_mask(x: Tensor) -> Tensor:
            return x * mask

        return apply_mask(y), apply_mask
