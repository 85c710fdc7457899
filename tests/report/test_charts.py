"""Evaluations as charts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mtloop.core import PostEdit, Proposal, Segment, Step
from mtloop.metrics import BLEU, TER, Recall, Slope
from mtloop.metrics.evaluation import Evaluation
from mtloop.report.evaluation_charts import POINTS, difference, learning_curve, looks, make_charts, slope_fit, thin
from mtloop.text.units import ContentWords


def flat(length: int, text: str = "eins zwei drei vier", document: str = "") -> list[Step]:
    context = {"document": document}
    return [Step(i, Proposal(Segment(str(i), "a b c d", context), text), PostEdit(text)) for i in range(length)]


def test_all_charts_of_an_evaluation(evaluation: Evaluation) -> None:
    charts = make_charts(evaluation, list(evaluation.results()))
    assert [chart.name for chart in charts.slopes] == ["slope-u", "slope-ca"]
    assert [chart.name for chart in charts.curves] == ["curve-bleu", "curve-ter", "curve-sbleu", "curve-r0", "curve-r1"]
    assert [chart.name for chart in charts.differences][-1] == "difference-r1"
    assert len(charts) == len(list(charts)) == 12


def test_a_learning_curve_holds_the_score_of_every_prefix(evaluation: Evaluation) -> None:
    ter = evaluation.additive[1]
    chart = learning_curve(evaluation, ter)
    static, adapting = chart.series
    assert adapting.x.tolist() == list(range(1, 61))
    assert adapting.y[-1] == pytest.approx(evaluation.score("adapting", ter).value)
    assert static.look == 0
    assert adapting.look == 1
    assert chart.y.title == "TER (lower is better)"


def test_a_difference_is_to_the_baseline_and_says_when_a_system_is_ahead(evaluation: Evaluation) -> None:
    chart = difference(evaluation, evaluation.additive[1])
    (adapting,) = chart.series
    assert chart.level == 0
    assert adapting.y[:3].tolist() == [0, 0, 0]
    assert adapting.y[3] < 0
    assert chart.caption == "Ahead for good: adapting from segment 4 on."


def test_nothing_to_measure_stays_a_gap(words: ContentWords) -> None:
    evaluation = Evaluation({"a": flat(3)}, [Recall(words, {1})])
    (series,) = learning_curve(evaluation, evaluation.additive[0]).series
    assert math.isnan(series.y[0])
    assert series.y[1] == 100


def test_a_slope_is_drawn_as_points_and_curve_with_its_interval(evaluation: Evaluation) -> None:
    slope = next(metric for metric in evaluation.metrics if isinstance(metric, Slope))
    chart = slope_fit(evaluation, slope, list(evaluation.results()))
    points, fitted = chart.series[2:]
    assert (points.mode, points.listed, fitted.mode) == ("points", False, "line")
    assert len(points.x) == len(evaluation.ends(40))
    assert fitted.note.startswith("S = ")
    assert fitted.band is not None
    assert np.all(fitted.band.low <= fitted.y + 1e-9)
    assert np.all(fitted.y <= fitted.band.high + 1e-9)
    assert chart.x.log
    assert chart.x.ticks[:3] == (1, 2, 4)


def test_exact_power_law_lies_on_its_curve() -> None:
    """One segment a block, the errors of each drawn from y = 50 x^-0.3."""
    words = 1000
    refs = ["w " * words] * 12
    wrong = [round(words * 0.5 * (i + 1) ** -0.3) for i in range(12)]
    hyps = [" ".join(["x"] * bad + ["w"] * (words - bad)) for bad in wrong]
    steps = [
        Step(i, Proposal(Segment(str(i), "s " * words), h), PostEdit(r))
        for i, (h, r) in enumerate(zip(hyps, refs, strict=True))
    ]
    slope = Slope(TER(), "u", words, samples=10)
    evaluation = Evaluation({"a": steps}, [slope])
    points, fitted = slope_fit(evaluation, slope, list(evaluation.results())).series
    assert np.interp(points.x, fitted.x, fitted.y) == pytest.approx(points.y, rel=0.02)


def test_too_short_for_a_slope_has_points_alone() -> None:
    slope = Slope(TER(), words=1000)
    evaluation = Evaluation({"a": flat(10)}, [slope])
    (points,) = slope_fit(evaluation, slope, list(evaluation.results())).series
    assert points.listed


def test_long_curves_are_thinned_first_and_last_kept() -> None:
    shown = thin(20_000)
    assert len(shown) == POINTS
    assert (shown[0], shown[-1]) == (0, 19_999)
    assert thin(1).tolist() == [0]
    assert thin(0).tolist() == []
    evaluation = Evaluation({"a": flat(3000)}, [BLEU()])
    (series,) = learning_curve(evaluation, evaluation.additive[0]).series
    assert len(series.x) == POINTS


def test_the_frame_leaves_out_the_wild_beginning() -> None:
    steps = flat(100)
    wild = Step(0, Proposal(Segment("0", ""), "ganz falsch"), PostEdit("eins zwei"))
    evaluation = Evaluation({"a": [wild, *steps]}, [BLEU()])
    chart = learning_curve(evaluation, evaluation.additive[0])
    assert chart.y.range is not None
    assert chart.y.range[0] > 50
    assert chart.series[0].y[0] == 0


def test_documents_are_lines_if_they_are_few() -> None:
    two = [*flat(5, document="one"), *flat(4, document="two")]
    few = Evaluation({"a": two}, [BLEU()])
    assert learning_curve(few, few.additive[0]).lines == (6,)
    many = Evaluation({"a": [step for i in range(40) for step in flat(1, document=str(i))]}, [BLEU()])
    assert learning_curve(many, many.additive[0]).lines == ()


def test_without_a_baseline_no_look_is_neutral_and_no_difference_drawn() -> None:
    evaluation = Evaluation({"a": flat(3), "b": flat(3)}, [BLEU()])
    assert looks(evaluation) == {"a": 1, "b": 2}
    assert make_charts(evaluation, list(evaluation.results())).differences == ()
