"""Charts in a notebook."""

from __future__ import annotations

import base64
import sys
from pathlib import Path

import pytest
from helpers.report_samples import sample_chart, stream
from lxml import html

from mtloop.core.errors import InputError, MissingExtra, UnknownName
from mtloop.metrics import TER, Slope
from mtloop.metrics.evaluation import Evaluation
from mtloop.report.notebook import plot, plot_curves
from mtloop.report.picture import Picture

PNG = b"\x89PNG\r\n"


def test_a_plot_shows_one_picture_per_chart(evaluation: Evaluation) -> None:
    curves = plot_curves(evaluation)
    assert len(curves) == 5
    assert repr(curves).startswith("Plot of 5 charts: curve-bleu, curve-ter, curve-sbleu, curve-r0, curve-r1; ")
    images = html.fromstring(f"<div>{curves._repr_html_()}</div>").xpath("img")
    assert [image.get("alt") for image in images][:2] == ["BLEU of all segments so far", "TER of all segments so far"]
    assert all(base64.b64decode(image.get("src").split(",")[1]).startswith(PNG) for image in images)


def test_one_chart_of_a_plot(evaluation: Evaluation) -> None:
    curves = plot_curves(evaluation)
    assert curves["curve-ter"].chart.title == "TER of all segments so far"
    assert [picture.chart.name for picture in curves][1] == "curve-ter"
    with pytest.raises(UnknownName, match="this plot has no chart 'ter'"):
        curves["ter"]


def test_a_plot_is_saved_to_a_folder(tmp_path: Path) -> None:
    (path,) = plot([sample_chart()]).save(tmp_path / "new", "svg")
    assert path == tmp_path / "new" / "chart.svg"
    assert b"<svg" in path.read_bytes()
    with pytest.raises(InputError, match=r"expected \.png or \.svg"):
        plot([sample_chart()]).save(tmp_path, "pdf")


def test_a_picture_is_equal_to_the_saved_file(tmp_path: Path) -> None:
    picture = Picture(sample_chart("$x$"))
    assert picture._repr_png_() == picture.save(tmp_path / "chart.png").read_bytes()
    (legend,) = picture.figure().legends
    assert not legend.get_texts()[0].get_parse_math()


def test_nothing_to_plot_is_an_error() -> None:
    with pytest.raises(InputError, match="a curve needs an additive metric"):
        plot_curves(Evaluation({"a": stream(True, 4)}, [Slope(TER())]))


def test_without_matplotlib_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"^matplotlib is not installed; run: pip install 'mtloop\[report\]'$"):
        plot([sample_chart()])
