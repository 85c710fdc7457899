"""Only a second bias on the output layer learns."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from mtloop.nmt.engine.gradients import Gradient
from mtloop.nmt.engine.lesson import Lesson
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.weights import LOGITS_BIAS
from mtloop.nmt.scopes.scope import Clip, step_size


class OutputBias:
    """A second bias on the output layer, one number a word (Michel and Neubig, 2018)."""

    names: frozenset[str] = frozenset()

    def __init__(self, model: Marian, rate: float = 1.0, clip: Clip = "clip") -> None:
        self.model, self.rate, self.clip = model, rate, clip
        self.extra_bias = self._kept = torch.zeros(len(model.weights[LOGITS_BIAS]))

    def update(self, lesson: Lesson) -> None:
        gradient = lesson.error.sum(0)
        self.extra_bias = self.extra_bias - gradient * step_size(
            float(gradient.norm()), self.rate * lesson.pace, self.clip
        )

    def wishes(self, lesson: Lesson) -> dict[str, Gradient]:
        return {"bias": Gradient(dense=lesson.error.sum(0))}

    def move(self, steps: Mapping[str, Gradient]) -> None:
        step = steps["bias"].dense
        assert step is not None
        self.extra_bias = self._kept = self.extra_bias - step

    def settle(self) -> None:
        self._kept = self.extra_bias

    def rollback(self) -> None:
        self.extra_bias = self._kept

    def tensors(self) -> dict[str, Tensor]:
        return {"bias": self.extra_bias}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        self.extra_bias = self._kept = tensors["bias"].clone()
