"""One pair of source and target: how surprised the model is, and which way to move.

The forward pass that measures the perplexity is the one the backward pass starts from; nothing is computed twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import threshold

from mtloop.translators.marian.model import Encoded, Marian
from mtloop.translators.marian.tape import Gradient, Tape
from mtloop.translators.marian.weights import OUTPUT

NOTHING = 1e-30  # a probability this small moves no weight, but its products are denormal, and those are slow


@dataclass
class Lesson:
    """The model's view of a pair: mean negative log-probability, and what is needed to take its gradient."""

    loss: float
    states: Tensor
    error: Tensor
    _back: Callable[[Tensor, Tape], None]
    _scope: frozenset[str]
    _model: Marian

    @property
    def perplexity(self) -> float:
        return math.exp(min(self.loss, 700.0))

    @torch.no_grad()
    def gradients(self) -> dict[str, Gradient]:
        """The gradient of every tensor in the scope."""
        tape, output = Tape(self._scope), self._model.weights.table(OUTPUT)
        if output in self._scope:
            tape.of(output).products.append((self.error, self.states))
        if self._scope - {output}:
            self._back(self._model.logits_gradient(self.error), tape)
        return tape.gradients


@torch.no_grad()
def study(
    model: Marian,
    source: list[int] | Encoded,
    target: list[int],
    scope: frozenset[str],
    extra_bias: Tensor | None = None,
) -> Lesson:
    """Run the pair through the model; `error` is the gradient of the loss by the logits: (p - truth) / length."""
    states, back = model.decode(source if isinstance(source, Encoded) else model.encode(source), target)
    log_probabilities = model.logits(states, extra_bias).log_softmax(-1)
    wanted = torch.arange(len(target)), torch.tensor(target)
    loss = -float(log_probabilities[wanted].mean())
    error = threshold(log_probabilities.exp_(), NOTHING, 0.0, inplace=True)
    error[wanted] -= 1.0
    error /= len(target)
    return Lesson(loss, states, error, back, scope, model)


@torch.no_grad()
def log_probability(model: Marian, source: list[int], target: list[int], extra_bias: Tensor | None = None) -> float:
    """The log-probability of a whole target."""
    return -study(model, source, target, frozenset(), extra_bias).loss * len(target)
