"""Charts of an evaluation: scores along the stream, differences from the baseline, and fitted learning curves."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mtloop.core.types import Score
from mtloop.metrics.base import Additive, Array
from mtloop.metrics.collateral import Collateral
from mtloop.metrics.effort import crossover
from mtloop.metrics.evaluation import Evaluation, SystemResult
from mtloop.metrics.slope import Fit, Slope, fit
from mtloop.metrics.titles import title
from mtloop.report.chart import Axis, Band, Chart, Series
from mtloop.report.short_streams import shown_metrics
from mtloop.report.wording import error_name, fitted_errors

SIGNIFICANT = 0.05
MAX_POINTS = 1000  # points of a drawn curve; a screen cannot show more
MAX_SHADED_SYSTEMS = 5  # the bands of more systems cannot be distinguished
MAX_DOCUMENT_LINES = 12  # this many lines or more would hide the curves


@dataclass(frozen=True)
class Charts:
    """The three kinds of charts, in the order of a report, and the figures of the 2012 paper."""

    slopes: tuple[Chart, ...]
    curves: tuple[Chart, ...]
    differences: tuple[Chart, ...]
    figures: tuple[Chart, ...] = ()

    def __iter__(self) -> Iterator[Chart]:
        yield from self.slopes + self.curves + self.differences + self.figures

    def __len__(self) -> int:
        return len(self.slopes) + len(self.curves) + len(self.differences) + len(self.figures)


def make_charts(evaluation: Evaluation, results: Sequence[SystemResult], figures: tuple[Chart, ...] = ()) -> Charts:
    """Return every chart that the metrics, the baseline and the length of the stream allow."""
    slopes = [metric for metric in shown_metrics(evaluation, results) if isinstance(metric, Slope)]
    compared = evaluation.additive if evaluation.baseline is not None else []
    compared = [metric for metric in compared if not isinstance(metric, Collateral)]  # its curve is the difference
    return Charts(
        slopes=tuple(slope_chart(evaluation, slope, results) for slope in slopes),
        curves=tuple(learning_curve_chart(evaluation, metric) for metric in evaluation.additive),
        differences=tuple(
            difference_chart(evaluation, metric, results) for metric in compared if len(evaluation.systems) > 1
        ),
        figures=figures,
    )


def style_numbers(evaluation: Evaluation) -> dict[str, int]:
    """Return a number in the palette for each system, the same in all charts; 0 is only for the baseline."""
    others = [system for system in evaluation.systems if system != evaluation.baseline]
    numbers = {system: number for number, system in enumerate(others, start=1)}
    return {system: numbers.get(system, 0) for system in evaluation.systems}


def learning_curve_chart(evaluation: Evaluation, metric: Additive) -> Chart:
    """Return the chart of the score of every prefix of the stream, for all systems."""
    curves = {system: evaluation.curve(system, metric) for system in evaluation.systems}
    return Chart(
        name=f"curve-{_slug(metric.name)}",
        title=f"{title(metric.name)} of all segments so far",
        x=_segment_axis(evaluation),
        y=Axis(f"{title(metric.name)} ({_better_direction(metric)} is better)", range=_initial_range(curves.values())),
        series=_stream_series(evaluation, curves),
        vertical_lines=_document_starts(evaluation),
    )


def difference_chart(evaluation: Evaluation, metric: Additive, results: Sequence[SystemResult]) -> Chart:
    """Return the chart of the cumulative score minus the baseline's at every segment (Figure 2 of the 2019 paper).

    The caption says from which segment on a system is better, if its final difference is significant.
    """
    others = [system for system in evaluation.systems if system != evaluation.baseline]
    curves = {system: evaluation.difference(system, metric) for system in others}
    side = "above" if metric.higher_is_better else "below"
    better = [system for system in others if _is_better(system, metric, results)]
    leads = "; ".join(_lead(system, curves[system], metric) for system in better)
    return Chart(
        name=f"difference-{_slug(metric.name)}",
        title=f"{title(metric.name)} minus that of {evaluation.baseline}",
        x=_segment_axis(evaluation),
        y=Axis(f"Δ {title(metric.name)} ({side} 0 is better)", range=_initial_range([*curves.values(), np.zeros(1)])),
        series=_stream_series(evaluation, curves),
        vertical_lines=_document_starts(evaluation),
        horizontal_line=0.0,
        caption=f"Better than the baseline to the end: {leads}." if leads else "",
    )


def slope_chart(evaluation: Evaluation, slope: Slope, results: Sequence[SystemResult]) -> Chart:
    """Return the chart of the blocks' errors and the learning curve y = a x^b fitted to them (2012)."""
    scores = {result.system: result.score for result in results if result.score.name == slope.name}
    blocks = len(evaluation.block_ends(slope.words))
    return Chart(
        name=_slug(slope.name),
        title=fitted_errors(slope),
        x=Axis(f"blocks of about {slope.words:,} words", unit="block", log=True, ticks=_powers_of_two(blocks)),
        y=Axis(error_name(slope)),
        series=tuple(
            series for system in scores for series in _slope_series(evaluation, slope, scores[system], system)
        ),
    )


def thinned_indices(length: int, points: int = MAX_POINTS) -> NDArray[np.intp]:
    """Return the indices of the points of a long curve to draw: evenly spaced, with the first and the last.

    >>> thinned_indices(5).tolist(), thinned_indices(1001, 3).tolist()
    ([0, 1, 2, 3, 4], [0, 500, 1000])
    """
    return np.unique(np.linspace(0, max(length - 1, 0), min(length, points)).round().astype(np.intp))


def _stream_series(evaluation: Evaluation, curves: dict[str, Array]) -> tuple[Series, ...]:
    numbers = style_numbers(evaluation)
    return tuple(_thinned_series(system, curve, numbers[system]) for system, curve in curves.items())


def _thinned_series(system: str, curve: Array, number: int) -> Series:
    shown = thinned_indices(len(curve))
    return Series(system, (shown + 1).astype(float), curve[shown], number)


def _slope_series(evaluation: Evaluation, slope: Slope, score: Score, system: str) -> Iterator[Series]:
    """Yield the points of one system and, if there are enough, the curve fitted to them."""
    number = style_numbers(evaluation)[system]
    values = evaluation.errors(system, slope)
    x = np.arange(1, len(values) + 1, dtype=float)
    yield Series(system, x, values, number, mode="points", in_legend=not score.defined)
    if score.defined and score.interval is not None:
        shaded = len(evaluation.systems) <= MAX_SHADED_SYSTEMS
        yield _fitted_curve(system, fit(values), score.interval, x, number, shaded)


def _fitted_curve(
    system: str, fitted: Fit, interval: tuple[float, float], blocks: Array, number: int, shaded: bool
) -> Series:
    x = np.geomspace(1, len(blocks), 50)
    low, high = interval
    note = f"S = {fitted.slope:.1f} ({low:.1f} to {high:.1f})"
    band = _band(fitted, x, blocks, interval) if shaded else None
    return Series(system, x, fitted(x), number, band=band, note=note)


def _band(fitted: Fit, x: Array, blocks: Array, interval: tuple[float, float]) -> Band:
    """Return the area of all curves with a slope in the interval, rotated about the middle of the points."""
    middle = np.exp(np.log(blocks).mean())
    rotated = [fitted(middle) * (x / middle) ** math.log2(slope / 100) for slope in interval]
    return Band(np.minimum(*rotated), np.maximum(*rotated))


def _initial_range(curves: Iterable[Array]) -> tuple[float, float] | None:
    """Return the y range after the first twentieth of the stream: scores of very few segments vary too much."""
    values = np.concatenate([curve[min(len(curve) // 20, 200) :] for curve in curves])
    values = values[np.isfinite(values)]
    if not values.size or values.min() == values.max():
        return None
    low, high = float(values.min()), float(values.max())
    margin = (high - low) / 12
    return low - margin, high + margin


def _segment_axis(evaluation: Evaluation) -> Axis:
    length = len(next(iter(evaluation.systems.values())))
    ticks = tuple(map(float, range(1, length + 1))) if length <= 10 else ()
    return Axis("segments so far", unit="segment", ticks=ticks)


def _document_starts(evaluation: Evaluation) -> tuple[float, ...]:
    """Return the segments at which documents begin; empty if there are too many."""
    steps = next(iter(evaluation.systems.values()))
    names = [step.proposal.segment.document for step in steps]
    starts = [number for number in range(1, len(names)) if names[number] != names[number - 1]]
    return tuple(number + 1.0 for number in starts) if len(starts) < MAX_DOCUMENT_LINES else ()


def _is_better(system: str, metric: Additive, results: Sequence[SystemResult]) -> bool:
    """Whether a system is better than the baseline over the whole stream, with p < 0.05."""
    found = next((one.comparison for one in results if (one.system, one.score.name) == (system, metric.name)), None)
    return found is not None and found.p_value < SIGNIFICANT and (found.difference > 0) == metric.higher_is_better


def _lead(system: str, curve: Array, metric: Additive) -> str:
    point = crossover(curve, np.zeros_like(curve), metric.higher_is_better)
    return f"{system} never" if point is None else f"{system} from segment {point + 1:,} on"


def _powers_of_two(blocks: int) -> tuple[float, ...]:
    """Return 1, 2, 4, ... up to the number of blocks; S is the share of errors that remains from one to the next."""
    return tuple(2.0**power for power in range(blocks.bit_length()))


def _better_direction(metric: Additive) -> str:
    return "higher" if metric.higher_is_better else "lower"


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
