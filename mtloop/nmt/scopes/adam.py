"""Adam (Kingma and Ba, 2014) for a scope: every parameter has a step size of its own.

The step needs the gradient written out and two more numbers a parameter, so it costs memory and, where every tensor
learns, time. Word vectors of an input are moved only where their words came up, as are their two numbers.
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
from mtloop.nmt.scopes.scope import NotFinite, Scope, base_of

OWN = "adam/"


@runtime_checkable
class Movable(Scope, Protocol):
    """A scope that says what its parameters would like, and moves them as it is told."""

    rate: float

    def wishes(self, lesson: Lesson) -> dict[str, Gradient]:
        """The gradient of each of its parameters."""

    def move(self, steps: Mapping[str, Gradient]) -> None:
        """Subtract a step from each."""


@dataclass
class AdamScope:
    """A scope whose steps are Adam's. They wait until the lesson settles, so a lesson is one update here."""

    scope: Movable
    first: float = 0.9
    second: float = 0.999
    tiny: float = 1e-8
    count_: int = 0
    means_: dict[str, Tensor] = field(default_factory=dict)
    squares_: dict[str, Tensor] = field(default_factory=dict)
    _waiting: list[tuple[dict[str, Gradient], float]] = field(default_factory=list)

    @property
    def model(self) -> Marian:
        return self.scope.model

    @property
    def base(self) -> Marian:
        """The shared model under what was learned."""
        return base_of(self.scope)

    @property
    def names(self) -> frozenset[str]:
        return self.scope.names

    @property
    def extra_bias(self) -> Tensor | None:
        return self.scope.extra_bias

    @torch.no_grad()
    def update(self, lesson: Lesson) -> None:
        wishes = self.scope.wishes(lesson)
        if not torch.tensor([wish.norm() for wish in wishes.values()]).isfinite().all():
            raise NotFinite("the gradient is not finite")
        self._waiting.append((wishes, self.scope.rate * lesson.pace))

    @torch.no_grad()
    def settle(self) -> None:
        for wishes, rate in self._waiting:
            self.count_ += 1
            self.scope.move({name: self._step(name, wish, rate) for name, wish in wishes.items()})
        self._waiting.clear()

    def rollback(self) -> None:
        self._waiting.clear()

    def _step(self, name: str, wish: Gradient, rate: float) -> Gradient:
        if wish.rows and not wish.products:
            return Gradient(rows=[self._rows(name, ids, values, rate) for ids, values in wish.rows])
        gradient = self._written(name, wish)
        mean, square = self._moments(name, gradient)
        return Gradient(dense=self._along(mean, square, gradient, rate))

    def _rows(self, name: str, ids: Tensor, values: Tensor, rate: float) -> tuple[Tensor, Tensor]:
        """Steps of some rows of a table; `ids` are distinct once a norm was taken."""
        mean, square = self._moments(name, self.model.weights[name])
        parts = mean[ids], square[ids]
        step = self._along(*parts, values, rate)
        mean[ids], square[ids] = parts
        return ids, step

    def _along(self, mean: Tensor, square: Tensor, gradient: Tensor, rate: float) -> Tensor:
        """Take a gradient into account, in place, and say how far to go."""
        mean.lerp_(gradient, 1 - self.first)
        square.mul_(self.second).addcmul_(gradient, gradient, value=1 - self.second)
        spread = square.div(1 - self.second**self.count_).sqrt_().add_(self.tiny)
        return torch.div(mean, spread, out=spread).mul_(rate / (1 - self.first**self.count_))

    def _moments(self, name: str, like: Tensor) -> tuple[Tensor, Tensor]:
        for kept in (self.means_, self.squares_):
            if name not in kept:
                kept[name] = torch.zeros_like(like)
        return self.means_[name], self.squares_[name]

    def _written(self, name: str, wish: Gradient) -> Tensor:
        """The gradient in full, in memory as the tensor is: else every step would read one of them crosswise."""
        if wish.dense is not None:
            return wish.dense
        ((error, inputs),) = wish.products
        tensor = self.model.weights[name]
        whole = (inputs.t() @ error).t() if tensor.stride(0) < tensor.stride(1) else error.t() @ inputs
        for ids, values in wish.rows:
            whole.index_add_(0, ids, values)
        return whole

    def _laid_out(self, name: str, saved: Tensor) -> Tensor:
        weights = self.model.weights
        return torch.empty_like(weights[name]).copy_(saved) if name in weights else saved.clone()

    def tensors(self) -> dict[str, Tensor]:
        kept = {"mean": self.means_, "square": self.squares_}
        moments = {f"{OWN}{kind}/{name}": tensor for kind, found in kept.items() for name, tensor in found.items()}
        return self.scope.tensors() | moments | {f"{OWN}count": torch.tensor(self.count_)}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        self.scope.restore({name: tensor for name, tensor in tensors.items() if not name.startswith(OWN)})
        self.count_ = int(tensors[f"{OWN}count"])
        self.means_, self.squares_ = (self._taken(tensors, f"{OWN}{kind}/") for kind in ("mean", "square"))
        self._waiting.clear()

    def _taken(self, tensors: Mapping[str, Tensor], start: str) -> dict[str, Tensor]:
        names = [name.removeprefix(start) for name in tensors if name.startswith(start)]
        return {name: self._laid_out(name, tensors[start + name]) for name in names}
