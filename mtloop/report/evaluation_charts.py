"""Evaluations as charts: how scores move along the stream, away from the baseline, and down the learning curve."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mtloop.core.types import Score
from mtloop.metrics.base import Additive, Array
from mtloop.metrics.effort import crossover
from mtloop.metrics.evaluation import Evaluation, SystemResult
from mtloop.metrics.slope import Fit, Slope, fit
from mtloop.metrics.titles import title
from mtloop.report.chart import Axis, Band, Chart, Series
from mtloop.report.wording import errors, fitted

POINTS = 1000  # more than a screen has room for
FEW = 5  # systems whose bands can be told apart
DOCUMENTS = 12  # more lines than that would hide the curves


@dataclass(frozen=True)
class Charts:
    """The three kinds, in the order of a report, and the figures of a study."""

    slopes: tuple[Chart, ...]
    curves: tuple[Chart, ...]
    differences: tuple[Chart, ...]
    figures: tuple[Chart, ...] = ()

    def __iter__(self) -> Iterator[Chart]:
        yield from self.slopes + self.curves + self.differences + self.figures

    def __len__(self) -> int:
        return len(self.slopes) + len(self.curves) + len(self.differences) + len(self.figures)


def make_charts(evaluation: Evaluation, results: Sequence[SystemResult], figures: tuple[Chart, ...] = ()) -> Charts:
    """Every chart that the evaluation has the metrics and the baseline for; `results` are those of `evaluation`."""
    slopes = [metric for metric in evaluation.metrics if isinstance(metric, Slope)]
    compared = evaluation.additive if evaluation.baseline is not None else []
    return Charts(
        slopes=tuple(slope_fit(evaluation, slope, results) for slope in slopes),
        curves=tuple(learning_curve(evaluation, metric) for metric in evaluation.additive),
        differences=tuple(difference(evaluation, metric) for metric in compared if len(evaluation.systems) > 1),
        figures=figures,
    )


def looks(evaluation: Evaluation) -> dict[str, int]:
    """A number in the palette for each system, the same in all charts; 0 is for the baseline alone."""
    others = [system for system in evaluation.systems if system != evaluation.baseline]
    numbers = {system: number for number, system in enumerate(others, start=1)}
    return {system: numbers.get(system, 0) for system in evaluation.systems}


def learning_curve(evaluation: Evaluation, metric: Additive) -> Chart:
    """The score of every prefix of the stream, all systems."""
    curves = {system: evaluation.curve(system, metric) for system in evaluation.systems}
    return Chart(
        name=f"curve-{_slug(metric.name)}",
        title=f"{title(metric.name)} of all segments so far",
        x=_segments(evaluation),
        y=Axis(f"{title(metric.name)} ({_better(metric)} is better)", range=_settled(curves.values())),
        series=_along_the_stream(evaluation, curves),
        lines=_documents(evaluation),
    )


def difference(evaluation: Evaluation, metric: Additive) -> Chart:
    """Cumulative score less the baseline's at every segment (Figure 2 of the 2019 paper)."""
    others = [system for system in evaluation.systems if system != evaluation.baseline]
    curves = {system: evaluation.difference(system, metric) for system in others}
    side = "above" if metric.higher_is_better else "below"
    return Chart(
        name=f"difference-{_slug(metric.name)}",
        title=f"{title(metric.name)} less that of {evaluation.baseline}",
        x=_segments(evaluation),
        y=Axis(f"Δ {title(metric.name)} ({side} 0 is better)", range=_settled([*curves.values(), np.zeros(1)])),
        series=_along_the_stream(evaluation, curves),
        lines=_documents(evaluation),
        level=0.0,
        caption=f"Ahead for good: {'; '.join(_ahead(system, curves[system], metric) for system in curves)}.",
    )


def slope_fit(evaluation: Evaluation, slope: Slope, results: Sequence[SystemResult]) -> Chart:
    """The errors of the blocks and the learning curve y = a x^b through them (2012)."""
    scores = {result.system: result.score for result in results if result.score.name == slope.name}
    blocks = len(evaluation.ends(slope.words))
    return Chart(
        name=_slug(slope.name),
        title=fitted(slope),
        x=Axis(f"blocks of about {slope.words:,} words", unit="block", log=True, ticks=_doublings(blocks)),
        y=Axis(errors(slope)),
        series=tuple(series for system in scores for series in _fitted(evaluation, slope, scores[system], system)),
    )


def thin(length: int, points: int = POINTS) -> NDArray[np.intp]:
    """Which points of a long curve to draw: evenly spread, the first and the last among them.

    >>> thin(5).tolist(), thin(1001, 3).tolist()
    ([0, 1, 2, 3, 4], [0, 500, 1000])
    """
    return np.unique(np.linspace(0, max(length - 1, 0), min(length, points)).round().astype(np.intp))


def _along_the_stream(evaluation: Evaluation, curves: dict[str, Array]) -> tuple[Series, ...]:
    numbers = looks(evaluation)
    return tuple(_drawn(system, curve, numbers[system]) for system, curve in curves.items())


def _drawn(system: str, curve: Array, number: int) -> Series:
    shown = thin(len(curve))
    return Series(system, (shown + 1).astype(float), curve[shown], number)


def _fitted(evaluation: Evaluation, slope: Slope, score: Score, system: str) -> Iterator[Series]:
    """The points of one system and, where there are enough, the curve through them."""
    number = looks(evaluation)[system]
    values = evaluation.errors(system, slope)
    x = np.arange(1, len(values) + 1, dtype=float)
    yield Series(system, x, values, number, mode="points", listed=not score.defined)
    if score.defined and score.interval is not None:
        shaded = len(evaluation.systems) <= FEW
        yield _curve(system, fit(values), score.interval, x, number, shaded)


def _curve(system: str, found: Fit, interval: tuple[float, float], blocks: Array, number: int, shaded: bool) -> Series:
    x = np.geomspace(1, len(blocks), 50)
    low, high = interval
    note = f"S = {found.slope:.1f} ({low:.1f} to {high:.1f})"
    band = _band(found, x, blocks, interval) if shaded else None
    return Series(system, x, found(x), number, band=band, note=note)


def _band(found: Fit, x: Array, blocks: Array, interval: tuple[float, float]) -> Band:
    """All curves with a slope in the interval, turned about the middle of the points."""
    middle = np.exp(np.log(blocks).mean())
    turned = [found(middle) * (x / middle) ** math.log2(slope / 100) for slope in interval]
    return Band(np.minimum(*turned), np.maximum(*turned))


def _settled(curves: Iterable[Array]) -> tuple[float, float] | None:
    """A frame for what comes after the first twentieth: a score of three segments says nothing and swings widely."""
    settled = np.concatenate([curve[min(len(curve) // 20, 200) :] for curve in curves])
    settled = settled[np.isfinite(settled)]
    if not settled.size or settled.min() == settled.max():
        return None
    low, high = float(settled.min()), float(settled.max())
    room = (high - low) / 12
    return low - room, high + room


def _segments(evaluation: Evaluation) -> Axis:
    length = len(next(iter(evaluation.systems.values())))
    whole = tuple(map(float, range(1, length + 1))) if length <= 10 else ()
    return Axis("segments so far", unit="segment", ticks=whole)


def _documents(evaluation: Evaluation) -> tuple[float, ...]:
    """Where documents begin, if there are a few of them."""
    steps = next(iter(evaluation.systems.values()))
    names = [step.proposal.segment.document for step in steps]
    starts = [number for number in range(1, len(names)) if names[number] != names[number - 1]]
    return tuple(number + 1.0 for number in starts) if len(starts) < DOCUMENTS else ()


def _ahead(system: str, curve: Array, metric: Additive) -> str:
    point = crossover(curve, np.zeros_like(curve), metric.higher_is_better)
    return f"{system} never" if point is None else f"{system} from segment {point + 1:,} on"


def _doublings(blocks: int) -> tuple[float, ...]:
    """1, 2, 4, ...: S is what each of these steps leaves of the errors."""
    return tuple(2.0**power for power in range(blocks.bit_length()))


def _better(metric: Additive) -> str:
    return "higher" if metric.higher_is_better else "lower"


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
