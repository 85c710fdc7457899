"""The objective of the search: the value by which trials are ranked."""

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
    """The score of one metric, or the mean relative difference of several metrics to the baseline, in per cent.

    The sign is reversed for a metric that is better when lower, so a higher value is always better.
    """

    metrics: Sequence[Additive]

    @classmethod
    def from_metrics(cls, metrics: Sequence[Metric]) -> Objective:
        """The objective of these metrics; raise InputError if one of them is not additive."""
        for metric in metrics:
            if not isinstance(metric, Additive):
                raise InputError(f"{metric.name} is not additive; use an additive metric, for example ter")
        if not metrics:
            raise InputError("--metric names no metric; for example: --metric ter")
        return cls([metric for metric in metrics if isinstance(metric, Additive)])

    @property
    def description(self) -> str:
        """A description of the objective, for tables."""
        if len(self.metrics) > 1:
            names = ", ".join(metric.name for metric in self.metrics)
            return f"mean of the relative gains over the baseline in {names}, in per cent"
        return f"{self.metrics[0].name}, {'higher' if self.metrics[0].higher_is_better else 'lower'} is better"

    def scores(self, steps: Sequence[Step]) -> dict[str, float]:
        """The score of each metric, by name."""
        return {metric.name: metric.score(steps).value for metric in self.metrics}

    def value(self, scores: Mapping[str, float], baseline: Mapping[str, float]) -> float:
        """The value of a trial; higher is better. It is -inf if a score is NaN."""
        gains = [self._gain(metric, scores[metric.name], baseline[metric.name]) for metric in self.metrics]
        mean = sum(gains) / len(gains)
        return -math.inf if math.isnan(mean) else mean

    def _gain(self, metric: Additive, score: float, baseline: float) -> float:
        sign = 1 if metric.higher_is_better else -1
        if len(self.metrics) == 1:
            return sign * score
        if not baseline or math.isnan(baseline):
            raise InputError(
                f"the baseline's {metric.name} is {'0/0' if baseline else '0'}, so a relative difference is undefined; "
                "tune on more rows, or on one metric"
            )
        return sign * 100 * (score / baseline - 1)
