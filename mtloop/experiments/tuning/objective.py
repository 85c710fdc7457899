"""The objective of the search: the value by which trials are ranked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mtloop.core.errors import InputError
from mtloop.core.protocols import Metric
from mtloop.core.types import Step
from mtloop.metrics.base import Additive, Array
from mtloop.metrics.significance import Comparison, randomisation
from mtloop.metrics.titles import title


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
        return cls([metric for metric in metrics if isinstance(metric, Additive)])

    @property
    def description(self) -> str:
        """A description of the objective, for tables."""
        if len(self.metrics) > 1:
            names = ", ".join(metric.name for metric in self.metrics)
            return f"mean of the relative gains over the baseline in {names}, in per cent"
        return f"{self.metrics[0].name}, {'higher' if self.metrics[0].higher_is_better else 'lower'} is better"

    @property
    def title(self) -> str:
        """The name of the score by which trials are compared, for sentences."""
        return title(self.metrics[0].name) if len(self.metrics) == 1 else "mean relative gain in per cent"

    @property
    def higher_is_better(self) -> bool:
        """Whether a higher score is better; a gain always is."""
        return len(self.metrics) > 1 or self.metrics[0].higher_is_better

    def scores(self, steps: Sequence[Step]) -> dict[str, float]:
        """The score of each metric, by name."""
        return {metric.name: metric.score(steps).value for metric in self.metrics}

    def value(self, scores: Mapping[str, float], baseline: Mapping[str, float]) -> float:
        """The value of a trial; higher is better. It is -inf if a score is NaN."""
        gains = [self._gain(metric, scores[metric.name], baseline[metric.name]) for metric in self.metrics]
        mean = sum(gains) / len(gains)
        return -math.inf if math.isnan(mean) else mean

    def compare(self, winner: Sequence[Step], default: Sequence[Step], baseline: Sequence[Step]) -> Comparison:
        """The paired difference of the winner to the defaults. The test and its seed are those of the report."""
        metric = self.metrics[0] if len(self.metrics) == 1 else RelativeGain(self.metrics, baseline)
        return randomisation(metric, metric.rows(winner), metric.rows(default))

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


class RelativeGain(Additive):
    """The mean of the relative gains over the baseline in several metrics, in per cent, as one additive metric.

    The scores of the baseline are constants; they are not resampled. A baseline score of 0 or 0/0 gives 0/0.
    """

    name = "gain"

    def __init__(self, metrics: Sequence[Additive], baseline: Sequence[Step]) -> None:
        rows = [metric.rows(baseline) for metric in metrics]
        self._metrics, self._ends = metrics, np.cumsum([each.shape[1] for each in rows])[:-1]
        self._scores = [metric.score_rows(each).value for metric, each in zip(metrics, rows, strict=True)]

    @property
    def signature(self) -> str:
        return "+".join(f"{metric.name}:{metric.signature}" for metric in self._metrics)

    def rows(self, steps: Sequence[Step]) -> Array:
        return np.hstack([metric.rows(steps) for metric in self._metrics])

    def aggregate(self, sums: Array) -> Array:
        columns = np.split(sums, self._ends, axis=1)
        gains = [self._gain(*each) for each in zip(self._metrics, columns, self._scores, strict=True)]
        mean: Array = np.mean(gains, axis=0)
        return mean

    @staticmethod
    def _gain(metric: Additive, sums: Array, baseline: float) -> Array:
        sign = 1 if metric.higher_is_better else -1
        return sign * 100 * (metric.aggregate(sums) / (baseline or math.nan) - 1)
