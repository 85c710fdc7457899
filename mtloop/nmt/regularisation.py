"""Regularisation for learning from one pair at a time: options that apply to any scope."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from torch import Tensor

from mtloop.core.ranges import check_at_least, check_share
from mtloop.nmt.engine.lesson import Lesson

T = TypeVar("T")


@dataclass(frozen=True)
class Regularisation:
    """Options against overfitting and forgetting; 0 switches each of them off.

    `kl_weight` (0 to 1): weight of the KL term that keeps the model close to the base; the post-edit has the rest.
    `replay_pairs`: number of earlier pairs that are learned again after each lesson, with one update each.
    `loss_threshold` (nats per token): below this loss the learning rate decreases in proportion to the loss.
    `weight_average` (0 to 1): translate with a moving average of the weights; this is the weight of the newest ones.
    """

    kl_weight: float = 0.0
    replay_pairs: int = 0
    loss_threshold: float = 0.0
    weight_average: float = 0.0

    def __post_init__(self) -> None:
        check_share(kl_weight=self.kl_weight, weight_average=self.weight_average)
        check_at_least(0, replay_pairs=self.replay_pairs, loss_threshold=self.loss_threshold)

    def apply(self, lesson: Lesson, base_probabilities: Tensor | None) -> Lesson:
        """Return the lesson with a scaled learning rate and a KL term (none if `base_probabilities` is None)."""
        if self.loss_threshold:
            lesson = replace(lesson, learning_rate_scale=min(1.0, lesson.loss / self.loss_threshold))
        return lesson if base_probabilities is None else lesson.with_kl_term(base_probabilities, self.kl_weight)

    def sample_replay(self, lesson: int, pairs: Sequence[T]) -> list[T]:
        """Return a random sample of the pairs without the newest; the number of the lesson is the seed."""
        return random.Random(lesson).sample(pairs[:-1], min(self.replay_pairs, len(pairs) - 1))
