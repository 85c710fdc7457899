from __future__ import annotations

import json
import math

import pytest
from helpers.report_samples import sample_chart

from mtloop.report.plotly_charts import figure, library


def test_plotly_accepts_every_property() -> None:
    from plotly.graph_objects import Figure

    drawn = Figure(figure(sample_chart(points=True)))
    assert len(drawn.data) == 4  # the two edges of the band, the line, the points


def test_an_undefined_value_is_a_gap_and_never_nan() -> None:
    drawn = figure(sample_chart())
    json.dumps(drawn, allow_nan=False)
    assert drawn["data"][2]["y"] == [None, 2.0, 1.5]
    assert drawn["data"][2]["connectgaps"] is False


def test_names_are_text_for_plotly() -> None:
    assert figure(sample_chart())["data"][2]["name"] == "a &amp; &lt;b&gt;"
    assert figure(sample_chart())["data"][2]["meta"] == {"system": "a & <b>", "shade": 1}


def test_log_axes_have_a_range_in_powers_of_ten_and_the_given_ticks() -> None:
    layout = figure(sample_chart())["layout"]
    assert layout["xaxis"]["range"] == pytest.approx([0, math.log10(4)])
    assert layout["xaxis"]["ticktext"] == ["1", "2"]
    assert layout["yaxis"]["range"] == [0, 3]


def test_the_library_is_plotly_js() -> None:
    assert "plotly.js v" in library()[:100]
    assert "</script" not in library()
