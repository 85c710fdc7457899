"""Baselines, subtracted from a reward before it weights the gradient: none, the mean, or a prediction for the source.

A hard sentence gets a low reward even for a good translation. Without a baseline, or with the mean of all rewards,
most of the reward measures how hard the source is. A prediction from the *source* can be subtracted without changing
the expected gradient. At each token, so can a prediction from the source and the tokens before it.
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
class RewardObservation:
    """A reward, the mean of all rewards so far (this one included), its source, and the lesson of the draw."""

    reward: float
    mean: float
    source: Encoded
    lesson: Lesson | None = None
    temperature: float = 1.0


class Baseline(Protocol):
    """Turns a reward into an advantage, and learns from it. Its tensors are its whole state."""

    def advantage(self, observation: RewardObservation) -> Tensor:
        """Return the reward minus the baseline: one number, or one for each token."""

    def tensors(self) -> dict[str, Tensor]: ...

    def restore(self, tensors: Mapping[str, Tensor]) -> None: ...


class Stateless:
    """For baselines without state."""

    def tensors(self) -> dict[str, Tensor]:
        return {}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Do nothing."""


class NoBaseline(Stateless):
    """The advantage is the reward itself."""

    def advantage(self, observation: RewardObservation) -> Tensor:
        return torch.tensor(observation.reward, dtype=torch.float64)


class RunningMean(Stateless):
    """The baseline is the mean of all rewards so far, this one included: the paper's control variate."""

    def advantage(self, observation: RewardObservation) -> Tensor:
        return torch.tensor(observation.reward - observation.mean, dtype=torch.float64)


class SourceRidge:
    """The baseline is a ridge regression on the source.

    Its features are the length of the source and the mean of its encoder states. It is fitted to the differences of
    earlier rewards from their mean. So it starts as the running mean, and departs from it as evidence grows.
    """

    def __init__(self, width: int, penalty: float = 10.0) -> None:
        size = width + 3
        self.products_ = penalty * torch.eye(size, dtype=torch.float64)
        self.targets_ = torch.zeros(size, dtype=torch.float64)

    def advantage(self, observation: RewardObservation) -> Tensor:
        features, above_mean = self._features(observation.source), observation.reward - observation.mean
        expected: Tensor = features @ torch.linalg.solve(self.products_, self.targets_)
        self.products_ = self.products_ + torch.outer(features, features)
        self.targets_ = self.targets_ + above_mean * features
        return above_mean - expected

    def _features(self, source: Encoded) -> Tensor:
        length = len(source.ids)
        plain = torch.tensor([1.0, math.log(length), length / 20], dtype=torch.float64)
        return torch.cat([plain, source.states.mean(0).double()])

    def tensors(self) -> dict[str, Tensor]:
        return {"products": self.products_, "targets": self.targets_}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        self.products_, self.targets_ = tensors["products"].clone(), tensors["targets"].clone()
