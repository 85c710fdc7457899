"""What keeps a model honest while it learns from one pair after another: options that any scope can take."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from torch import Tensor

from mtloop.core.errors import InputError
from mtloop.nmt.engine.lesson import Lesson

T = TypeVar("T")


@dataclass(frozen=True)
class Regularisation:
    """All off by default.

    `kl`: so much of the wish is what the frozen base thinks of the same sentence (a KL term to it), the rest is the
    post-edit. `replay`: so many earlier pairs are looked at again after each lesson, one update each. `surprise`: a
    loss (nats a token) below which the pace falls with it: what was nearly known moves little. `average`: the model
    speaks with a moving average of its weights, which goes so much of the way to the newest after each lesson.
    """

    kl: float = 0.0
    replay: int = 0
    surprise: float = 0.0
    average: float = 0.0

    def __post_init__(self) -> None:
        for name in ("kl", "average"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} is a share from 0 to 1, not {getattr(self, name)}")
        if self.replay < 0 or not self.surprise >= 0:
            raise InputError("replay and surprise are 0 or more")

    def temper(self, lesson: Lesson, anchor: Tensor | None) -> Lesson:
        """The lesson as it shall be learned; `anchor` is what the base thinks of it."""
        if self.surprise:
            lesson = replace(lesson, pace=min(1.0, lesson.loss / self.surprise))
        return lesson if anchor is None else lesson.towards(anchor, self.kl)

    def earlier(self, lesson: int, pairs: Sequence[T]) -> list[T]:
        """Pairs to look at again after this lesson, not the newest; the same whenever it is asked."""
        return random.Random(lesson).sample(pairs[:-1], min(self.replay, len(pairs) - 1))
