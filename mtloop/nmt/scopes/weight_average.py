"""The average of what a model was lately: it learns with one set of weights and speaks with their moving average."""

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
    """Follows a scope: after each lesson, `share` of the way to where it is.

    One lesson's step is noisy, the drift of many is what the text has in common. Costs a second copy of every tensor
    that learns.
    """

    def __init__(self, scope: Scope, share: float) -> None:
        self.scope, self.share = scope, share
        self.model, self.extra_bias = self._from(base_of(scope)), scope.extra_bias

    def _from(self, base: Marian) -> Marian:
        return base.with_weights(base.weights.copy(self.scope.names).with_rows({}))

    @torch.no_grad()
    def follow(self) -> None:
        weights, fast = self.model.weights, self.scope.model.weights
        for name in self.scope.names:
            if name not in EMBEDDINGS or weights.table(name) == name:  # tied tables are one
                now = fast[name] if name not in fast.rows else fast.rows[name].added(fast[name])
                weights[name].lerp_(now, self.share)
        if self.scope.extra_bias is not None:
            before = torch.zeros_like(self.scope.extra_bias) if self.extra_bias is None else self.extra_bias
            self.extra_bias = before.lerp(self.scope.extra_bias, self.share)

    def tensors(self) -> dict[str, Tensor]:
        found = {f"average/{name}": self.model.weights[name] for name in sorted(self.scope.names)}
        return found if self.extra_bias is None else found | {BIAS: self.extra_bias}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        if missing := [name for name in self.scope.names if f"average/{name}" not in tensors]:
            raise InputError(f"this delta holds no average of {missing[0]!r}; was it learned without `average`?")
        for name in self.scope.names:
            self.model.weights[name].copy_(tensors[f"average/{name}"])
        self.extra_bias = tensors[BIAS].clone() if BIAS in tensors else None
