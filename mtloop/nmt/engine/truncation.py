"""Top-k and top-p truncation: samples from the long tail are bad translations and teach little."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor

from mtloop.core.errors import InputError

INITIAL_TOP_K = 64  # tokens to rank at first for top-p; more only if they hold too little probability


@dataclass(frozen=True)
class Truncation:
    """Keep the `top_k` most probable tokens (0: all), and of those the fewest that hold `top_p` of the probability.

    >>> import torch
    >>> logits = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log()
    >>> Truncation(top_p=0.7)(logits).softmax(-1).tolist()[0][2:], Truncation(top_k=3)(logits).isinf().tolist()
    ([0.0, 0.0], [[False, False, False, True]])
    """

    top_k: int = 0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        if self.top_k < 0:
            raise InputError(f"top_k is {self.top_k}; expected a number of tokens, or 0 for no limit")
        if not 0 < self.top_p <= 1:
            raise InputError(f"top_p is {self.top_p:g}; expected a probability above 0 and at most 1")

    def __call__(self, logits: Tensor, drawn: Tensor | None = None) -> Tensor:
        """Set the logits of all other tokens to minus infinity; rows are positions.

        The token `drawn` at a position is always kept, even if the present model would exclude it.
        """
        if not self.top_k and self.top_p == 1:
            return logits
        probabilities = logits.softmax(-1)
        outside = probabilities < self._min_probability(probabilities)
        if drawn is not None:
            outside.scatter_(-1, drawn[:, None], value=False)
        return logits.masked_fill(outside, -math.inf)

    def _min_probability(self, probabilities: Tensor) -> Tensor:
        """Return the probability of the least probable token that is kept, by position."""
        ranked = self._ranked(probabilities)
        before = ranked.cumsum(-1) - ranked
        inside = (before < self.top_p).sum(-1, keepdim=True)
        return ranked.gather(-1, inside - 1)

    def _ranked(self, probabilities: Tensor) -> Tensor:
        """Return the largest probabilities, sorted, as many as needed: to sort a whole vocabulary costs as much as
        the decoder."""
        size = probabilities.shape[-1]
        count = min(self.top_k or INITIAL_TOP_K, size)
        ranked = probabilities.topk(count).values
        while not self.top_k and count < size and bool((ranked.sum(-1) < self.top_p).any()):
            count = min(4 * count, size)
            ranked = probabilities.topk(count).values
        return ranked


NO_TRUNCATION = Truncation()
