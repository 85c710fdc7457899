"""One pair of source and target: how surprised the model is, and which way to move.

The forward pass that measures the perplexity is the one the backward pass starts from; nothing is computed twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.functional import threshold

from mtloop.nmt.engine.gradients import Gradient, Tape
from mtloop.nmt.engine.marian import Decoded, Encoded, Marian
from mtloop.nmt.engine.weights import OUTPUT

NOTHING = 1e-30  # a probability this small moves no weight, but its products are denormal, and those are slow


@dataclass
class Lesson:
    """The model's view of a pair: mean negative log-probability, and what is needed to take its gradient."""

    loss: float
    target: Tensor
    decoded: Decoded
    error: Tensor
    _scope: frozenset[str]
    _model: Marian
    pace: float = 1.0
    """By how much of its rate a scope should move."""

    @property
    def probabilities(self) -> Tensor:
        """What the model thinks of every token at every position."""
        probabilities = self.error * len(self.target)
        probabilities[torch.arange(len(self.target)), self.target] += 1.0
        return probabilities

    @property
    def states(self) -> Tensor:
        return self.decoded.states

    @property
    def perplexity(self) -> float:
        return math.exp(min(self.loss, 700.0))

    def towards(self, anchor: Tensor, share: float) -> Lesson:
        """The same lesson with some of its wish given to another distribution: a KL term to whoever holds that."""
        wish = -anchor
        wish[torch.arange(len(self.target)), self.target] += 1.0  # truth - anchor
        return replace(self, error=self.error + wish * (share / len(self.target)))

    @torch.no_grad()
    def gradients(self) -> dict[str, Gradient]:
        """The gradient of every tensor in the scope."""
        tape, output = Tape(self._scope), self._model.weights.table(OUTPUT)
        if output in self._scope:
            tape.of(output).products.append((self.error, self.states))
        if self._scope - {output}:
            self.decoded.back(self._model.logits_gradient(self.error), tape)
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
    decoded = model.decode(source if isinstance(source, Encoded) else model.encode(source), target)
    log_probabilities = model.logits(decoded.states, extra_bias).log_softmax(-1)
    wanted = torch.arange(len(target)), torch.tensor(target)
    loss = -float(log_probabilities[wanted].mean())
    error = threshold(log_probabilities.exp_(), NOTHING, 0.0, inplace=True)
    error[wanted] -= 1.0
    error /= len(target)
    return Lesson(loss, wanted[1], decoded, error, scope, model)


@torch.no_grad()
def log_probability(model: Marian, source: list[int], target: list[int], extra_bias: Tensor | None = None) -> float:
    """The log-probability of a whole target."""
    return -study(model, source, target, frozenset(), extra_bias).loss * len(target)
