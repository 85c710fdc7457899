"""What a reward is held against before it weighs anything: nothing, the mean, what such a source usually earns.

A hard sentence earns little however well it is translated, and held against nothing, or against the mean of all, that
is most of what a reward says. What is expected of the *source* can be taken off without changing where the gradient
points on average; so can, at each token, what is expected of the source and the tokens before it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from mtloop.nmt.engine.lesson import Lesson
from mtloop.nmt.engine.marian import Encoded


@dataclass(frozen=True, eq=False)
class Heard:
    """A reward, the mean of all so far (itself included), and what it was given for: a source, the lesson of a draw."""

    reward: float
    mean: float
    source: Encoded
    lesson: Lesson | None = None
    temperature: float = 1.0


class Baseline(Protocol):
    """Says what a reward weighs, and learns from it what to expect. Its tensors are all it remembers."""

    def weigh(self, heard: Heard) -> Tensor:
        """One number, or one a token."""

    def tensors(self) -> dict[str, Tensor]: ...

    def restore(self, tensors: Mapping[str, Tensor]) -> None: ...


class Stateless:
    """For baselines that remember nothing."""

    def tensors(self) -> dict[str, Tensor]:
        return {}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Nothing to take up."""


class Nothing(Stateless):
    """A reward weighs what it is."""

    def weigh(self, heard: Heard) -> Tensor:
        return torch.tensor(heard.reward, dtype=torch.float64)


class RunningMean(Stateless):
    """A reward weighs what it is above the mean of all so far, itself included: the paper's control variate."""

    def weigh(self, heard: Heard) -> Tensor:
        return torch.tensor(heard.reward - heard.mean, dtype=torch.float64)


class SourceRidge:
    """A reward weighs what it is above what a ridge regression expects of its source.

    It reads the source's length and its encoder states' mean, and is fitted to what earlier rewards were above their
    mean; so it begins as the running mean, and departs from it by as much as there is evidence for.
    """

    def __init__(self, width: int, penalty: float = 10.0) -> None:
        size = width + 3
        self.products_ = penalty * torch.eye(size, dtype=torch.float64)
        self.targets_ = torch.zeros(size, dtype=torch.float64)

    def weigh(self, heard: Heard) -> Tensor:
        example, above = self._example(heard.source), heard.reward - heard.mean
        expected: Tensor = example @ torch.linalg.solve(self.products_, self.targets_)
        self.products_ = self.products_ + torch.outer(example, example)
        self.targets_ = self.targets_ + above * example
        return above - expected

    def _example(self, source: Encoded) -> Tensor:
        length = len(source.ids)
        plain = torch.tensor([1.0, math.log(length), length / 20], dtype=torch.float64)
        return torch.cat([plain, source.states.mean(0).double()])

    def tensors(self) -> dict[str, Tensor]:
        return {"products": self.products_, "targets": self.targets_}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        self.products_, self.targets_ = tensors["products"].clone(), tensors["targets"].clone()
