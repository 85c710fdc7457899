"""A critic: predicts the reward before each token (Bahdanau et al., 2016; Nguyen et al., 2017).

V_t = v tanh(W x_t + c) + d, one small layer, is trained by Adam on the squared error to the observed reward. x_t holds
the features known before token t: the decoder state, the mean of the encoder states, and the model's confidence in the
next token and in those before. The advantage of token t is R - V_t.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from mtloop.bandits.neural.baselines import RewardObservation

BETAS, EPSILON = (0.9, 0.999), 1e-8
SCALAR_FEATURES = 5  # features beside the model's states


class Critic:
    """Predicts the difference from the running mean; it starts at 0 everywhere, because `v` is zero."""

    def __init__(
        self, model_width: int, critic_width: int = 64, critic_learning_rate: float = 3e-4, seed: int = 1
    ) -> None:
        random = torch.Generator().manual_seed(seed)
        self.learning_rate, self.count_, inputs = critic_learning_rate, 0, 2 * model_width + SCALAR_FEATURES
        self.weights_ = {
            "inner": torch.randn(critic_width, inputs, generator=random) / inputs**0.5,
            "shift": torch.zeros(critic_width),
            "outer": torch.zeros(critic_width),
            "level": torch.zeros(()),
        }
        self.means_ = {name: torch.zeros_like(tensor) for name, tensor in self.weights_.items()}
        self.squares_ = {name: torch.zeros_like(tensor) for name, tensor in self.weights_.items()}

    def advantage(self, observation: RewardObservation) -> Tensor:
        above_mean = observation.reward - observation.mean
        expected, gradients = self.predict(critic_inputs(observation), above_mean)
        self._update(gradients)
        return (above_mean - expected).double()

    def predict(self, inputs: Tensor, above_mean: float) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the prediction at each position, and the gradients of the mean squared error."""
        weights = self.weights_
        hidden = torch.tanh(inputs @ weights["inner"].t() + weights["shift"])
        expected = hidden @ weights["outer"] + weights["level"]
        error = 2 * (expected - above_mean) / len(inputs)
        of_hidden = torch.outer(error, weights["outer"]) * (1 - hidden**2)
        gradients = {"inner": of_hidden.t() @ inputs, "shift": of_hidden.sum(0), "outer": error @ hidden}
        return expected, gradients | {"level": error.sum()}

    def _update(self, gradients: Mapping[str, Tensor]) -> None:
        self.count_ += 1
        first, second = (1 - beta**self.count_ for beta in BETAS)
        for name, gradient in gradients.items():
            self.means_[name] = torch.lerp(self.means_[name], gradient, 1 - BETAS[0])
            self.squares_[name] = torch.lerp(self.squares_[name], gradient**2, 1 - BETAS[1])
            step = self.means_[name] / first / ((self.squares_[name] / second).sqrt() + EPSILON)
            self.weights_[name] = self.weights_[name] - self.learning_rate * step

    def tensors(self) -> dict[str, Tensor]:
        kept = {"weight": self.weights_, "mean": self.means_, "square": self.squares_}
        found = {f"{kind}/{name}": tensor for kind, tensors in kept.items() for name, tensor in tensors.items()}
        return found | {"count": torch.tensor(self.count_)}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        self.count_ = int(tensors["count"])
        for kind, kept in (("weight", self.weights_), ("mean", self.means_), ("square", self.squares_)):
            for name in kept:
                kept[name] = tensors[f"{kind}/{name}"].clone()


def critic_inputs(observation: RewardObservation) -> Tensor:
    """Return the critic's features before each token; states are scaled down, or their noise would dominate."""
    assert observation.lesson is not None
    states, width = observation.lesson.states, observation.lesson.states.shape[1]
    entropy, confidence = entropy_and_confidence(observation)
    position = torch.arange(len(states))
    length = torch.full((len(states),), math.log(len(observation.source.ids)))
    mean_entropy = entropy.cumsum(0) / (position + 1)
    scalars = torch.stack([entropy, confidence, mean_entropy, length, (position / 20).clamp(max=1)], dim=1)
    return torch.cat([states / width**0.5, observation.source.states.mean(0).expand_as(states), scalars], dim=1)


def entropy_and_confidence(observation: RewardObservation) -> tuple[Tensor, Tensor]:
    """Return the entropy and the largest probability at each token, at temperature 1 and not that of the draw."""
    assert observation.lesson is not None
    lesson = observation.lesson
    probabilities = lesson.error * observation.temperature
    probabilities[torch.arange(len(lesson.target)), lesson.target] += 1.0
    logs = (probabilities.clamp_min(1e-37).log() * observation.temperature).log_softmax(-1)
    unscaled = logs.exp()
    return -(unscaled * logs).sum(-1), unscaled.amax(-1)
