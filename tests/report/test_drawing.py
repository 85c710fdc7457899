"""Drawing charts: for plotly, as PNG and as SVG."""

from __future__ import annotations

import json
import math
import struct
import warnings
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from mtloop.core.errors import MissingExtra
from mtloop.report import check
from mtloop.report.chart import Axis, Band, Chart, Series
from mtloop.report.matplotlib_charts import DPI, HEIGHT, WIDTH, draw, save
from mtloop.report.palette import DARK, LIGHT, css, series_style
from mtloop.report.plotly_charts import figure, library

X = np.array([1.0, 2.0, 3.0])
Y = np.array([math.nan, 2.0, 1.5])


def chart(name: str = "a & <b>", points: bool = False) -> Chart:
    line = Series(name, X, Y, style_number=1, band=Band(Y - 1, Y + 1), note="S = 90")
    dots = Series("_points", X, Y, style_number=2, mode="points" if points else "line")
    x = Axis("x", log=True, ticks=(1, 2), range=(1, 4))
    return Chart("chart", "Title", x, Axis("y", range=(0, 3)), (line, dots), vertical_lines=(2.0,), horizontal_line=1.0)


def test_plotly_accepts_every_property() -> None:
    from plotly.graph_objects import Figure

    drawn = Figure(figure(chart(points=True)))
    assert len(drawn.data) == 4  # the two edges of the band, the line, the points


def test_an_undefined_value_is_a_gap_and_never_nan() -> None:
    drawn = figure(chart())
    json.dumps(drawn, allow_nan=False)
    assert drawn["data"][2]["y"] == [None, 2.0, 1.5]
    assert drawn["data"][2]["connectgaps"] is False


def test_names_are_text_for_plotly() -> None:
    assert figure(chart())["data"][2]["name"] == "a &amp; &lt;b&gt;"
    assert figure(chart())["data"][2]["meta"] == {"system": "a & <b>", "shade": 1}


def test_log_axes_have_a_range_in_powers_of_ten_and_the_given_ticks() -> None:
    layout = figure(chart())["layout"]
    assert layout["xaxis"]["range"] == pytest.approx([0, math.log10(4)])
    assert layout["xaxis"]["ticktext"] == ["1", "2"]
    assert layout["yaxis"]["range"] == [0, 3]


def test_the_library_is_plotly_js() -> None:
    assert "plotly.js v" in library()[:100]
    assert "</script" not in library()


def test_a_png_has_the_specified_size(tmp_path: Path) -> None:
    save(chart(points=True), tmp_path / "chart.png")
    content = (tmp_path / "chart.png").read_bytes()
    assert struct.unpack(">II", content[16:24]) == (WIDTH * DPI, HEIGHT * DPI)


def test_an_svg_is_well_formed_and_the_same_every_time(tmp_path: Path) -> None:
    for name in ("one.svg", "two.svg"):
        save(chart(points=True), tmp_path / name)
    content = (tmp_path / "one.svg").read_bytes()
    assert ElementTree.fromstring(content).tag == "{http://www.w3.org/2000/svg}svg"
    assert content == (tmp_path / "two.svg").read_bytes()
    assert b"<dc:date>" not in content


@pytest.mark.parametrize("name", ["$x$ and $", "_hidden", "a\nb", "系统", "x" * 300, "</svg>", "%{y}"])
def test_unusual_names_can_be_drawn(name: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save(chart(name), tmp_path / "chart.svg")
    assert ElementTree.parse(tmp_path / "chart.svg").getroot() is not None


def test_the_legend_contains_the_series_with_in_legend() -> None:
    (legend,) = draw(chart("mine")).legends
    assert [text.get_text() for text in legend.get_texts()] == ["mine: S = 90", "_points"]


def test_the_palette_has_a_style_for_every_system() -> None:
    styles = [series_style(number) for number in range(40)]
    assert all(one.shade < len(LIGHT) == len(DARK) for one in styles)
    assert len({(one.shade, one.dash) for one in styles[:19]}) == 19
    assert css().count("--series-0:") == 2


def test_a_missing_extra_is_an_error_with_the_install_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(__import__("sys").modules, "plotly", None)
    with pytest.raises(MissingExtra, match=r"plotly is not installed; run: pip install 'mtloop\[report\]'"):
        check(tmp_path / "report.html")
