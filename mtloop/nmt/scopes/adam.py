"""Adam (Kingma and Ba, 2014) for a scope: every parameter has its own step size.

Adam needs the full gradient and two moments per parameter. So it costs memory and, if every tensor learns, time.
Only those input embeddings and their moments are updated whose words occurred. It is written by hand, because
torch.optim.Adam takes whole gradients only: every step would move all rows of the embeddings, and take longer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from mtloop.nmt.engine.gradients import Gradient
from mtloop.nmt.engine.lesson import Lesson
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.weights import copy_with_layout
from mtloop.nmt.scopes.scope import NotFinite, Scope, base_of

TENSOR_PREFIX = "adam/"


@runtime_checkable
class GradientScope(Scope, Protocol):
    """A scope that leaves the step to an optimiser: it returns gradients and applies given steps."""

    learning_rate: float

    def gradients(self, lesson: Lesson) -> dict[str, Gradient]:
        """Return the gradient of each of its parameters."""

    def apply_steps(self, steps: Mapping[str, Gradient]) -> None:
        """Subtract a step from each of its parameters."""


@dataclass
class AdamScope:
    """A scope with Adam steps. They are applied at commit, so a lesson should make one update only."""

    scope: GradientScope
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    count_: int = 0
    means_: dict[str, Tensor] = field(default_factory=dict)
    squares_: dict[str, Tensor] = field(default_factory=dict)
    _pending: list[tuple[dict[str, Gradient], float]] = field(default_factory=list)

    @property
    def model(self) -> Marian:
        return self.scope.model

    @property
    def base(self) -> Marian:
        """The shared base model."""
        return base_of(self.scope)

    @property
    def names(self) -> frozenset[str]:
        return self.scope.names

    @property
    def extra_bias(self) -> Tensor | None:
        return self.scope.extra_bias

    @torch.no_grad()
    def update(self, lesson: Lesson) -> None:
        gradients = self.scope.gradients(lesson)
        if not torch.tensor([gradient.norm() for gradient in gradients.values()]).isfinite().all():
            raise NotFinite("the gradient is not finite")
        self._pending.append((gradients, self.scope.learning_rate * lesson.learning_rate_scale))

    @torch.no_grad()
    def commit(self) -> None:
        for gradients, learning_rate in self._pending:
            self.count_ += 1
            steps = {name: self._step(name, gradient, learning_rate) for name, gradient in gradients.items()}
            self.scope.apply_steps(steps)
        self._pending.clear()

    def rollback(self) -> None:
        self._pending.clear()

    def _step(self, name: str, gradient: Gradient, learning_rate: float) -> Gradient:
        if gradient.rows and not gradient.products:
            return Gradient(rows=[self._row_step(name, ids, values, learning_rate) for ids, values in gradient.rows])
        full = self._full_gradient(name, gradient)
        mean, square = self._moments(name, full)
        return Gradient(dense=self._adam_step(mean, square, full, learning_rate))

    def _row_step(self, name: str, ids: Tensor, values: Tensor, learning_rate: float) -> tuple[Tensor, Tensor]:
        """Return the step for some rows of a table; `ids` are distinct, because `norm` merged equal ones."""
        mean, square = self._moments(name, self.model.weights[name])
        moments = mean[ids], square[ids]
        step = self._adam_step(*moments, values, learning_rate)
        mean[ids], square[ids] = moments
        return ids, step

    def _adam_step(self, mean: Tensor, square: Tensor, gradient: Tensor, learning_rate: float) -> Tensor:
        """Update both moments in place, and return the step."""
        mean.lerp_(gradient, 1 - self.beta1)
        square.mul_(self.beta2).addcmul_(gradient, gradient, value=1 - self.beta2)
        deviation = square.div(1 - self.beta2**self.count_).sqrt_().add_(self.epsilon)
        return torch.div(mean, deviation, out=deviation).mul_(learning_rate / (1 - self.beta1**self.count_))

    def _moments(self, name: str, like: Tensor) -> tuple[Tensor, Tensor]:
        for moments in (self.means_, self.squares_):
            if name not in moments:
                moments[name] = torch.zeros_like(like)
        return self.means_[name], self.squares_[name]

    def _full_gradient(self, name: str, gradient: Gradient) -> Tensor:
        """Return the dense gradient in the tensor's memory layout; in another layout every step would be slower."""
        if gradient.dense is not None:
            return gradient.dense
        ((error, inputs),) = gradient.products
        tensor = self.model.weights[name]
        full = (inputs.t() @ error).t() if tensor.stride(0) < tensor.stride(1) else error.t() @ inputs
        for ids, values in gradient.rows:
            full.index_add_(0, ids, values)
        return full

    def _copy(self, name: str, saved: Tensor) -> Tensor:
        weights = self.model.weights
        return copy_with_layout(saved, weights[name]) if name in weights else saved.clone()

    def tensors(self) -> dict[str, Tensor]:
        kinds = {"mean": self.means_, "square": self.squares_}
        moments = {
            f"{TENSOR_PREFIX}{kind}/{name}": tensor for kind, found in kinds.items() for name, tensor in found.items()
        }
        return self.scope.tensors() | moments | {f"{TENSOR_PREFIX}count": torch.tensor(self.count_)}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        self.scope.restore({name: tensor for name, tensor in tensors.items() if not name.startswith(TENSOR_PREFIX)})
        self.count_ = int(tensors[f"{TENSOR_PREFIX}count"])
        self.means_, self.squares_ = (self._restored(tensors, f"{TENSOR_PREFIX}{kind}/") for kind in ("mean", "square"))
        self._pending.clear()

    def _restored(self, tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
        names = [name.removeprefix(prefix) for name in tensors if name.startswith(prefix)]
        return {name: self._copy(name, tensors[prefix + name]) for name in names}
