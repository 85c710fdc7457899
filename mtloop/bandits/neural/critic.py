"""A critic: predicts the reward before each token (Bahdanau et al., 2016; Nguyen et al., 2017).

V_t = v tanh(W x_t + c) + d, one small layer, is trained by Adam on the squared error to the observed reward. x_t holds
the features known before token t: the decoder state, the mean of the encoder states, and the model's confidence in the
next token and in those before. The advantage of token t is R - V_t.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from mtloop.bandits.neural.baselines import RewardObservation
from mtloop.core.errors import InputError

SCALAR_FEATURES = 5  # features beside the model's states
NETWORK, ADAM = "critic/", "critic-adam/"  # prefixes of the critic's tensors in a delta


class Critic:
    """Predicts the difference from the running mean; it starts at 0 everywhere, because `v` is zero."""

    def __init__(
        self, model_width: int, critic_width: int = 64, critic_learning_rate: float = 3e-4, seed: int = 1
    ) -> None:
        self.network_ = critic_network(2 * model_width + SCALAR_FEATURES, critic_width, seed)
        self.optimiser_ = torch.optim.Adam(self.network_.parameters(), lr=critic_learning_rate)

    @torch.enable_grad()
    def advantage(self, observation: RewardObservation) -> Tensor:
        above_mean = observation.reward - observation.mean
        error: Tensor = above_mean - self.network_(critic_inputs(observation)).squeeze(1)
        self.optimiser_.zero_grad()
        torch.autograd.backward(error.square().mean())
        self.optimiser_.step()
        return error.detach().double()

    def tensors(self) -> dict[str, Tensor]:
        """Return copies of the weights and of Adam's state, which is empty before the first reward."""
        found = {f"{NETWORK}{name}": parameter.detach() for name, parameter in self.network_.named_parameters()}
        for name, parameter in self.network_.named_parameters():
            state = self.optimiser_.state.get(parameter, {})
            found |= {f"{ADAM}{kind}/{name}": tensor for kind, tensor in state.items()}
        return {name: tensor.clone() for name, tensor in found.items()}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore the weights and Adam's state; raise InputError if the network has another layout."""
        saved = {name: tensor.clone() for name, tensor in tensors.items()}
        weights = {name.removeprefix(NETWORK): saved[name] for name in saved if name.startswith(NETWORK)}
        if tensor_shapes(weights) != tensor_shapes(self.network_.state_dict()):
            raise InputError(
                "this delta has no critic with this layout (other settings, or an older mtloop); start a new run"
            )
        self.optimiser_.load_state_dict(self.optimiser_.state_dict() | {"state": self._adam_state(saved)})
        self.network_.load_state_dict(weights)

    def _adam_state(self, saved: Mapping[str, Tensor]) -> dict[int, dict[str, Tensor]]:
        """Return Adam's state by the position of each parameter, as torch numbers them."""
        kinds = ("step", "exp_avg", "exp_avg_sq") if any(name.startswith(ADAM) for name in saved) else ()
        names = [name for name, _ in self.network_.named_parameters()]
        return {index: {kind: saved[f"{ADAM}{kind}/{name}"] for kind in kinds} for index, name in enumerate(names)}


def critic_network(inputs: int, width: int, seed: int) -> nn.Sequential:
    """Return the network; its first weights depend only on the seed, and torch's own generator is not used."""
    hidden, value = nn.Linear(inputs, width, device="meta"), nn.Linear(width, 1, device="meta")
    network = nn.Sequential(OrderedDict(hidden=hidden, tanh=nn.Tanh(), value=value)).to_empty(device="cpu")
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
        hidden.weight.copy_(torch.randn(width, inputs, generator=torch.Generator().manual_seed(seed)) / inputs**0.5)
    return network


def tensor_shapes(tensors: Mapping[str, Tensor]) -> dict[str, torch.Size]:
    return {name: tensor.shape for name, tensor in tensors.items()}


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
