"""Offline learning: mini-batch gradient ascent on an off-policy estimate over a log of rewards."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from mtloop.bandits.draws import seed_from
from mtloop.bandits.neural.expected_loss import PrecomputedLesson, clip_lesson, expected_loss
from mtloop.bandits.offline.estimators import ESTIMATORS, LoggedBatch, RewardRegression, ValueEstimate, best_control
from mtloop.bandits.offline.logs import Logged
from mtloop.bandits.ridge import Vector
from mtloop.core.errors import InputError, UnknownName
from mtloop.core.ranges import check_at_least
from mtloop.nmt.engine.gradients import Gradient
from mtloop.nmt.engine.lesson import Lesson
from mtloop.nmt.engine.marian import Encoded, Marian
from mtloop.nmt.engine.search import LengthLimits, sample
from mtloop.nmt.scopes.scope import NotFinite, Scope


@dataclass(frozen=True)
class OfflineSettings:
    """Settings of offline learning.

    `max_weight` is the maximum importance weight of a translation (0: no maximum). `max_gradient_norm` is the norm at
    which the gradient of a batch is clipped (0: no clipping). `samples` is the number of translations that the doubly
    controlled estimator samples per source.
    """

    estimator: str = "reweighted"
    epochs: int = 3
    batch_size: int = 16
    max_weight: float = 10.0
    max_gradient_norm: float = 1.0
    samples: int = 1
    seed: int = 1

    def __post_init__(self) -> None:
        if self.estimator not in ESTIMATORS:
            raise UnknownName("estimator", self.estimator, ESTIMATORS)
        if self.estimator != "ips" and self.batch_size < 2:
            raise InputError(
                f"batch_size is {self.batch_size}; expected 2 or more, "
                f"because estimator {self.estimator} compares the translations of a batch"
            )
        check_at_least(1, epochs=self.epochs, batch_size=self.batch_size, samples=self.samples)
        for name in ("max_weight", "max_gradient_norm"):
            if not 0 <= getattr(self, name) < math.inf:
                raise InputError(f"{name} is {getattr(self, name):g}; expected a number above 0, or 0 for no bound")

    @property
    def weight_limit(self) -> float:
        """The maximum importance weight; infinite if there is none."""
        return self.max_weight or math.inf


@dataclass(frozen=True)
class Epoch:
    """One pass over the log; `value` is the mean of the batches' estimates, each before its update.

    `skipped` is the number of batches without an update, because the gradient was NaN or infinite.
    """

    number: int
    value: float
    updates: int
    skipped: int


class Offline:
    """Learns a scope of a model from a log. Equal settings on an equal log give an equal model."""

    def __init__(self, scope: Scope, logs: Sequence[Logged], settings: OfflineSettings | None = None) -> None:
        self.scope, self.logs, self.settings = scope, logs, settings or OfflineSettings()
        self.limits = LengthLimits()
        self.prediction = RewardRegression()
        self.control = 0.0
        self.updates_ = 0
        self._encoded: dict[str, Encoded] = {}
        if self._doubly_controlled:
            self._fit_prediction()

    @property
    def model(self) -> Marian:
        return self.scope.model

    @property
    def _doubly_controlled(self) -> bool:
        return self.settings.estimator == "doubly-controlled"

    def run(self) -> Iterator[Epoch]:
        """Learn; yield after each epoch."""
        for number in range(1, self.settings.epochs + 1):
            order = list(self.logs)
            random.Random(seed_from(self.settings.seed, number)).shuffle(order)
            size = self.settings.batch_size
            batches = [order[start : start + size] for start in range(0, len(order), size)]
            before = self.updates_
            values = [self.learn(batch, number) for batch in batches]
            updates = self.updates_ - before
            yield Epoch(number, float(np.mean(values)), updates, len(batches) - updates)

    def learn(self, batch: Sequence[Logged], epoch: int = 0) -> float:
        """Make one update; return the estimate before it. A gradient that is NaN or infinite makes no update."""
        lessons, estimate = self.estimate(batch, epoch)
        factors = [*estimate.logged, *estimate.sampled]
        try:
            max_norm, has_bias = self.settings.max_gradient_norm, self.scope.extra_bias is not None
            self.scope.update(clip_lesson(join_lessons(lessons, factors), max_norm, 1.0, has_bias))
        except NotFinite:
            self.scope.rollback()
            return estimate.value
        self.scope.commit()
        self.updates_ += 1
        return estimate.value

    def estimate(self, batch: Sequence[Logged], epoch: int = 0) -> tuple[list[Lesson], ValueEstimate]:
        """Return the lessons of a batch (logged translations, then new samples), and the estimate of its value."""
        self._encoded = {}
        lessons = [self._lesson(one) for one in batch]
        samples = self._sample(batch, epoch) if self._doubly_controlled else []
        sampled = [self._lesson(one) for one in samples]
        logged = LoggedBatch(
            np.array([_log_ratio(*both) for both in zip(lessons, batch, strict=True)]),
            np.array([one.reward for one in batch]),
            self._predicted(batch),
            np.zeros(len(samples)),
            self._predicted(samples),
            self.control,
            self.settings.weight_limit,
        )
        return lessons + sampled, ESTIMATORS[self.settings.estimator](logged)

    def log_ratios(self, logs: Sequence[Logged]) -> Vector:
        """Return log(p now / p when logged) of each translation."""
        ratios = []
        for one in logs:
            self._encoded = {}
            ratios.append(_log_ratio(self._lesson(one), one))
        return np.array(ratios)

    def _lesson(self, one: Logged) -> Lesson:
        return expected_loss(
            self.model,
            self._encode(one.source),
            one.tokens,
            1.0,
            temperature=one.temperature,
            limits=self.limits,
            scope=self.scope.names,
            extra_bias=self.scope.extra_bias,
        )

    def _encode(self, source: str) -> Encoded:
        """Encode a source; within a batch each source is encoded once."""
        if source not in self._encoded:
            self._encoded[source] = self.model.encode(self.model.source.encode(source))
        return self._encoded[source]

    def _sample(self, batch: Sequence[Logged], epoch: int) -> list[Logged]:
        """Return new translations of the same sources, sampled with the current weights."""
        return [
            self._sample_one(one, seed_from(self.settings.seed, epoch, *one.tokens, n))
            for one in batch
            for n in range(self.settings.samples)
        ]

    def _sample_one(self, one: Logged, seed: int) -> Logged:
        encoded = self._encode(one.source)
        found = sample(self.model, encoded, self.limits, seed, one.temperature, self.scope.extra_bias)
        return replace(one, tokens=found.ids, log_probability=found.log_probability)

    def _fit_prediction(self) -> None:
        """Fit the prediction to the log, and compute its factor."""
        rewards = np.array([one.reward for one in self.logs])
        self.prediction.fit(self._features(self.logs), rewards)
        self.control = best_control(
            self.log_ratios(self.logs), rewards, self._predicted(self.logs), self.settings.weight_limit
        )

    def _predicted(self, items: Sequence[Logged]) -> Vector:
        return self.prediction(self._features(items)) if items and self._doubly_controlled else np.zeros(len(items))

    def _features(self, items: Sequence[Logged]) -> Vector:
        return np.array(
            [self.prediction.features(len(self.model.source.encode(one.source)), one.tokens) for one in items]
        )


@torch.no_grad()
def join_lessons(lessons: Sequence[Lesson], factors: Sequence[float]) -> PrecomputedLesson:
    """Return one lesson whose gradient is the sum of all, each multiplied by its factor."""
    pairs = zip(lessons, factors, strict=True)
    scaled = [replace(one, error=one.error * float(factor)) for one, factor in pairs if factor]
    scaled = scaled or [replace(lessons[0], error=torch.zeros_like(lessons[0].error))]
    totals: dict[str, Gradient] = {}
    for lesson in scaled:
        for name, gradient in lesson.gradients().items():
            _add(totals.setdefault(name, Gradient()), gradient)
    first = scaled[0]
    error, target = torch.cat([one.error for one in scaled]), torch.cat([one.target for one in scaled])
    return PrecomputedLesson(first.loss, target, first.decoded, error, first._scope, first._model, computed=totals)


def _add(total: Gradient, gradient: Gradient) -> None:
    total.products += gradient.products
    total.rows += gradient.rows
    if gradient.dense is not None:
        total.dense = gradient.dense if total.dense is None else total.dense + gradient.dense


def _log_ratio(lesson: Lesson, one: Logged) -> float:
    return -lesson.loss * len(one.tokens) - one.log_probability
