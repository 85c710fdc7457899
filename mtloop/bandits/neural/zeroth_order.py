"""Zeroth order: shake the weights, see whether that earned more, and go that way (Sokolov et al., 2015).

One point an update: with u a standard Gaussian vector, (R(w + s u) - b) u / s is on average the gradient of what
weights shaken by s u earn, whatever happens between weights and reward. Its variance grows with the number of weights,
so only a small scope is shaken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from mtloop.bandits.neural.baselines import Baseline, Heard, RunningMean
from mtloop.bandits.neural.expected_loss import pointed
from mtloop.bandits.neural.explorers import RewardedProposal, Tried
from mtloop.core.errors import InputError
from mtloop.nmt.engine.lesson import Lesson
from mtloop.nmt.engine.marian import Encoded, Marian
from mtloop.nmt.engine.search import LengthLimits, greedy
from mtloop.nmt.scopes.scope import Scope


@dataclass
class ZerothOrder:
    """Translates with the scope's parameters moved by `spread` times u; the seed of u is that of the draw.

    As the temperature falls, so does the spread.
    """

    baseline: Baseline = field(default_factory=RunningMean)
    spread: float = 0.1

    def __post_init__(self) -> None:
        if not 0 < self.spread < float("inf"):
            raise InputError(f"spread = {self.spread:g}; expected how far weights are shaken, above 0")

    def tries(self, scope: Scope, source: Encoded, limits: LengthLimits, seed: int, temperature: float) -> Tried:
        spread = self.spread * temperature
        shaken, bias = self._shaken(scope, seed, spread)
        again = source if shaken is scope.model else list(source.ids)
        return Tried(greedy(shaken, again, limits, bias, scored=False).ids, None, {"spread": spread})

    def lesson(self, scope: Scope, limits: LengthLimits, rewarded: RewardedProposal) -> tuple[Lesson, Tensor]:
        heard = Heard(rewarded.reward, rewarded.mean, rewarded.read())
        weight = self.baseline.weigh(heard)
        along = -float(weight) / rewarded.number("spread")
        tensors, bias = directions(scope, rewarded.draw)
        wishes = {name: along * direction for name, direction in tensors.items()}
        return pointed(scope.model, wishes, None if bias is None else along * bias), weight

    def hear(self, rewarded: RewardedProposal) -> None:
        """The weights are all that remembers."""

    @torch.no_grad()
    def _shaken(self, scope: Scope, seed: int, spread: float) -> tuple[Marian, Tensor | None]:
        model = scope.model
        tensors, bias = directions(scope, seed)
        if tensors:
            model = model.with_weights(model.weights.copy(tensors))
            for name, direction in tensors.items():
                model.weights[name].add_(direction, alpha=spread)
        return model, scope.extra_bias if bias is None else scope.extra_bias + spread * bias  # type: ignore[operator]

    def tensors(self) -> dict[str, Tensor]:
        return self.baseline.tensors()

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        self.baseline.restore(tensors)


def directions(scope: Scope, seed: int) -> tuple[dict[str, Tensor], Tensor | None]:
    """A standard Gaussian number for every parameter: of each tensor, and of a second output bias."""
    random = torch.Generator().manual_seed(seed)
    tensors = {name: torch.randn(scope.model.weights[name].shape, generator=random) for name in sorted(scope.names)}
    return tensors, None if scope.extra_bias is None else torch.randn(scope.extra_bias.shape, generator=random)
