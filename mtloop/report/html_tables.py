"""The HTML tables of the report: scores with their significance, and slopes with their verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from mtloop.core.protocols import Metric
from mtloop.core.types import Score
from mtloop.metrics.evaluation import Evaluation, SystemResult
from mtloop.metrics.significance import Comparison
from mtloop.metrics.slope import Slope
from mtloop.metrics.titles import title
from mtloop.report.markup import Markup, element, join
from mtloop.report.wording import fitted_errors, p_value_text, signed

_ARROWS = {True: ("↑", "higher is better"), False: ("↓", "lower is better")}
_SIGNS = {"learning": "▼", "forgetting": "▲"}


def score_table(evaluation: Evaluation, results: Sequence[SystemResult]) -> Markup:
    """Return the scores, systems by metrics; the best of a column is bold, significant differences have stars."""
    metrics = [metric for metric in evaluation.metrics if not isinstance(metric, Slope)]
    names = {metric.name for metric in metrics}
    shown = [result for result in results if result.score.name in names]
    best = {metric.name: _best(metric, shown) for metric in metrics}
    head = [element("th", "System", scope="col"), *map(_heading, metrics)]
    rows = [_score_row(system, evaluation.baseline, shown, best) for system in evaluation.systems]
    return _table("Scores of the whole stream", head, rows)


def slope_table(evaluation: Evaluation, results: Sequence[SystemResult]) -> Markup:
    """Return one line per system and slope: the percentage of errors that remains when the text doubles."""
    slopes = {metric.name: metric for metric in evaluation.metrics if isinstance(metric, Slope)}
    rows = [_slope_row(result, slopes[result.score.name]) for result in results if result.score.name in slopes]
    columns = ("System", "Errors", "S", "95 % interval", "R²", "Blocks", "Verdict")
    head = [element("th", column, scope="col", class_=_alignment(column)) for column in columns]
    return _table("Percentage slopes", head, rows)


def _heading(metric: Metric) -> Markup:
    arrow, tooltip = _ARROWS.get(getattr(metric, "higher_is_better", None), ("", ""))  # type: ignore[arg-type]
    sign = element("abbr", arrow, title=tooltip) if arrow else ""
    return element("th", title(metric.name), " " if arrow else "", sign, scope="col", class_="number")


def _score_row(
    system: str, baseline: str | None, results: Sequence[SystemResult], best: Mapping[str, float | None]
) -> list[Markup]:
    role = element("small", "baseline") if system == baseline else ""
    head = element("th", element("bdi", system), role, scope="row")
    return [head, *(_score_cell(result, best[result.score.name]) for result in results if result.system == system)]


def _score_cell(result: SystemResult, best: float | None) -> Markup:
    score, comparison = result.score, result.comparison
    stars = element("span", comparison.mark if comparison else "", class_="stars")
    small = _difference(comparison) if comparison else ""
    kind = "number best" if score.defined and score.value == best else "number"
    return element("td", element("span", str(score), class_="score"), stars, small, class_=kind, title=_counts(score))


def _difference(comparison: Comparison) -> Markup:
    if comparison.difference != comparison.difference:
        return element("small", "0/0")
    low, high = comparison.interval
    span = f"{signed(low)} to {signed(high)}"
    tooltip = f"difference from the baseline, 95 % interval {span}, {p_value_text(comparison.p_value)}"
    return element("small", f"{signed(comparison.difference)} ", element("span", span, class_="span"), title=tooltip)


def _counts(score: Score) -> str | None:
    """Return numerator and denominator of a ratio for the tooltip; None for other scores."""
    if score.numerator is None or score.denominator is None:
        return None
    return f"{score.numerator:,g} of {score.denominator:,g}"


def _best(metric: Metric, results: Iterable[SystemResult]) -> float | None:
    """Return the best value of a column; None if all are equal or the metric has no better direction."""
    values = {result.score.value for result in results if result.score.name == metric.name and result.score.defined}
    higher = getattr(metric, "higher_is_better", None)
    if len(values) < 2 or higher is None:
        return None
    return max(values) if higher else min(values)


def _slope_row(result: SystemResult, slope: Slope) -> list[Markup]:
    score, verdict = result.score, str(result.score.detail.get("verdict", ""))
    low, high = (f"{limit:.1f}" for limit in score.interval) if score.interval and score.defined else ("", "")
    cells = {
        "Errors": fitted_errors(slope),
        "S": f"{score.value:.1f}" if score.defined else "–",
        "95 % interval": f"{low} to {high}" if low else "–",
        "R²": f"{score.detail['r2']:.2f}" if score.defined else "–",
        "Blocks": f"{score.detail.get('blocks', '–')}",
        "Verdict": f"{_SIGNS.get(verdict, '–')} {verdict}",
    }
    head = element("th", element("bdi", result.system), scope="row")
    return [head, *(element("td", text, class_=_alignment(column)) for column, text in cells.items())]


def _alignment(column: str) -> str | None:
    return "number" if column in ("S", "95 % interval", "R²", "Blocks") else None


def _table(caption: str, head: Sequence[Markup], rows: Iterable[Sequence[Markup]]) -> Markup:
    """Return a table that can be scrolled sideways on a narrow screen, also with the keyboard."""
    body = join(element("tr", *row) for row in rows)
    top = element("thead", element("tr", *head))
    table = element("table", element("caption", caption), top, element("tbody", body))
    return element("div", table, class_="scroll", tabindex="0", role="region", aria_label=caption)


def signatures(metrics: Sequence[Metric], results: Sequence[SystemResult]) -> Iterator[Markup]:
    """Yield the signatures of every metric; there are several if the signature depends on the system."""
    for metric in metrics:
        distinct = dict.fromkeys(result.score.signature for result in results if result.score.name == metric.name)
        yield element("dt", title(metric.name))
        yield from (element("dd", element("code", signature)) for signature in distinct)
