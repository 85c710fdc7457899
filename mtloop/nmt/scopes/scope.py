"""Which parameters of a model move when it learns, and how far.

    Frozen      none                                           baseline
    OutputBias  a second bias on the output                    bias
    Dense       whole tensors: all, the top layers, a list     full, top, fixed
    (Lasso)     few offsets, chosen as it learns               in lasso.py

Every scope works on a shared base model and owns only what it changes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from torch import Tensor

from mtloop.nmt.engine.lesson import Lesson
from mtloop.nmt.engine.marian import Marian

Clip = Literal["clip", "scale", "none"]
NOISE = 1e-6  # a gradient this small is rounding (a key's bias cannot matter) and is not blown up to norm 1


class NotFinite(ArithmeticError):
    """A gradient that is no number; nothing was changed."""


class Scope(Protocol):
    """The part of a model that learns."""

    @property
    def model(self) -> Marian: ...

    @property
    def names(self) -> frozenset[str]: ...

    @property
    def extra_bias(self) -> Tensor | None: ...

    def update(self, lesson: Lesson) -> None:
        """One step down the gradient; raises NotFinite, having changed nothing, when there is none."""

    def settle(self) -> None:
        """Keep the updates since the last call."""

    def rollback(self) -> None:
        """Be again, exactly, what it was before them."""

    def tensors(self) -> dict[str, Tensor]:
        """What has changed, as new values: the delta."""

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Become what `tensors` says."""


def base_of(scope: Scope) -> Marian:
    """The shared model under what a scope has learned."""
    base: Marian = getattr(scope, "base", scope.model)
    return base


def step_size(norm: float, rate: float, clip: Clip) -> float:
    """The rate for a gradient of this norm: clipped to norm 1 where above it, always scaled to it, or left as it is.

    >>> step_size(4.0, 0.1, "clip"), step_size(0.5, 0.1, "clip"), step_size(0.5, 0.1, "scale")
    (0.025, 0.1, 0.2)
    """
    if not math.isfinite(norm):
        raise NotFinite("the gradient is not finite")
    if clip == "none":
        return rate
    return rate / norm if norm > 1 or (clip == "scale" and norm > NOISE) else rate


@dataclass
class Frozen:
    """Nothing moves."""

    model: Marian
    names: frozenset[str] = frozenset()
    extra_bias: Tensor | None = None

    def update(self, lesson: Lesson) -> None:
        """Stays as it is."""

    def settle(self) -> None:
        """Nothing to keep."""

    def rollback(self) -> None:
        """Nothing to take back."""

    def tensors(self) -> dict[str, Tensor]:
        return {}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Nothing to become."""
