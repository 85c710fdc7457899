"""Scopes: which parameters of a model learn, and with which step size.

    Frozen      none                                           baseline
    OutputBias  an extra output bias                           bias
    Dense       whole tensors: all, the top layers, a list     full, top, fixed
    Lasso       few offsets, selected while learning           lasso
    Lora        low-rank offsets of all matrices               lora

Every scope works on a shared base model and stores only the parameters that it changes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from torch import Tensor

from mtloop.nmt.engine.lesson import Lesson
from mtloop.nmt.engine.marian import Marian

GradientClipping = Literal["clip", "scale", "none"]
MIN_NORM = 1e-6  # a smaller gradient is rounding error (a key's bias has no effect) and is not scaled up to norm 1


class NotFinite(ArithmeticError):
    """Raised if a gradient is NaN or infinite; nothing was changed."""


class Scope(Protocol):
    """The parameters of a model that learn."""

    @property
    def model(self) -> Marian: ...

    @property
    def names(self) -> frozenset[str]: ...

    @property
    def extra_bias(self) -> Tensor | None: ...

    def update(self, lesson: Lesson) -> None:
        """Take one gradient step. Raise NotFinite, without any change, if the gradient is NaN or infinite."""

    def commit(self) -> None:
        """Keep the updates since the last commit."""

    def rollback(self) -> None:
        """Undo the updates since the last commit exactly."""

    def tensors(self) -> dict[str, Tensor]:
        """Return the learned parameters, for a delta."""

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Replace the learned parameters by those of a delta."""


def base_of(scope: Scope) -> Marian:
    """Return the shared base model of a scope."""
    base: Marian = getattr(scope, "base", scope.model)
    return base


def step_size(norm: float, learning_rate: float, clipping: GradientClipping) -> float:
    """Return the factor for a gradient of this norm.

    "clip" scales gradients above norm 1 down to norm 1, "scale" scales all to norm 1, "none" changes none.

    >>> step_size(4.0, 0.1, "clip"), step_size(0.5, 0.1, "clip"), step_size(0.5, 0.1, "scale")
    (0.025, 0.1, 0.2)
    """
    if not math.isfinite(norm):
        raise NotFinite("the gradient is not finite")
    if clipping == "none":
        return learning_rate
    return learning_rate / norm if norm > 1 or (clipping == "scale" and norm > MIN_NORM) else learning_rate


@dataclass
class Frozen:
    """No parameter learns."""

    model: Marian
    names: frozenset[str] = frozenset()
    extra_bias: Tensor | None = None

    def update(self, lesson: Lesson) -> None:
        """Do nothing."""

    def commit(self) -> None:
        """Do nothing."""

    def rollback(self) -> None:
        """Do nothing."""

    def tensors(self) -> dict[str, Tensor]:
        return {}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Do nothing."""
