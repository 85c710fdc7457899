from __future__ import annotations

import json
import math

import numpy as np
from helpers.report_samples import sample_chart

from mtloop.report.chart import Axis, Chart, Series
from mtloop.report.chart_assets import CHART_SCRIPTS, chart_script, report_asset
from mtloop.report.drawing_data import drawing_data


def test_an_undefined_value_is_null_and_never_nan() -> None:
    data = drawing_data(sample_chart())
    json.dumps(data, allow_nan=False)
    line, points = data["series"]  # type: ignore[misc]
    assert line["y"] == [None, 2, 1.5]  # type: ignore[index,call-overload]
    assert line["low"] == [None, 1, 0.5]  # type: ignore[index,call-overload]
    assert "low" not in points  # type: ignore[operator]


def test_names_and_styles_are_plain_data() -> None:
    line, points = drawing_data(sample_chart(points=True))["series"]  # type: ignore[misc]
    shown = {key: line[key] for key in ("name", "label", "shade", "dash", "mode", "read")}  # type: ignore[index,call-overload]
    assert shown == {
        "name": "a & <b>", "label": "a & <b>: S = 90", "shade": 1, "dash": "solid", "mode": "line", "read": False
    }  # fmt: skip
    assert (points["mode"], points["symbol"], points["read"]) == ("points", "diamond", True)  # type: ignore[index,call-overload]


def test_axes_keep_their_range_and_ticks() -> None:
    data = drawing_data(sample_chart())
    assert data["x"] == {"title": "x", "unit": "", "log": True, "range": [1, 4], "ticks": [1, 2]}
    assert (data["vertical"], data["horizontal"]) == ([2.0], 1.0)


def test_series_share_their_x_and_numbers_are_short() -> None:
    x = np.arange(1.0, 4.0)
    series = tuple(Series(name, x, np.array([math.pi, 1e-7 / 3, 1e6])) for name in "ab")
    data = drawing_data(Chart("c", "", Axis("x"), Axis("y"), series))
    assert data["columns"] == [[1, 2, 3]]
    assert [one["x"] for one in data["series"]] == [0, 0]  # type: ignore[union-attr,index,call-overload]
    assert data["series"][0]["y"] == [3.1416, 3.3333e-08, 1000000]  # type: ignore[index,call-overload]


def test_the_scripts_work_without_eval_and_inside_an_element() -> None:
    assert "</" not in chart_script()
    assert not any(word in chart_script() for word in ("eval(", "new Function", "innerHTML", "import(", "fetch("))
    assert sum(len(report_asset(name)) for name in CHART_SCRIPTS) < 50_000
