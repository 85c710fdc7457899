"""Scores as a text table, JSON or CSV."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from mtloop.core.errors import InputError
from mtloop.core.types import JSON
from mtloop.metrics.collateral import Collateral
from mtloop.metrics.evaluation import Evaluation, SystemResult
from mtloop.metrics.titles import title
from mtloop.report.short_streams import short_stream_note, shown_metrics, shown_results
from mtloop.report.table import Table


def as_table(evaluation: Evaluation, results: Sequence[SystemResult]) -> str:
    return f"{score_table(evaluation, results)}\n"


def score_table(evaluation: Evaluation, results: Sequence[SystemResult]) -> Table:
    """Return the scores of all systems; notes below explain the stars, the verdicts of slopes, and the signatures.

    Slopes that the stream is too short for are left out of the printed table; they remain in the records.
    """
    shown = _rows(evaluation, shown_results(evaluation, results))
    return Table(
        headers=["system", *(title(metric.name) for metric in shown_metrics(evaluation, results))],
        cells=[[system, *(result.cell for result in row)] for system, row in shown.items()],
        records=[_record(system, row) for system, row in _rows(evaluation, results).items()],
        notes=_notes(evaluation, results),
    )


def relative_score_table(evaluation: Evaluation, results: Sequence[SystemResult]) -> Table:
    """Return the baseline's scores and the other systems' differences in per cent of them (2019 paper, Table 5).

    The metrics of collateral are left out: the baseline's scores are 0.
    """
    evaluation = replace(evaluation, metrics=[one for one in evaluation.metrics if not isinstance(one, Collateral)])
    names = {metric.name for metric in evaluation.metrics}
    results = [result for result in results if result.score.name in names]
    (_, base), *others = _rows(evaluation, results).items()
    (first, shown_base), *shown = _rows(evaluation, shown_results(evaluation, results)).items()
    return Table(
        headers=["relative", *(title(metric.name) for metric in shown_metrics(evaluation, results))],
        cells=[
            [first, *(str(result.score) for result in shown_base)],
            *([system, *map(_relative_cell, row, shown_base)] for system, row in shown),
        ],
        records=[_relative_record(row, base) for _, row in others],
    )


def _rows(evaluation: Evaluation, results: Sequence[SystemResult]) -> dict[str, list[SystemResult]]:
    """Return the results of each system."""
    return {system: [result for result in results if result.system == system] for system in evaluation.systems}


def _record(system: str, row: Sequence[SystemResult]) -> dict[str, JSON]:
    """Return a system's scores and, if it was compared, its differences from the baseline and their p-values."""
    record: dict[str, JSON] = {"system": system}
    for result in row:
        record[result.score.name] = result.score.value
        if result.comparison is not None:
            record[f"{result.score.name}_difference"] = result.comparison.difference
            record[f"{result.score.name}_p"] = result.comparison.p_value
    return record


def _relative_record(row: Sequence[SystemResult], base: Sequence[SystemResult]) -> dict[str, JSON]:
    pairs = zip(row, base, strict=True)
    return {"relative": row[0].system, **{one.score.name: _relative(one, other) for one, other in pairs}}


def _relative(result: SystemResult, base: SystemResult) -> float:
    """Return the difference from the baseline in per cent; NaN if there is none."""
    if not (result.score.defined and base.score.defined and base.score.value):
        return math.nan
    return 100 * (result.score.value / base.score.value - 1)


def _relative_cell(result: SystemResult, base: SystemResult) -> str:
    change = _relative(result, base)
    mark = result.comparison.mark if result.comparison else ""
    return "-" if math.isnan(change) else f"{change:+.1f} %{mark}"


def as_json(evaluation: Evaluation, results: Sequence[SystemResult]) -> str:
    rows = [_without_nan(result.to_json()) for result in results]
    return json.dumps(rows, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def as_csv(evaluation: Evaluation, results: Sequence[SystemResult]) -> str:
    columns = ["system", "name", "value", "numerator", "denominator", "signature", "difference", "p"]
    return _csv(columns, ([_csv_cell(result, column) for column in columns] for result in results))


FORMATTERS: dict[str, Callable[[Evaluation, Sequence[SystemResult]], str]] = {
    "table": as_table,
    "json": as_json,
    "csv": as_csv,
}


def curves_csv(evaluation: Evaluation) -> str:
    """Return one line per segment: its number, then every system's score of all segments so far."""
    columns = {
        f"{system}:{metric.name}": evaluation.curve(system, metric).tolist()
        for system in evaluation.systems
        for metric in evaluation.additive
    }
    if not columns:
        raise InputError("--curves needs an additive metric, such as bleu or r1")
    rows = zip(*columns.values(), strict=True)
    return _csv(["segment", *columns], ([n, *map(_blank_nan, row)] for n, row in enumerate(rows, start=1)))


def _notes(evaluation: Evaluation, results: Sequence[SystemResult]) -> list[str]:
    """Return the notes under the table: the meaning of the stars, the verdicts of slopes, and all signatures."""
    shown, short = shown_results(evaluation, results), short_stream_note(evaluation, results)
    slopes = [*([[short]] if short else []), *_slope_notes(shown)]
    paragraphs = [*_significance_note(evaluation), *slopes, *_signature_note(evaluation, shown)]
    return [line for paragraph in paragraphs for line in ("", *paragraph)][1:]


def _significance_note(evaluation: Evaluation) -> Iterator[list[str]]:
    if evaluation.baseline is not None:
        yield [
            f"* p < 0.05, ** p < 0.01, *** p < 0.001 against {evaluation.baseline}",
            f"(approximate randomisation, {evaluation.resamples} resamples, seed {evaluation.seed})",
        ]


def _slope_notes(results: Sequence[SystemResult]) -> Iterator[list[str]]:
    yield from ([_slope_note(result)] for result in results if "verdict" in result.score.detail)


def _signature_note(evaluation: Evaluation, results: Sequence[SystemResult]) -> Iterator[list[str]]:
    first = next(iter(evaluation.systems))
    if scores := [result.score for result in results if result.system == first]:
        yield ["Signatures:", *(f"  {title(score.name)}: {score.signature}" for score in scores)]


def _slope_note(result: SystemResult) -> str:
    score, detail = result.score, result.score.detail
    if score.interval is None:
        return f"{result.system} {title(score.name)}: {detail['verdict']}"
    low, high = score.interval
    span = f"95 % interval {low:.1f} to {high:.1f}, R² {detail['r2']:.2f}, {detail['blocks']} blocks"
    return f"{result.system} {title(score.name)}: {detail['verdict']} ({span})"


def _csv(columns: Sequence[str], rows: Iterator[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def _csv_cell(result: SystemResult, column: str) -> JSON:
    if column in ("difference", "p"):
        comparison = result.comparison
        if comparison is None:
            return None
        return _blank_nan(comparison.difference if column == "difference" else comparison.p_value)
    return result.to_json()[column]


def _blank_nan(value: float) -> float | str:
    return "" if math.isnan(value) else value


def _without_nan(value: JSON) -> JSON:
    """Replace NaN and infinity by None, because JSON has no such numbers."""
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
