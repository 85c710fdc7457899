"""Learning from what others were rewarded for: mini-batches over a log, up the slope of an off-policy estimate."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from mtloop.bandits.draws import seed_of
from mtloop.bandits.neural.expected_loss import Weighed, expected_loss, weighed
from mtloop.bandits.offline.estimators import ESTIMATORS, LoggedBatch, RewardRegression, ValueEstimate, best_control
from mtloop.bandits.offline.logs import Logged
from mtloop.bandits.statistical.optimisers import Vector
from mtloop.core.errors import InputError, UnknownName
from mtloop.nmt.engine.gradients import Gradient
from mtloop.nmt.engine.lesson import Lesson
from mtloop.nmt.engine.marian import Encoded, Marian
from mtloop.nmt.engine.search import LengthLimits, sample
from mtloop.nmt.scopes.scope import NotFinite, Scope


@dataclass(frozen=True)
class OfflineSettings:
    """How to learn. `cap` bounds how much likelier than logged a translation may count as (0: any).

    `clip` is the longest gradient of a batch (0: any); `draws` are translations a source that the prediction of the
    doubly controlled estimator is asked about.
    """

    estimator: str = "reweighted"
    epochs: int = 3
    batch: int = 16
    cap: float = 10.0
    clip: float = 1.0
    draws: int = 1
    seed: int = 1

    def __post_init__(self) -> None:
        if self.estimator not in ESTIMATORS:
            raise UnknownName("estimator", self.estimator, ESTIMATORS)
        if self.estimator != "ips" and self.batch < 2:
            raise InputError(f"{self.estimator} weighs the translations of a batch against each other: batch 2 or more")
        for name in ("epochs", "batch", "draws"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; expected 1 or more")
        for name in ("cap", "clip"):
            if not 0 <= getattr(self, name) < math.inf:
                raise InputError(f"{name} is {getattr(self, name):g}; expected a number above 0, or 0 for no bound")

    @property
    def ceiling(self) -> float:
        return self.cap or math.inf


@dataclass(frozen=True)
class Epoch:
    """One pass over the log: the mean of the batches' estimates, each before its own update."""

    number: int
    value: float
    updates: int
    refused: int


class Offline:
    """A part of a model, and a log to learn from. The same plan on the same log makes the same model."""

    def __init__(self, scope: Scope, logs: Sequence[Logged], plan: OfflineSettings | None = None) -> None:
        self.scope, self.logs, self.plan = scope, logs, plan or OfflineSettings()
        self.limits = LengthLimits()
        self.prediction = RewardRegression()
        self.control = 0.0
        self.updates_ = 0
        self._encoded: dict[str, Encoded] = {}
        if self._doubly:
            self._predict()

    @property
    def model(self) -> Marian:
        return self.scope.model

    @property
    def _doubly(self) -> bool:
        return self.plan.estimator == "doubly-controlled"

    def run(self) -> Iterator[Epoch]:
        """Learn, an epoch at a time."""
        for number in range(1, self.plan.epochs + 1):
            order = list(self.logs)
            random.Random(seed_of(self.plan.seed, number)).shuffle(order)
            batches = [order[start : start + self.plan.batch] for start in range(0, len(order), self.plan.batch)]
            before = self.updates_
            values = [self.learn(batch, number) for batch in batches]
            done = self.updates_ - before
            yield Epoch(number, float(np.mean(values)), done, len(batches) - done)

    def learn(self, batch: Sequence[Logged], number: int = 0) -> float:
        """One update; the estimate before it. A gradient that is no number moves nothing."""
        lessons, estimate = self.look(batch, number)
        counts = [*estimate.logged, *estimate.drawn]
        try:
            self.scope.update(
                weighed(together(lessons, counts), self.plan.clip, 1.0, self.scope.extra_bias is not None)
            )
        except NotFinite:
            self.scope.rollback()
            return estimate.value
        self.scope.settle()
        self.updates_ += 1
        return estimate.value

    def look(self, batch: Sequence[Logged], number: int = 0) -> tuple[list[Lesson], ValueEstimate]:
        """The lessons of a batch (the logged ones, then the drawn ones), and what they say."""
        self._encoded = {}
        lessons = [self._lesson(one) for one in batch]
        asked = self._drawn(batch, number) if self._doubly else []
        drawn = [self._lesson(one) for one in asked]
        told = LoggedBatch(
            np.array([_surprise(*both) for both in zip(lessons, batch, strict=True)]),
            np.array([one.reward for one in batch]),
            self._predicted(batch),
            np.zeros(len(asked)),
            self._predicted(asked),
            self.control,
            self.plan.ceiling,
        )
        return lessons + drawn, ESTIMATORS[self.plan.estimator](told)

    def log_ratios(self, logs: Sequence[Logged]) -> Vector:
        """By how much likelier, in logarithms, each is now than it was when it was drawn."""
        found = []
        for one in logs:
            self._encoded = {}
            found.append(_surprise(self._lesson(one), one))
        return np.array(found)

    def _lesson(self, one: Logged) -> Lesson:
        return expected_loss(
            self.model,
            self._read(one.source),
            one.tokens,
            1.0,
            temperature=one.temperature,
            limits=self.limits,
            scope=self.scope.names,
            extra_bias=self.scope.extra_bias,
        )

    def _read(self, source: str) -> Encoded:
        """Within a batch a source is read once, whatever is said of it."""
        if source not in self._encoded:
            self._encoded[source] = self.model.encode(self.model.source.encode(source))
        return self._encoded[source]

    def _drawn(self, batch: Sequence[Logged], number: int) -> list[Logged]:
        """Fresh translations of the same sources, by the model as it is."""
        return [
            self._draw(one, seed_of(self.plan.seed, number, *one.tokens, n))
            for one in batch
            for n in range(self.plan.draws)
        ]

    def _draw(self, one: Logged, seed: int) -> Logged:
        read = self._read(one.source)
        found = sample(self.model, read, self.limits, seed, one.temperature, self.scope.extra_bias)
        return replace(one, tokens=found.ids, log_probability=found.log_probability)

    def _predict(self) -> None:
        """Fit the prediction to the log, and find how much of it to take off."""
        rewards = np.array([one.reward for one in self.logs])
        self.prediction.fit(self._features(self.logs), rewards)
        self.control = best_control(self.log_ratios(self.logs), rewards, self._predicted(self.logs), self.plan.ceiling)

    def _predicted(self, items: Sequence[Logged]) -> Vector:
        return self.prediction(self._features(items)) if items and self._doubly else np.zeros(len(items))

    def _features(self, items: Sequence[Logged]) -> Vector:
        return np.array(
            [self.prediction.features(len(self.model.source.encode(one.source)), one.tokens) for one in items]
        )


@torch.no_grad()
def together(lessons: Sequence[Lesson], counts: Sequence[float]) -> Weighed:
    """Several lessons as one: each gradient counts as it should, and the products of all lie one below the other."""
    scaled = [replace(one, error=one.error * float(count)) for one, count in zip(lessons, counts, strict=True) if count]
    scaled = scaled or [replace(lessons[0], error=torch.zeros_like(lessons[0].error))]
    found: dict[str, Gradient] = {}
    for lesson in scaled:
        for name, gradient in lesson.gradients().items():
            _add(found.setdefault(name, Gradient()), gradient)
    first = scaled[0]
    error, target = torch.cat([one.error for one in scaled]), torch.cat([one.target for one in scaled])
    return Weighed(first.loss, target, first.decoded, error, first._scope, first._model, found=found)


def _add(total: Gradient, gradient: Gradient) -> None:
    total.products += gradient.products
    total.rows += gradient.rows
    if gradient.dense is not None:
        total.dense = gradient.dense if total.dense is None else total.dense + gradient.dense


def _surprise(lesson: Lesson, one: Logged) -> float:
    return -lesson.loss * len(one.tokens) - one.log_probability
