"""What learning did for a project, measured on its own corrections with the metrics of `mtloop score`.

Each correction that counts is a step: what was proposed, and the confirmed translation as its reference. The same steps
with the translations of the frozen base model are the baseline. A correction without a proposal, such as an imported
one, teaches words to the metrics that look back, but is not measured itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mtloop.core.types import PostEdit, Proposal, Score, Segment, Step, Truth
from mtloop.metrics.base import Additive, Array
from mtloop.metrics.curves import block_sums
from mtloop.metrics.registry import COLLATERAL, MetricOptions, make_metric
from mtloop.service.audit.models import utc
from mtloop.service.project_log.correction_store import StoredCorrection

QUALITY, WORDS = ("ter",), ("r0", "r1", "rer")
BLOCK = 50  # measured corrections in one point of a curve


@dataclass(frozen=True)
class MeasuredLog:
    """Corrections in order, as steps. `proposed` and `compared` say which are measured, and compared with the base.

    `baseline` is complete, and stands beside the project, up to the first measured correction that is not compared:
    later scores of the base model would be those of other corrections than the project's.
    """

    corrections: Sequence[StoredCorrection]
    steps: Sequence[Step]
    baseline: Sequence[Step]
    proposed: NDArray[np.bool_]
    compared: NDArray[np.bool_]

    @classmethod
    def of(cls, corrections: Sequence[StoredCorrection]) -> MeasuredLog:
        steps = [_step(index, one, one.event.proposal) for index, one in enumerate(corrections)]
        baseline = [_step(index, one, one.base_translation) for index, one in enumerate(corrections)]
        proposed = np.array([bool(one.event.proposal) for one in corrections], dtype=bool)
        translated = np.array([one.base_translation is not None for one in corrections], dtype=bool)
        return cls(corrections, steps, baseline, proposed, proposed & translated)

    @property
    def complete(self) -> int:
        """The number of corrections up to which the base model has translated all that are measured."""
        missing = np.flatnonzero(self.proposed & ~self.compared)
        return int(missing[0]) if len(missing) else len(self.steps)

    @property
    def block_ends(self) -> NDArray[np.intp]:
        """The ends of blocks with `BLOCK` measured corrections each; the last block may have fewer."""
        measured = np.flatnonzero(self.proposed)
        ends = [*measured[BLOCK - 1 :: BLOCK] + 1]
        if len(measured) % BLOCK:
            ends.append(len(self.steps))
        elif ends:
            ends[-1] = len(self.steps)
        return np.array(ends, dtype=np.intp)


def lacks_base_translation(one: StoredCorrection) -> bool:
    """Whether a correction is measured, but the base model has not translated its source yet."""
    return bool(one.event.proposal) and one.base_translation is None


def measure(corrections: Sequence[StoredCorrection], languages: tuple[str, str]) -> dict[str, Any]:
    """The scores of corrections, which are in order, and the points of their curves."""
    log = MeasuredLog.of(corrections)
    options = MetricOptions(languages[1] or None, languages[0] or None, baseline=log.baseline)
    names = [*QUALITY, *(WORDS if options.can_count_words else ()), *COLLATERAL]
    return {
        "corrections": len(corrections),
        "measured": int(log.proposed.sum()),
        "without_base": sum(map(lacks_base_translation, corrections)),
        "metrics": [_measured(make_metric(name, options), log) for name in names],
    }


def _measured(metric: object, log: MeasuredLog) -> dict[str, Any]:
    """The score of a metric, that of the base model, and the points of both. A collateral compares with the base."""
    assert isinstance(metric, Additive)
    compares = metric.name in COLLATERAL
    mine = _Rows.of(metric, log.steps, log.compared if compares else log.proposed)
    base = None if compares else _Rows.of(metric, log.baseline, log.compared)
    of_base = base.by_block(log.block_ends) if base else [None] * len(log.block_ends)
    points = [
        {
            "corrections": int(end),
            "number": log.corrections[end - 1].number,
            "time": utc(log.corrections[end - 1].time),
            "value": value,
            "base": other if end <= log.complete else None,
        }
        for end, value, other in zip(log.block_ends, mine.by_block(log.block_ends), of_base, strict=True)
    ]
    if base is not None and log.complete < len(log.steps):
        base = _Rows.of(metric, log.baseline, np.zeros_like(log.compared))
    return {**mine.score(), "base": base.score() if base else None, "points": points}


@dataclass(frozen=True)
class _Rows:
    """The statistics of a metric per step; only those of measured steps count."""

    metric: Additive
    rows: Array
    measured: NDArray[np.bool_]

    @classmethod
    def of(cls, metric: Additive, steps: Sequence[Step], measured: NDArray[np.bool_]) -> _Rows:
        return cls(metric, metric.rows(steps) * measured[:, None], measured)

    def score(self) -> dict[str, Any]:
        found: Score = self.metric.score_rows(self.rows)
        return found.to_json() | ({} if self.measured.any() else {"value": None})

    def by_block(self, ends: NDArray[np.intp]) -> list[float | None]:
        """The score of each block alone; None where nothing is measured."""
        if not len(ends):
            return []
        values = self.metric.aggregate(block_sums(self.rows, ends))
        counts = block_sums(self.measured[:, None].astype(float), ends)[:, 0]
        return [
            None if not count or np.isnan(value) else float(value) for value, count in zip(values, counts, strict=True)
        ]


def _step(index: int, one: StoredCorrection, proposal: str | None) -> Step:
    """A step. Where nothing was proposed, its text is the confirmed one: so it holds no error to look back at."""
    event = one.event
    segment = Segment(str(one.number), event.source, event.segment.context)
    text = proposal or event.translation
    return Step(index, Proposal(segment, text), PostEdit(event.translation), truth=Truth((event.translation,)))
