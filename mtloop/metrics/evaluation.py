"""Scores, comparisons and curves of several systems for a table or a report; each value is computed once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mtloop.core.errors import InputError
from mtloop.core.protocols import Metric
from mtloop.core.types import JSON, Score, Step
from mtloop.metrics import curves
from mtloop.metrics.base import Additive, Array
from mtloop.metrics.significance import Comparison, bootstrap, randomisation
from mtloop.metrics.slope import Slope


@dataclass(frozen=True)
class SystemResult:
    """One cell of the results: a system's score and its comparison with the baseline (None: not compared)."""

    system: str
    score: Score
    comparison: Comparison | None

    def to_json(self) -> dict[str, JSON]:
        row: dict[str, JSON] = {"system": self.system, **self.score.to_json()}
        if self.comparison is not None:
            low, high = self.comparison.interval
            row["difference"] = {
                "value": self.comparison.difference,
                "interval": [low, high],
                "p": self.comparison.p_value,
                "test": self.comparison.test,
            }
        return row

    @property
    def cell(self) -> str:
        return f"{self.score}{self.comparison.mark if self.comparison else ''}"


def _check_same_stream(one: str, steps: Sequence[Step], other: str, others: Sequence[Step]) -> None:
    """Raise InputError if the systems' streams differ: systems are compared segment by segment."""
    if len(steps) != len(others):
        raise InputError(f"{one} and {other} saw different streams: {len(steps)} and {len(others)} segments")
    for mine, theirs in zip(steps, others, strict=True):
        if mine.proposal.segment.id != theirs.proposal.segment.id:
            ids = f"{mine.proposal.segment.id!r} and {theirs.proposal.segment.id!r}"
            raise InputError(f"{one} and {other} saw different streams: at step {mine.index}, segments {ids}")


@dataclass(frozen=True)
class Evaluation:
    """`systems` maps names to the steps of their traces; all systems must have seen the same stream.

    `warnings` are sentences about these scores, for a report.

    >>> from mtloop.metrics import BLEU
    >>> from mtloop.core import Proposal, Segment, Step, Truth
    >>> step = Step(0, Proposal(Segment("1", "Save"), "Speichern"), truth=Truth(("Speichern",)))
    >>> Evaluation({"mine": [step]}, [BLEU()]).scores("mine")[0].name
    'bleu'
    """

    systems: Mapping[str, Sequence[Step]]
    metrics: Sequence[Metric]
    baseline: str | None = None
    resamples: int = 1000
    seed: int = 1
    counting: curves.BlockWords = field(default_factory=curves.BlockWords)
    warnings: Sequence[str] = ()
    _rows: dict[tuple[str, int], Array] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        (first, steps), *others = self.systems.items()
        for name, other in others:
            _check_same_stream(first, steps, name, other)

    def __repr__(self) -> str:
        """Return one short line: the steps of all systems would fill thousands of lines."""
        names, metrics = list(self.systems), ", ".join(metric.name for metric in self.metrics)
        segments = len(self.systems[names[0]])
        against = f", baseline {self.baseline}" if self.baseline else ""
        return f"<Evaluation of {', '.join(names)}: {segments} segments, metrics {metrics}{against}>"

    def results(self) -> Iterator[SystemResult]:
        """Yield the result of every system and every metric, in their given order."""
        for system in self.systems:
            for metric in self.metrics:
                yield SystemResult(system, self.score(system, metric), self.comparison(system, metric))

    def scores(self, system: str) -> list[Score]:
        """Return the system's scores, in the order of `metrics`."""
        return [self.score(system, metric) for metric in self.metrics]

    def score(self, system: str, metric: Metric) -> Score:
        if isinstance(metric, Slope):
            ends = self.block_ends(metric.words)
            steps = self.systems[system]
            skipped = curves.count_blocks_without_model(steps, ends)
            return metric.of_stream(steps).score_rows(self.rows(system, metric.metric), ends, skipped)
        if isinstance(metric, Additive):
            return metric.score_rows(self.rows(system, metric))
        return metric.score(self.systems[system])

    def interval(self, system: str, metric: Additive) -> tuple[float, float]:
        return bootstrap(metric, self.rows(system, metric), self.resamples, self.seed)

    def comparison(self, system: str, metric: Metric) -> Comparison | None:
        """Compare the system with the baseline; None for the baseline itself and for metrics that are not additive."""
        if self.baseline is None or system == self.baseline or not isinstance(metric, Additive):
            return None
        ours, theirs = self.rows(system, metric), self.rows(self.baseline, metric)
        return randomisation(metric, ours, theirs, self.resamples, self.seed)

    def curve(self, system: str, metric: Additive) -> Array:
        """Return the score of every prefix of the stream."""
        return curves.cumulative(metric, self.rows(system, metric))

    def difference(self, system: str, metric: Additive) -> Array:
        """Return the system's curve minus the baseline's."""
        if self.baseline is None:
            raise InputError("a difference needs a baseline")
        return curves.difference(metric, self.rows(system, metric), self.rows(self.baseline, metric))

    def errors(self, system: str, slope: Slope) -> Array:
        """Return the errors that the slope is fitted to, per block; NaN where the system had no model yet."""
        ends = self.block_ends(slope.words)
        sums = curves.block_sums(self.rows(system, slope.metric), ends)
        errors: Array = slope.errors(sums[None], curves.count_blocks_without_model(self.systems[system], ends))[0]
        return errors

    def blockwise(self, system: str, metric: Additive, words: int) -> Array:
        return curves.blockwise(metric, self.rows(system, metric), self.block_ends(words))

    def incremental(self, system: str, metric: Additive, words: int) -> Array:
        return curves.incremental(metric, self.rows(system, metric), self.block_ends(words))

    def block_ends(self, words: int) -> NDArray[np.intp]:
        """Return the ends of the stream's blocks; the same for every system, because source words define the blocks."""
        return curves.block_ends(next(iter(self.systems.values())), words, self.counting)

    def rows(self, system: str, metric: Additive) -> Array:
        key = (system, id(metric))
        if key not in self._rows:
            try:
                self._rows[key] = metric.rows(self.systems[system])
            except InputError as error:
                raise InputError(f"system {system!r}: {error}") from error
        return self._rows[key]

    @cached_property
    def additive(self) -> list[Additive]:
        """The additive metrics; only they have curves."""
        return [metric for metric in self.metrics if isinstance(metric, Additive)]
