"""Only an extra output bias learns."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from mtloop.nmt.engine.gradients import Gradient
from mtloop.nmt.engine.lesson import Lesson
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.weights import LOGITS_BIAS
from mtloop.nmt.scopes.scope import GradientClipping, step_size


class OutputBias:
    """An extra output bias, one number per token of the vocabulary (Michel and Neubig, 2018)."""

    names: frozenset[str] = frozenset()

    def __init__(self, model: Marian, learning_rate: float = 1.0, gradient_clipping: GradientClipping = "clip") -> None:
        self.model, self.learning_rate, self.gradient_clipping = model, learning_rate, gradient_clipping
        self.extra_bias = self._committed = torch.zeros(len(model.weights[LOGITS_BIAS]))

    def update(self, lesson: Lesson) -> None:
        gradient = lesson.error.sum(0)
        self.extra_bias = self.extra_bias - gradient * step_size(
            float(gradient.norm()), self.learning_rate * lesson.learning_rate_scale, self.gradient_clipping
        )

    def gradients(self, lesson: Lesson) -> dict[str, Gradient]:
        return {"bias": Gradient(dense=lesson.error.sum(0))}

    def apply_steps(self, steps: Mapping[str, Gradient]) -> None:
        step = steps["bias"].dense
        assert step is not None
        self.extra_bias = self._committed = self.extra_bias - step

    def commit(self) -> None:
        self._committed = self.extra_bias

    def rollback(self) -> None:
        self.extra_bias = self._committed

    def tensors(self) -> dict[str, Tensor]:
        return {"bias": self.extra_bias}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        self.extra_bias = self._committed = tensors["bias"].clone()
