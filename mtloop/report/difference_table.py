"""Scores with the 95 % intervals of their differences from the baseline, as results pages show them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mtloop.core.types import JSON
from mtloop.metrics.evaluation import Evaluation, SystemResult
from mtloop.metrics.titles import title
from mtloop.report.short_streams import shown_metrics, shown_results
from mtloop.report.table import Table


def difference_table(evaluation: Evaluation, results: Sequence[SystemResult]) -> Table:
    """Return the scores; in brackets the 95 % interval of the difference from the baseline, by paired bootstrap."""
    shown = shown_results(evaluation, results)
    rows = {system: [result for result in shown if result.system == system] for system in evaluation.systems}
    return Table(
        headers=["system", *(title(metric.name) for metric in shown_metrics(evaluation, results))],
        cells=[[system, *map(_cell, row)] for system, row in rows.items()],
        records=[_record(system, row) for system, row in rows.items()],
        notes=_notes(evaluation),
    )


def _notes(evaluation: Evaluation) -> list[str]:
    if evaluation.baseline is None:
        return []
    resampled = f"paired bootstrap, {evaluation.resamples} resamples, seed {evaluation.seed}"
    return [f"in brackets: 95 % interval of the difference from {evaluation.baseline} ({resampled})"]


def _cell(result: SystemResult) -> str:
    if result.comparison is None or math.isnan(result.comparison.interval[0]):
        return str(result.score)
    low, high = result.comparison.interval
    return f"{result.score} ({low:+.1f}, {high:+.1f})"


def _record(system: str, row: Sequence[SystemResult]) -> dict[str, JSON]:
    record: dict[str, JSON] = {"system": system}
    for result in row:
        name = result.score.name
        record[name] = result.score.value
        if result.comparison is not None:
            low, high = result.comparison.interval
            record |= {f"{name}_difference": result.comparison.difference, f"{name}_low": low, f"{name}_high": high}
            record[f"{name}_p"] = result.comparison.p_value
    return record
