"""A critic: what a translation will earn, guessed before each of its tokens (Bahdanau, 2016; Nguyen, 2017, and others).

The guess is made from the decoder's state there: V_t = v tanh(W s_t + c) + d, one small layer, which learns by Adam
from the squared distance to the reward that came. The actor's token t then weighs R - V_t.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from mtloop.bandits.baselines import Heard

BETAS, TINY = (0.9, 0.999), 1e-8


class Critic:
    """Begins by expecting the running mean everywhere: `v` is zero, and what it learns is what to add to that."""

    def __init__(self, width: int, hidden: int = 64, rate: float = 1e-3, seed: int = 1) -> None:
        random = torch.Generator().manual_seed(seed)
        self.rate, self.count_ = rate, 0
        self.weights_ = {
            "inner": torch.randn(hidden, width, generator=random) / width**0.5,
            "shift": torch.zeros(hidden),
            "outer": torch.zeros(hidden),
            "level": torch.zeros(()),
        }
        self.means_ = {name: torch.zeros_like(tensor) for name, tensor in self.weights_.items()}
        self.squares_ = {name: torch.zeros_like(tensor) for name, tensor in self.weights_.items()}

    def weigh(self, heard: Heard) -> Tensor:
        above = heard.reward - heard.mean
        expected, gradients = self.study(heard.states, above)
        self._move(gradients)
        return (above - expected).double()

    def study(self, states: Tensor, above: float) -> tuple[Tensor, dict[str, Tensor]]:
        """What is expected at each state, and the gradient of the mean squared error."""
        weights = self.weights_
        inner = torch.tanh(states @ weights["inner"].t() + weights["shift"])
        expected = inner @ weights["outer"] + weights["level"]
        error = 2 * (expected - above) / len(states)
        of_inner = torch.outer(error, weights["outer"]) * (1 - inner**2)
        gradients = {"inner": of_inner.t() @ states, "shift": of_inner.sum(0), "outer": error @ inner}
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
