"""Zeroth-order optimisation: perturb the weights, and follow the perturbation by its reward (Sokolov et al., 2015).

One point per update: with u a standard Gaussian vector, the expectation of (R(w + s u) - b) u / s is the gradient of
the expected reward under weights perturbed by s u; R need not be differentiable. The variance grows with the number of
weights, so only a small scope is perturbed.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from mtloop.bandits.neural.baselines import Baseline, RewardObservation, RunningMean
from mtloop.bandits.neural.expected_loss import lesson_from_gradients
from mtloop.bandits.neural.explorers import ExploredTranslation, RewardedProposal
from mtloop.core.ranges import check_above
from mtloop.nmt.engine.lesson import Lesson
from mtloop.nmt.engine.marian import Encoded, Marian
from mtloop.nmt.engine.search import LengthLimits, greedy
from mtloop.nmt.scopes.scope import Scope


@dataclass
class ZerothOrder:
    """Translates with u times `perturbation_scale` added to the scope's parameters; the seed of u is that of the draw.

    The temperature multiplies the scale, so annealing reduces both.
    """

    memo_names: ClassVar[Set[str]] = frozenset({"perturbation_scale"})
    baseline: Baseline = field(default_factory=RunningMean)
    perturbation_scale: float = 0.1

    def __post_init__(self) -> None:
        check_above(0, perturbation_scale=self.perturbation_scale)

    def explore(
        self, scope: Scope, source: Encoded, limits: LengthLimits, seed: int, temperature: float
    ) -> ExploredTranslation:
        scale = self.perturbation_scale * temperature
        model, bias = self._perturbed(scope, seed, scale)
        encoded = source if model is scope.model else list(source.ids)
        found = greedy(model, encoded, limits, bias, scored=False)
        return ExploredTranslation(found.ids, None, {"perturbation_scale": scale})

    def lesson(self, scope: Scope, limits: LengthLimits, rewarded: RewardedProposal) -> tuple[Lesson, Tensor]:
        observation = RewardObservation(rewarded.reward, rewarded.mean, rewarded.encode_source())
        weight = self.baseline.advantage(observation)
        factor = -float(weight) / rewarded.memo_number("perturbation_scale")
        tensors, bias = directions(scope, rewarded.draw_seed)
        gradients = {name: factor * direction for name, direction in tensors.items()}
        return lesson_from_gradients(scope.model, gradients, None if bias is None else factor * bias), weight

    def observe_reward(self, rewarded: RewardedProposal) -> None:
        """Do nothing: only the weights keep state."""

    @torch.no_grad()
    def _perturbed(self, scope: Scope, seed: int, scale: float) -> tuple[Marian, Tensor | None]:
        model = scope.model
        tensors, bias = directions(scope, seed)
        if tensors:
            model = model.with_weights(model.weights.copy(tensors))
            for name, direction in tensors.items():
                model.weights[name].add_(direction, alpha=scale)
        return model, scope.extra_bias if bias is None else scope.extra_bias + scale * bias  # type: ignore[operator]

    def tensors(self) -> dict[str, Tensor]:
        return self.baseline.tensors()

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        self.baseline.restore(tensors)


def directions(scope: Scope, seed: int) -> tuple[dict[str, Tensor], Tensor | None]:
    """Return a standard Gaussian number for every parameter of the scope's tensors, and of its extra output bias."""
    random = torch.Generator().manual_seed(seed)
    tensors = {name: torch.randn(scope.model.weights[name].shape, generator=random) for name in sorted(scope.names)}
    return tensors, None if scope.extra_bias is None else torch.randn(scope.extra_bias.shape, generator=random)
