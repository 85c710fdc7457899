"""The tables and figures of the 2012 paper."""

from __future__ import annotations

import math
import re

import pytest
from helpers.report_samples import steps, stream

from mtloop.metrics import TER
from mtloop.metrics.evaluation import Evaluation
from mtloop.metrics.reliability import HeldOutThird, Reliability
from mtloop.report.learning_curves import LearningCurves


@pytest.fixture(scope="module")
def curves() -> LearningCurves:
    systems = {"smt-baseline": stream(False), "mine": stream(True)}
    wrong, right = steps([("a", "x y", "v w")]), steps([("a", "v w", "v w")])
    held_out = tuple(HeldOutThird(name, wrong, right, right) for name in ("one", "one"))
    return LearningCurves(Evaluation(systems, [TER()], resamples=50), 40, {"mine": Reliability(held_out)})


def test_published_and_measured_slopes_are_side_by_side(curves: LearningCurves) -> None:
    lines = str(curves).splitlines()
    assert lines[0] == "Table 2: the published slopes (English-Italian) and ours"
    assert lines[4].split()[:4] == ["smt-baseline", "100.4", "100.0", "90.7"]
    assert lines[5].split()[:3] == ["mine", "-", "55.7"]


def test_a_data_frame_has_numbers(curves: LearningCurves) -> None:
    frame = curves.to_pandas().set_index("system")
    assert frame.dtypes.eq(float).all()
    assert frame.loc["mine", "u_low"] < frame.loc["mine", "u"] < frame.loc["mine", "u_high"] < 100
    assert frame.loc["smt-baseline", "ca_2012"] == 100.3
    assert math.isnan(frame.loc["mine", "ca_2012"])


def test_a_stream_too_short_for_a_slope_says_so(curves: LearningCurves) -> None:
    short = LearningCurves(curves.evaluation, 4000)
    assert re.search(r"\nthe stream is too short for slopes \([0-2] blocks?; 8 are needed\)$", str(short))
    assert math.isnan(short.to_pandas()["u"][0])


def test_held_out_thirds_have_one_row_per_document(curves: LearningCurves) -> None:
    table = curves.held_out_table("mine")
    assert table.headers[:4] == ["document", "TER baseline", "TER ada", "TER final"]
    assert table.cells == [["one", "100.00", "0.00", "0.00", "0.00", "0.00", "0.00"]] * 2  # BLEU needs four words
    assert table.to_pandas()["TER baseline"].tolist() == [100.0, 100.0]
    assert str(table) in curves.text()
    assert curves.text().endswith("p = 1.000)\n")


def test_forgetting_has_one_row_per_method_and_metric(curves: LearningCurves) -> None:
    table = curves.forgetting
    assert table.headers == ["method", "metric", "baseline", "ada", "final", "backward transfer", "95 %", "p"]
    assert table.cells[0] == ["mine", "TER", "100.00", "0.00", "0.00", "0.00", "+0.00 to +0.00", "1.00"]
    assert [(row["method"], row["metric"]) for row in table.records] == [("mine", "TER"), ("mine", "BLEU")]


def test_a_plot_has_all_figures(curves: LearningCurves) -> None:
    names = [picture.chart.name for picture in curves.plot()]
    assert names[:2] == ["figure-1-ter", "figure-2-ter"]
    assert names[-1] == "figure-5-mine-bleu"
