from __future__ import annotations

import struct
import warnings
from pathlib import Path
from xml.etree import ElementTree

import pytest
from helpers.report_samples import sample_chart

from mtloop.report.matplotlib_charts import DPI, HEIGHT, WIDTH, draw, save


def test_a_png_has_the_specified_size(tmp_path: Path) -> None:
    save(sample_chart(points=True), tmp_path / "chart.png")
    content = (tmp_path / "chart.png").read_bytes()
    assert struct.unpack(">II", content[16:24]) == (WIDTH * DPI, HEIGHT * DPI)


def test_an_svg_is_well_formed_and_the_same_every_time(tmp_path: Path) -> None:
    for name in ("one.svg", "two.svg"):
        save(sample_chart(points=True), tmp_path / name)
    content = (tmp_path / "one.svg").read_bytes()
    assert ElementTree.fromstring(content).tag == "{http://www.w3.org/2000/svg}svg"
    assert content == (tmp_path / "two.svg").read_bytes()
    assert b"<dc:date>" not in content


@pytest.mark.parametrize("name", ["$x$ and $", "_hidden", "a\nb", "系统", "x" * 300, "</svg>", "%{y}"])
def test_unusual_names_can_be_drawn(name: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save(sample_chart(name), tmp_path / "chart.svg")
    assert ElementTree.parse(tmp_path / "chart.svg").getroot() is not None


def test_the_legend_contains_the_series_with_in_legend() -> None:
    (legend,) = draw(sample_chart("mine")).legends
    assert [text.get_text() for text in legend.get_texts()] == ["mine: S = 90", "_points"]
