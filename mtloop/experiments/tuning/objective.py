"""What makes one trial better than another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mtloop.core.errors import InputError
from mtloop.core.protocols import Metric
from mtloop.core.types import Step
from mtloop.metrics.base import Additive


@dataclass(frozen=True)
class Objective:
    """One metric as it is, or several by the mean of their relative differences to the baseline, in per cent.

    A metric that is better when lower counts with its sign turned, so more is always better.
    """

    metrics: Sequence[Additive]

    @classmethod
    def of(cls, metrics: Sequence[Metric]) -> Objective:
        for metric in metrics:
            if not isinstance(metric, Additive):
                raise InputError(f"{metric.name} does not add up over segments; tune on one that does, say ter")
        if not metrics:
            raise InputError("--metric names no metric; say, --metric ter")
        return cls([metric for metric in metrics if isinstance(metric, Additive)])

    @property
    def rule(self) -> str:
        """In words, for tables."""
        if len(self.metrics) > 1:
            names = ", ".join(metric.name for metric in self.metrics)
            return f"mean of the relative gains over the baseline in {names}, in per cent"
        return f"{self.metrics[0].name}, {'higher' if self.metrics[0].higher_is_better else 'lower'} is better"

    def scores(self, steps: Sequence[Step]) -> dict[str, float]:
        return {metric.name: metric.score(steps).value for metric in self.metrics}

    def value(self, scores: Mapping[str, float], baseline: Mapping[str, float]) -> float:
        """More is better; what has no score is worse than anything."""
        gains = [self._gain(metric, scores[metric.name], baseline[metric.name]) for metric in self.metrics]
        mean = sum(gains) / len(gains)
        return -math.inf if math.isnan(mean) else mean

    def _gain(self, metric: Additive, score: float, baseline: float) -> float:
        sign = 1 if metric.higher_is_better else -1
        if len(self.metrics) == 1:
            return sign * score
        if not baseline or math.isnan(baseline):
            raise InputError(
                f"the baseline's {metric.name} is {'0/0' if baseline else '0'}, which nothing can be relative to; "
                "tune on more rows, or on one metric"
            )
        return sign * 100 * (score / baseline - 1)
