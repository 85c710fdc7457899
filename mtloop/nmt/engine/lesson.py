"""One pair of source and target: its loss under the model, and the gradient of that loss.

The forward pass that measures the perplexity is also the start of the backward pass; nothing is computed twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.functional import threshold

from mtloop.nmt.engine.gradients import Gradient, GradientCollector
from mtloop.nmt.engine.marian import Decoded, Encoded, Marian
from mtloop.nmt.engine.weights import OUTPUT

MIN_PROBABILITY = 1e-30  # smaller values are set to 0: they change no weight, but products with them are denormal: slow


@dataclass
class Lesson:
    """A pair after the forward pass: the mean negative log-probability, and the tensors for the backward pass.

    `error` is the gradient of the loss with respect to the logits: (length, vocabulary).
    """

    loss: float
    target: Tensor
    decoded: Decoded
    error: Tensor
    _scope: frozenset[str]
    _model: Marian
    learning_rate_scale: float = 1.0
    """The factor by which an update multiplies the learning rate of its scope."""

    @property
    def probabilities(self) -> Tensor:
        """The model's probability of every token at every position: (length, vocabulary)."""
        probabilities = self.error * len(self.target)
        probabilities[torch.arange(len(self.target)), self.target] += 1.0
        return probabilities

    @property
    def states(self) -> Tensor:
        return self.decoded.states

    @property
    def perplexity(self) -> float:
        return math.exp(min(self.loss, 700.0))

    def with_kl_term(self, base_probabilities: Tensor, kl_weight: float) -> Lesson:
        """Return the lesson for a target mixed as (1 - kl_weight) reference + kl_weight base: a KL term to the base."""
        difference = -base_probabilities
        difference[torch.arange(len(self.target)), self.target] += 1.0  # reference - base
        return replace(self, error=self.error + difference * (kl_weight / len(self.target)))

    @torch.no_grad()
    def gradients(self) -> dict[str, Gradient]:
        """Run the backward pass; return the gradient of every tensor in the scope."""
        collector, output = GradientCollector(self._scope), self._model.weights.canonical_name(OUTPUT)
        if output in self._scope:
            collector.get(output).products.append((self.error, self.states))
        if self._scope - {output}:
            self.decoded.backward(self._model.states_gradient(self.error), collector)
        return collector.gradients


@torch.no_grad()
def forward_pass(
    model: Marian,
    source: list[int] | Encoded,
    target: list[int],
    scope: frozenset[str],
    extra_bias: Tensor | None = None,
) -> Lesson:
    """Run a pair through the model. `error` is (p - one-hot target) / length."""
    decoded = model.decode(source if isinstance(source, Encoded) else model.encode(source), target)
    log_probabilities = model.read_logits(decoded.states, extra_bias).log_softmax(-1)
    targets = torch.arange(len(target)), torch.tensor(target)
    loss = -float(log_probabilities[targets].mean())
    error = threshold(log_probabilities.exp_(), MIN_PROBABILITY, 0.0, inplace=True)
    error[targets] -= 1.0
    error /= len(target)
    return Lesson(loss, targets[1], decoded, error, scope, model)


@torch.no_grad()
def log_probability(model: Marian, source: list[int], target: list[int], extra_bias: Tensor | None = None) -> float:
    """Return the log-probability of a whole target."""
    return -forward_pass(model, source, target, frozenset(), extra_bias).loss * len(target)
