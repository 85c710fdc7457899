"""Charts of an evaluation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mtloop.core import PostEdit, Proposal, Segment, Step
from mtloop.metrics import BLEU, TER, Recall, Slope
from mtloop.metrics.evaluation import Evaluation
from mtloop.report.evaluation_charts import (
    MAX_POINTS,
    difference_chart,
    learning_curve_chart,
    make_charts,
    slope_chart,
    style_numbers,
    thinned_indices,
)
from mtloop.text.units import ContentWords


def constant_steps(length: int, text: str = "eins zwei drei vier", document: str = "") -> list[Step]:
    context = {"document": document}
    return [Step(i, Proposal(Segment(str(i), "a b c d", context), text), PostEdit(text)) for i in range(length)]


def test_all_charts_of_an_evaluation(evaluation: Evaluation) -> None:
    charts = make_charts(evaluation, list(evaluation.results()))
    assert [chart.name for chart in charts.slopes] == ["slope-u", "slope-ca"]
    assert [chart.name for chart in charts.curves] == ["curve-bleu", "curve-ter", "curve-sbleu", "curve-r0", "curve-r1"]
    assert [chart.name for chart in charts.differences][-1] == "difference-r1"
    assert len(charts) == len(list(charts)) == 12


def test_a_learning_curve_contains_the_score_of_every_prefix(evaluation: Evaluation) -> None:
    ter = evaluation.additive[1]
    chart = learning_curve_chart(evaluation, ter)
    static, adapting = chart.series
    assert adapting.x.tolist() == list(range(1, 61))
    assert adapting.y[-1] == pytest.approx(evaluation.score("adapting", ter).value)
    assert static.style_number == 0
    assert adapting.style_number == 1
    assert chart.y.title == "TER (lower is better)"


def test_a_difference_chart_says_from_where_a_system_is_better(evaluation: Evaluation) -> None:
    chart = difference_chart(evaluation, evaluation.additive[1], list(evaluation.results()))
    (adapting,) = chart.series
    assert chart.horizontal_line == 0
    assert adapting.y[:3].tolist() == [0, 0, 0]
    assert adapting.y[3] < 0
    assert chart.caption == "Better than the baseline to the end: adapting from segment 4 on."


def test_a_difference_that_is_not_significant_has_no_caption(evaluation: Evaluation) -> None:
    assert not difference_chart(evaluation, evaluation.additive[1], []).caption


def test_an_undefined_score_is_a_gap(words: ContentWords) -> None:
    evaluation = Evaluation({"a": constant_steps(3)}, [Recall(words, {1})])
    (series,) = learning_curve_chart(evaluation, evaluation.additive[0]).series
    assert math.isnan(series.y[0])
    assert series.y[1] == 100


def test_a_slope_is_drawn_as_points_and_curve_with_its_interval(evaluation: Evaluation) -> None:
    slope = next(metric for metric in evaluation.metrics if isinstance(metric, Slope))
    chart = slope_chart(evaluation, slope, list(evaluation.results()))
    points, fitted = chart.series[2:]
    assert (points.mode, points.in_legend, fitted.mode) == ("points", False, "line")
    assert len(points.x) == len(evaluation.block_ends(40))
    assert fitted.note.startswith("S = ")
    assert fitted.band is not None
    assert np.all(fitted.band.low <= fitted.y + 1e-9)
    assert np.all(fitted.y <= fitted.band.high + 1e-9)
    assert chart.x.log
    assert chart.x.ticks[:3] == (1, 2, 4)


def test_points_of_a_power_law_are_on_the_fitted_curve() -> None:
    """One segment per block, with errors y = 50 x^-0.3."""
    words = 1000
    refs = ["w " * words] * 12
    wrong = [round(words * 0.5 * (i + 1) ** -0.3) for i in range(12)]
    hyps = [" ".join(["x"] * bad + ["w"] * (words - bad)) for bad in wrong]
    steps = [
        Step(i, Proposal(Segment(str(i), "s " * words), h), PostEdit(r))
        for i, (h, r) in enumerate(zip(hyps, refs, strict=True))
    ]
    slope = Slope(TER(), "u", words, resamples=10)
    evaluation = Evaluation({"a": steps}, [slope])
    points, fitted = slope_chart(evaluation, slope, list(evaluation.results())).series
    assert np.interp(points.x, fitted.x, fitted.y) == pytest.approx(points.y, rel=0.02)


def test_a_stream_too_short_for_a_slope_has_only_points() -> None:
    slope = Slope(TER(), words=1000)
    evaluation = Evaluation({"a": constant_steps(10)}, [slope])
    (points,) = slope_chart(evaluation, slope, list(evaluation.results())).series
    assert points.in_legend


def test_long_curves_are_thinned_but_keep_first_and_last_points() -> None:
    shown = thinned_indices(20_000)
    assert len(shown) == MAX_POINTS
    assert (shown[0], shown[-1]) == (0, 19_999)
    assert thinned_indices(1).tolist() == [0]
    assert thinned_indices(0).tolist() == []
    evaluation = Evaluation({"a": constant_steps(3000)}, [BLEU()])
    (series,) = learning_curve_chart(evaluation, evaluation.additive[0]).series
    assert len(series.x) == MAX_POINTS


def test_the_initial_range_ignores_the_first_segments() -> None:
    steps = constant_steps(100)
    wrong = Step(0, Proposal(Segment("0", ""), "ganz falsch"), PostEdit("eins zwei"))
    evaluation = Evaluation({"a": [wrong, *steps]}, [BLEU()])
    chart = learning_curve_chart(evaluation, evaluation.additive[0])
    assert chart.y.range is not None
    assert chart.y.range[0] > 50
    assert chart.series[0].y[0] == 0


def test_document_starts_are_lines_if_there_are_few() -> None:
    two = [*constant_steps(5, document="one"), *constant_steps(4, document="two")]
    few = Evaluation({"a": two}, [BLEU()])
    assert learning_curve_chart(few, few.additive[0]).vertical_lines == (6,)
    many = Evaluation({"a": [step for i in range(40) for step in constant_steps(1, document=str(i))]}, [BLEU()])
    assert learning_curve_chart(many, many.additive[0]).vertical_lines == ()


def test_without_a_baseline_no_style_is_neutral_and_no_difference_is_drawn() -> None:
    evaluation = Evaluation({"a": constant_steps(3), "b": constant_steps(3)}, [BLEU()])
    assert style_numbers(evaluation) == {"a": 1, "b": 2}
    assert make_charts(evaluation, list(evaluation.results())).differences == ()
