"""The file of a result: tables, charts and their origin, written and read again."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from mtloop.core.errors import InputError
from mtloop.report.bandit_results import BanditResults
from mtloop.report.chart import Axis, Band, Chart, Series
from mtloop.report.plain_data import MAX_POINTS, chart_from_json, chart_to_json, points_per_curve
from mtloop.report.result_file import DataFile, Origin, ResultFile
from mtloop.report.table import Table

TABLE = Table(["system", "BLEU"], [["mine", "31.20"]], [{"system": "mine", "bleu": 31.2, "r1": math.nan}], notes=["x"])


def chart(points: int = 5, band: bool = False) -> Chart:
    x, y = np.arange(1, points + 1, dtype=float), np.linspace(0, 1, points) ** 2
    series = Series("mine", x, y, 1, band=Band(y - 1, y + 1) if band else None, note="n")
    axis = Axis("segments", unit="segment", range=(0.0, 2.0), ticks=(1.0, 10.0))
    return Chart("curve", "A curve", axis, Axis("BLEU"), (series,), vertical_lines=(2.0,), horizontal_line=0.0)


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    data = tmp_path / "data.tsv"
    data.write_text("source\ttarget\n")
    rows = {"skip": 2, "limit": 0, "shuffle": 0, "distinct": False, "columns": ""}
    origin = Origin("compare", (DataFile.read(data, 7, rows),), {"full": {"rate": 0.1}}, {"shuffle": 3})
    path = ResultFile(origin, "mtloop compare", {"scores": TABLE}, {"curve": chart(band=True)}).write(
        tmp_path / "r.json"
    )
    read = ResultFile.read(path)
    assert (read.origin, read.command) == (origin, "mtloop compare")
    assert read.origin.data[0].rows == {"skip": 2}
    assert str(read.tables["scores"]) == str(TABLE)
    assert read.tables["scores"].records == [{"system": "mine", "bleu": 31.2, "r1": None}]
    drawn, expected = read.charts["curve"], chart(band=True)
    assert (drawn.x, drawn.y, drawn.vertical_lines) == (expected.x, expected.y, expected.vertical_lines)
    np.testing.assert_allclose(drawn.series[0].y, expected.series[0].y, rtol=1e-4)
    assert drawn.series[0].band is not None
    assert ResultFile.read(read.write(tmp_path / "again.json")).to_json() == read.to_json()


def test_systems_from_files_have_short_names_everywhere(tmp_path: Path) -> None:
    names = {"/abs/my data/mine.py:Engine": "mine.py:Engine", "/abs/b/mine.py:Engine": "mine.py:Engine (2)"}
    long, other = names
    table = Table(["system", f"against {long}"], [[long, "1"], [other, "2"]], [{"system": long}], notes=[f"on {other}"])
    curve = Series(long, np.array([1.0]), np.array([2.0]))
    drawn = Chart("c", f"minus {long}", Axis("x"), Axis("y"), (curve,), caption=f"{other}: better")
    origin = Origin("compare", (), {long: {"rate": 1}, other: {"rate": 2}}, trace_commits={other: [None, "a"]})
    text = ResultFile(origin, None, {"t": table}, {"c": drawn}).write(tmp_path / "r.json").read_text(encoding="utf-8")
    assert "/abs" not in text
    read = ResultFile.read(tmp_path / "r.json")
    assert read.origin.settings == {"mine.py:Engine": {"rate": 1}, "mine.py:Engine (2)": {"rate": 2}}
    assert read.origin.trace_commits == {"mine.py:Engine (2)": [None, "a"]}
    assert read.tables["t"].headers[1] == "against mine.py:Engine"
    assert read.tables["t"].notes == ["on mine.py:Engine (2)"]
    assert read.charts["c"].series[0].name == "mine.py:Engine"


def test_long_curves_are_thinned_and_gaps_remain() -> None:
    content = chart_to_json(chart(10_000))
    assert len(content["series"][0]["x"]) == MAX_POINTS  # type: ignore[index, arg-type, call-overload]
    gap = Series("mine", np.array([1.0, 2.0]), np.array([math.nan, 0.123456789]))
    again = chart_from_json(chart_to_json(Chart("c", "", Axis(""), Axis(""), (gap,))))
    assert np.isnan(again.series[0].y[0])
    assert again.series[0].y[1] == 0.12346
    assert points_per_curve(chart(band=True), 50) < points_per_curve(chart(), 50) == MAX_POINTS


@pytest.mark.parametrize(("text", "problem"), [("{", "is not JSON"), ("[]", "format 1"), ('{"format": 9}', "format 1")])
def test_another_file_is_refused_in_one_line(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(InputError, match=problem):
        ResultFile.read(path)


def test_a_result_without_an_origin_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not know its data"):
        BanditResults({"baseline": []}).save(tmp_path / "r.json")


def test_a_result_file_is_json_with_one_line_per_part(tmp_path: Path) -> None:
    path = ResultFile(Origin("select"), None, {"a": TABLE, "b": TABLE}, {}).write(tmp_path / "r.json")
    content = json.loads(path.read_text(encoding="utf-8"))
    assert (content["command"], list(content["tables"]), content["charts"]) == (None, ["a", "b"], {})
    assert len(path.read_text(encoding="utf-8").splitlines()) < 25
