"""A critic: what a translation will earn, guessed before each of its tokens (Bahdanau, 2016; Nguyen, 2017, and others).

V_t = v tanh(W x_t + c) + d, one small layer, learns by Adam from the squared distance to the reward that came. x_t is
what is known before token t: the decoder's state, the mean of the encoder's, and how sure the model is of the next
token and was of those before. The actor's token t then weighs R - V_t.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from mtloop.bandits.neural.baselines import Heard

BETAS, TINY = (0.9, 0.999), 1e-8
PLAIN = 5  # numbers a critic reads beside the model's states


class Critic:
    """Begins by expecting the running mean everywhere: `v` is zero, and what it learns is what to add to that."""

    def __init__(self, width: int, hidden: int = 64, rate: float = 3e-4, seed: int = 1) -> None:
        """`width` is the model's."""
        random = torch.Generator().manual_seed(seed)
        self.rate, self.count_, inputs = rate, 0, 2 * width + PLAIN
        self.weights_ = {
            "inner": torch.randn(hidden, inputs, generator=random) / inputs**0.5,
            "shift": torch.zeros(hidden),
            "outer": torch.zeros(hidden),
            "level": torch.zeros(()),
        }
        self.means_ = {name: torch.zeros_like(tensor) for name, tensor in self.weights_.items()}
        self.squares_ = {name: torch.zeros_like(tensor) for name, tensor in self.weights_.items()}

    def weigh(self, heard: Heard) -> Tensor:
        above = heard.reward - heard.mean
        expected, gradients = self.study(known(heard), above)
        self._move(gradients)
        return (above - expected).double()

    def study(self, inputs: Tensor, above: float) -> tuple[Tensor, dict[str, Tensor]]:
        """What is expected at each place, and the gradient of the mean squared error."""
        weights = self.weights_
        inner = torch.tanh(inputs @ weights["inner"].t() + weights["shift"])
        expected = inner @ weights["outer"] + weights["level"]
        error = 2 * (expected - above) / len(inputs)
        of_inner = torch.outer(error, weights["outer"]) * (1 - inner**2)
        gradients = {"inner": of_inner.t() @ inputs, "shift": of_inner.sum(0), "outer": error @ inner}
        return expected, gradients | {"level": error.sum()}

    def _move(self, gradients: Mapping[str, Tensor]) -> None:
        self.count_ += 1
        first, second = (1 - beta**self.count_ for beta in BETAS)
        for name, gradient in gradients.items():
            self.means_[name] = torch.lerp(self.means_[name], gradient, 1 - BETAS[0])
            self.squares_[name] = torch.lerp(self.squares_[name], gradient**2, 1 - BETAS[1])
            step = self.means_[name] / first / ((self.squares_[name] / second).sqrt() + TINY)
            self.weights_[name] = self.weights_[name] - self.rate * step

    def tensors(self) -> dict[str, Tensor]:
        kept = {"weight": self.weights_, "mean": self.means_, "square": self.squares_}
        found = {f"{kind}/{name}": tensor for kind, tensors in kept.items() for name, tensor in tensors.items()}
        return found | {"count": torch.tensor(self.count_)}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        self.count_ = int(tensors["count"])
        for kind, kept in (("weight", self.weights_), ("mean", self.means_), ("square", self.squares_)):
            for name in kept:
                kept[name] = tensors[f"{kind}/{name}"].clone()


def known(heard: Heard) -> Tensor:
    """What a critic reads before each token; the states are scaled down, or their noise would drown the rest."""
    assert heard.lesson is not None
    states, width = heard.lesson.states, heard.lesson.states.shape[1]
    entropy, top = doubts(heard)
    place = torch.arange(len(states))
    length = torch.full((len(states),), math.log(len(heard.source.ids)))
    plain = torch.stack([entropy, top, entropy.cumsum(0) / (place + 1), length, (place / 20).clamp(max=1)], dim=1)
    return torch.cat([states / width**0.5, heard.source.states.mean(0).expand_as(states), plain], dim=1)


def doubts(heard: Heard) -> tuple[Tensor, Tensor]:
    """The entropy of each token's odds and the largest of them, at temperature 1 whatever the draw's was."""
    assert heard.lesson is not None
    lesson = heard.lesson
    chances = lesson.error * heard.temperature
    chances[torch.arange(len(lesson.target)), lesson.target] += 1.0
    logs = (chances.clamp_min(1e-37).log() * heard.temperature).log_softmax(-1)
    odds = logs.exp()
    return -(odds * logs).sum(-1), odds.amax(-1)
