"""A moving average of the learned weights: updates change one set of weights, and translation uses their average."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from mtloop.core.errors import InputError
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.weights import EMBEDDINGS
from mtloop.nmt.scopes.scope import Scope, base_of

BIAS = "average/bias"


class WeightAverage:
    """The moving average of a scope: after each lesson, average += weight * (newest - average).

    The step of one lesson is noisy; the average keeps the direction that many lessons have in common. It costs a
    second copy of every tensor that learns.
    """

    def __init__(self, scope: Scope, weight: float) -> None:
        self.scope, self.weight = scope, weight
        self.model, self.extra_bias = self._copy_of(base_of(scope)), scope.extra_bias

    def _copy_of(self, base: Marian) -> Marian:
        return base.with_weights(base.weights.copy(self.scope.names).with_rows({}))

    @torch.no_grad()
    def update(self) -> None:
        average, newest = self.model.weights, self.scope.model.weights
        for name in self.scope.names:
            if name not in EMBEDDINGS or average.canonical_name(name) == name:  # tied tables are one tensor
                value = newest[name] if name not in newest.rows else newest.rows[name].added_to(newest[name])
                average[name].lerp_(value, self.weight)
        if self.scope.extra_bias is not None:
            before = torch.zeros_like(self.scope.extra_bias) if self.extra_bias is None else self.extra_bias
            self.extra_bias = before.lerp(self.scope.extra_bias, self.weight)

    def tensors(self) -> dict[str, Tensor]:
        found = {f"average/{name}": self.model.weights[name] for name in sorted(self.scope.names)}
        return found if self.extra_bias is None else found | {BIAS: self.extra_bias}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        if missing := [name for name in self.scope.names if f"average/{name}" not in tensors]:
            raise InputError(
                f"this delta holds no average of {missing[0]!r}; it was learned without the setting weight_average"
            )
        for name in self.scope.names:
            self.model.weights[name].copy_(tensors[f"average/{name}"])
        self.extra_bias = tensors[BIAS].clone() if BIAS in tensors else None
