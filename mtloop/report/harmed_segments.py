"""The segments that learning harmed, for the report page: each with the lesson that it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mtloop.core.plural import pluralise
from mtloop.core.types import Step
from mtloop.metrics.collateral import Collateral, Flips, NearTER, Neighbour
from mtloop.metrics.evaluation import Evaluation
from mtloop.report.wording import signed

MAX_SHOWN = 20  # segments of a system


@dataclass(frozen=True)
class TextPair:
    """A source and its first reference."""

    source: str
    reference: str

    @classmethod
    def of(cls, step: Step) -> TextPair:
        return cls(step.proposal.segment.source, step.references[0])


@dataclass(frozen=True)
class HarmRow:
    """A harmed segment. `number` counts from 1; `ter_change` is empty if TER was not compared."""

    number: int
    lesson: TextPair
    segment: TextPair
    baseline_output: str
    output: str
    ter_change: str
    is_flip: bool


@dataclass(frozen=True)
class HarmTable:
    """The harmed segments of one system, the worst first; `summary` counts all of them."""

    system: str
    summary: str
    rows: Sequence[HarmRow]


def harm_tables(evaluation: Evaluation) -> list[HarmTable]:
    """Return a table for each system but the baseline; empty without the metrics near-worse and flips."""
    metrics = [metric for metric in evaluation.metrics if isinstance(metric, Collateral)]
    harmful = [metric for metric in metrics if not metric.higher_is_better]
    systems = [system for system in evaluation.systems if system != evaluation.baseline]
    return [_table(system, evaluation.systems[system], harmful) for system in systems] if harmful else []


def _table(system: str, steps: Sequence[Step], metrics: Sequence[Collateral]) -> HarmTable:
    cases = {metric: metric.cases(steps) for metric in metrics}
    flips = {one for metric, found in cases.items() if isinstance(metric, Flips) for one in _counted(found)}
    changes = {one: change for metric in metrics for one, change in _ter_changes(metric, steps).items()}
    harmed = {one for found in cases.values() for one in _counted(found)}
    worst = sorted(harmed, key=lambda one: (one not in flips, -changes.get(one, 0), one.segment))
    baseline, shown = metrics[0].baseline, worst[:MAX_SHOWN]
    rows = [_row(one, steps, baseline, changes.get(one), one in flips) for one in shown]
    return HarmTable(system, _summary(len(harmed), len(flips), len(cases[metrics[0]])), rows)


def _counted(cases: Mapping[Neighbour, bool]) -> Iterator[Neighbour]:
    return (one for one, is_counted in cases.items() if is_counted)


def _ter_changes(metric: Collateral, steps: Sequence[Step]) -> Mapping[Neighbour, float]:
    return metric.ter_changes(steps) if isinstance(metric, NearTER) else {}


def _row(one: Neighbour, steps: Sequence[Step], baseline: Sequence[Step], change: float | None, flip: bool) -> HarmRow:
    return HarmRow(
        number=one.segment + 1,
        lesson=TextPair.of(steps[one.lesson]),
        segment=TextPair.of(steps[one.segment]),
        baseline_output=baseline[one.segment].proposal.text,
        output=steps[one.segment].proposal.text,
        ter_change="" if change is None else signed(change, 1),
        is_flip=flip,
    )


def _summary(harmed: int, flips: int, with_lesson: int) -> str:
    """Return what a closed table says.

    >>> _summary(25, 1, 300)
    '25 of 300 segments with a lesson are harmed (1 flip); the worst 20 are shown'
    """
    counts = f"{harmed:,} of {with_lesson:,} segments with a lesson are harmed"
    kinds = f" ({pluralise(flips, 'flip')})" if flips else ""
    return counts + kinds + (f"; the worst {MAX_SHOWN} are shown" if harmed > MAX_SHOWN else "")
