"""Which tokens may be drawn at all: a draw from the long tail is a bad translation and teaches little."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor

from mtloop.core.errors import InputError

FIRST_LOOK = 64  # tokens to rank before more of the vocabulary is looked at


@dataclass(frozen=True)
class Truncation:
    """The `best` likeliest tokens (0: any number), and of those the fewest that hold `mass` of the probability.

    >>> import torch
    >>> logits = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log()
    >>> Truncation(mass=0.7)(logits).softmax(-1).tolist()[0][2:], Cut(best=3)(logits).isinf().tolist()
    ([0.0, 0.0], [[False, False, False, True]])
    """

    best: int = 0
    mass: float = 1.0

    def __post_init__(self) -> None:
        if self.best < 0:
            raise InputError(f"best = {self.best}; expected how many tokens may be drawn, or 0 for any number")
        if not 0 < self.mass <= 1:
            raise InputError(f"mass = {self.mass:g}; expected a share of the probability, above 0 and at most 1")

    def __call__(self, logits: Tensor, drawn: Tensor | None = None) -> Tensor:
        """Minus infinity for the rest. Rows are positions; what was `drawn` there stays, whatever it has become."""
        if not self.best and self.mass == 1:
            return logits
        chances = logits.softmax(-1)
        outside = chances < self._least(chances)
        if drawn is not None:
            outside.scatter_(-1, drawn[:, None], value=False)
        return logits.masked_fill(outside, -math.inf)

    def _least(self, chances: Tensor) -> Tensor:
        """The probability of the least likely token that may be drawn, by position."""
        ranked = self._ranked(chances)
        before = ranked.cumsum(-1) - ranked
        inside = (before < self.mass).sum(-1, keepdim=True)
        return ranked.gather(-1, inside - 1)

    def _ranked(self, chances: Tensor) -> Tensor:
        """The likeliest first, as many as matter: sorting all of a vocabulary costs as much as the decoder."""
        size = chances.shape[-1]
        most = min(self.best or FIRST_LOOK, size)
        ranked = chances.topk(most).values
        while not self.best and most < size and bool((ranked.sum(-1) < self.mass).any()):
            most = min(4 * most, size)
            ranked = chances.topk(most).values
        return ranked


WHOLE = Truncation()
