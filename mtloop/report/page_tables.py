"""The contents of the page's tables: scores with their significance, slopes with their verdicts, and signatures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mtloop.core.protocols import Metric
from mtloop.core.types import Score
from mtloop.metrics.evaluation import Evaluation, SystemResult
from mtloop.metrics.significance import Comparison
from mtloop.metrics.slope import Slope
from mtloop.metrics.titles import title
from mtloop.report.short_streams import shown_metrics
from mtloop.report.wording import fitted_errors, p_value_text, signed

_ARROWS = {True: ("↑", "higher is better"), False: ("↓", "lower is better")}
_SIGNS = {"learning": "▼", "forgetting": "▲"}
_UNKNOWN = "–"
MAX_COLUMNS = 7  # more are wider than a page of 1,200 pixels


@dataclass(frozen=True)
class ScoreColumn:
    """The heading of a metric; the arrow points to better scores and is empty if neither direction is better."""

    title: str
    arrow: str
    arrow_meaning: str


@dataclass(frozen=True)
class ScoreDifference:
    """A difference from the baseline; without interval if there was nothing to measure."""

    value: str
    interval: str = ""
    p_value: str = ""


@dataclass(frozen=True)
class ScoreCell:
    """One score; `counts` are numerator and denominator of a ratio, and `mark` are the stars of its significance."""

    score: str
    mark: str
    is_best: bool
    counts: str
    difference: ScoreDifference | None


@dataclass(frozen=True)
class ScoreRow:
    """The scores of one system."""

    system: str
    is_baseline: bool
    cells: Sequence[ScoreCell]


@dataclass(frozen=True)
class ScoreTable:
    """The scores of all systems."""

    columns: Sequence[ScoreColumn]
    rows: Sequence[ScoreRow]


@dataclass(frozen=True)
class SlopeRow:
    """The percentage of errors of one system that remains when the text doubles."""

    system: str
    errors: str
    slope: str
    interval: str
    r2: str
    blocks: str
    verdict: str


def page_scores(evaluation: Evaluation, results: Sequence[SystemResult]) -> list[ScoreTable]:
    """Return the scores, systems by metrics, without the slopes; several tables if there are many metrics."""
    metrics = [metric for metric in evaluation.metrics if not isinstance(metric, Slope)]
    parts = (metrics[start : start + MAX_COLUMNS] for start in range(0, len(metrics), MAX_COLUMNS))
    return [_score_table(evaluation, results, part) for part in parts]


def _score_table(evaluation: Evaluation, results: Sequence[SystemResult], metrics: Sequence[Metric]) -> ScoreTable:
    best = {metric.name: _best(metric, results) for metric in metrics}
    rows = [_score_row(system, evaluation.baseline, results, best) for system in evaluation.systems]
    return ScoreTable([_column(metric) for metric in metrics], rows)


def page_slopes(evaluation: Evaluation, results: Sequence[SystemResult]) -> list[SlopeRow]:
    """Return one row per system and slope, without the slopes that the stream is too short for."""
    slopes = {metric.name: metric for metric in shown_metrics(evaluation, results) if isinstance(metric, Slope)}
    return [_slope_row(result, slopes[result.score.name]) for result in results if result.score.name in slopes]


def signatures(metrics: Sequence[Metric], results: Sequence[SystemResult]) -> Iterator[tuple[str, list[str]]]:
    """Yield the title and signatures of every metric; there are several if the signature depends on the system."""
    for metric in metrics:
        distinct = dict.fromkeys(result.score.signature for result in results if result.score.name == metric.name)
        yield title(metric.name), list(distinct)


def _column(metric: Metric) -> ScoreColumn:
    higher: bool | None = getattr(metric, "higher_is_better", None)
    return ScoreColumn(title(metric.name), *(("", "") if higher is None else _ARROWS[higher]))


def _score_row(
    system: str, baseline: str | None, results: Sequence[SystemResult], best: Mapping[str, float | None]
) -> ScoreRow:
    shown = (result for result in results if result.system == system and result.score.name in best)
    return ScoreRow(system, system == baseline, [_score_cell(result, best[result.score.name]) for result in shown])


def _score_cell(result: SystemResult, best: float | None) -> ScoreCell:
    score, comparison = result.score, result.comparison
    return ScoreCell(
        score=str(score),
        mark=comparison.mark if comparison else "",
        is_best=score.defined and score.value == best,
        counts=_counts(score),
        difference=_difference(comparison, score.digits) if comparison else None,
    )


def _difference(comparison: Comparison, digits: int) -> ScoreDifference:
    if comparison.difference != comparison.difference:
        return ScoreDifference("0/0")
    low, high = comparison.interval
    interval = f"{signed(low, digits)} to {signed(high, digits)}"
    return ScoreDifference(signed(comparison.difference, digits), interval, p_value_text(comparison.p_value))


def _counts(score: Score) -> str:
    if score.numerator is None or score.denominator is None:
        return ""
    return f"{score.numerator:,g} of {score.denominator:,g}"


def _best(metric: Metric, results: Iterable[SystemResult]) -> float | None:
    """Return the best value of a column; None if all are equal or the metric has no better direction."""
    values = {result.score.value for result in results if result.score.name == metric.name and result.score.defined}
    higher = getattr(metric, "higher_is_better", None)
    if len(values) < 2 or higher is None:
        return None
    return max(values) if higher else min(values)


def _slope_row(result: SystemResult, slope: Slope) -> SlopeRow:
    score, verdict = result.score, str(result.score.detail.get("verdict", ""))
    interval = score.interval if score.defined else None
    return SlopeRow(
        system=result.system,
        errors=fitted_errors(slope),
        slope=f"{score.value:.1f}" if score.defined else _UNKNOWN,
        interval=f"{interval[0]:.1f} to {interval[1]:.1f}" if interval else _UNKNOWN,
        r2=f"{score.detail['r2']:.2f}" if score.defined else _UNKNOWN,
        blocks=str(score.detail.get("blocks", _UNKNOWN)),
        verdict=f"{_SIGNS.get(verdict, _UNKNOWN)} {verdict}",
    )
