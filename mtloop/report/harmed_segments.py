"""The segments that learning harmed or helped most, for the report page: each with the lesson that it comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from mtloop.core.plural import pluralise
from mtloop.core.types import Step
from mtloop.metrics.collateral import Collateral, Flips, NearTER, Neighbour
from mtloop.metrics.evaluation import Evaluation
from mtloop.report.wording import signed

MAX_SHOWN = 20  # harmed segments of a system
MAX_BETTER = 5  # segments of a system that got better
REASONS = {"near-worse": "worse", "flips": "flip", "lost-changes": "lost change", "near-better": "better"}


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
    """A segment with its lesson, and why it is listed. `number` counts from 1.

    `ter_change` is empty if TER was not compared.
    """

    number: int
    lesson: TextPair
    segment: TextPair
    baseline_output: str
    output: str
    ter_change: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class HarmTable:
    """The harmed segments of one system, the worst first; `summary` counts all of them. `better`: the most improved."""

    system: str
    summary: str
    rows: Sequence[HarmRow]
    better: Sequence[HarmRow] = ()


def harm_tables(evaluation: Evaluation) -> list[HarmTable]:
    """Return a table for each system but the baseline; empty without the metrics near-worse and flips."""
    metrics = [metric for metric in evaluation.metrics if isinstance(metric, Collateral)]
    harmful = [metric for metric in metrics if not metric.higher_is_better]
    systems = [system for system in evaluation.systems if system != evaluation.baseline]
    if not harmful:
        return []
    helpful = [metric for metric in metrics if metric.higher_is_better]
    return [_table(system, evaluation.systems[system], harmful, helpful) for system in systems]


def _table(
    system: str, steps: Sequence[Step], harmful: Sequence[Collateral], helpful: Sequence[Collateral]
) -> HarmTable:
    changes = {one: change for metric in (*helpful, *harmful) for one, change in _ter_changes(metric, steps).items()}
    harmed, helped = _reasons(harmful, steps), _reasons(helpful, steps)
    flips = {one for one, reasons in harmed.items() if REASONS[Flips.name] in reasons}
    worst = sorted(harmed, key=lambda one: (one not in flips, -changes.get(one, 0), one.segment))
    best = sorted(helped.keys() - harmed.keys(), key=lambda one: (changes.get(one, 0), one.segment))
    row = partial(_row, steps, harmful[0].baseline, changes)
    return HarmTable(
        system,
        _summary(len(harmed), len(flips), len(harmful[0].cases(steps))),
        [row(one, harmed[one]) for one in worst[:MAX_SHOWN]],
        tuple(row(one, helped[one]) for one in best[:MAX_BETTER]),
    )


def _reasons(metrics: Sequence[Collateral], steps: Sequence[Step]) -> dict[Neighbour, tuple[str, ...]]:
    """Return the segments that are counted, with the labels of the metrics that count them."""
    found: dict[Neighbour, tuple[str, ...]] = {}
    for metric in metrics:
        for one, is_counted in metric.cases(steps).items():
            if is_counted:
                found[one] = (*found.get(one, ()), REASONS.get(metric.name, metric.name))
    return found


def _ter_changes(metric: Collateral, steps: Sequence[Step]) -> Mapping[Neighbour, float]:
    return metric.ter_changes(steps) if isinstance(metric, NearTER) else {}


def _row(
    steps: Sequence[Step],
    baseline: Sequence[Step],
    changes: Mapping[Neighbour, float],
    one: Neighbour,
    reasons: tuple[str, ...],
) -> HarmRow:
    change = changes.get(one)
    return HarmRow(
        number=one.segment + 1,
        lesson=TextPair.of(steps[one.lesson]),
        segment=TextPair.of(steps[one.segment]),
        baseline_output=baseline[one.segment].proposal.text,
        output=steps[one.segment].proposal.text,
        ter_change="" if change is None else signed(change, 1),
        reasons=reasons,
    )


def _summary(harmed: int, flips: int, with_lesson: int) -> str:
    """Return what a closed table says.

    >>> _summary(25, 1, 300)
    '25 of 300 segments with a lesson are harmed (1 flip); the worst 20 are shown'
    """
    counts = f"{harmed:,} of {with_lesson:,} segments with a lesson are harmed"
    kinds = f" ({pluralise(flips, 'flip')})" if flips else ""
    return counts + kinds + (f"; the worst {MAX_SHOWN} are shown" if harmed > MAX_SHOWN else "")
