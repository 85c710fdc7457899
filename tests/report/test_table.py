"""Tables as text, as HTML and as data frames."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
from helpers.report_samples import HOSTILE
from lxml import html

from mtloop.core.errors import MissingExtra
from mtloop.report.table import Table

TABLE = Table(
    headers=["system", "BLEU", "p"],
    cells=[["static", "9.50", "-"], ["adapting", "31.20*", "0.020"]],
    records=[{"system": "static", "bleu": 9.5, "n": 3}, {"system": "adapting", "bleu": 31.2, "n": 3, "p": 0.02}],
    title="Scores",
    notes=["* p < 0.05", "", "Signatures:"],
)


def test_the_first_column_is_aligned_to_the_left_and_the_others_to_the_right() -> None:
    assert str(TABLE).splitlines() == [
        "Scores",
        "",
        "system      BLEU      p",
        "--------  ------  -----",
        "static      9.50      -",
        "adapting  31.20*  0.020",
        "",
        "* p < 0.05",
        "",
        "Signatures:",
    ]
    assert repr(TABLE) == str(TABLE)
    assert len(TABLE) == 2


def test_cells_are_printed_as_they_are() -> None:
    """A library that recognises numbers would print 81 for 81.0, and 1000 for 1e3."""
    lines = str(Table(["a", "b"], [["x", "81.0"], ["y", "1e3"]])).splitlines()
    assert [line.split()[1] for line in lines[2:]] == ["81.0", "1e3"]


def test_several_text_columns_and_no_rows() -> None:
    two = Table(["a", "b", "c"], [["x", "long text", "1"], ["x", "y", "2"]], text_columns=2)
    assert str(two).splitlines()[3] == "x    y            2"
    assert str(Table(["a", "b"], [])).splitlines()[0] == "a    b"


def test_html_has_the_same_cells_and_notes() -> None:
    page = html.fromstring(f"<div>{TABLE._repr_html_()}</div>")
    assert [[cell.text for cell in row] for row in page.xpath(".//tr")] == [TABLE.headers, *TABLE.cells]
    assert page.xpath("string(.//caption)") == "Scores"
    assert [note.text for note in page.xpath("p/small")] == ["* p < 0.05", "Signatures:"]
    assert [cell.get("style") for cell in page.xpath(".//tbody/tr[1]/td")] == [
        "text-align: left",
        "text-align: right",
        "text-align: right",
    ]


def test_html_shows_hostile_texts_as_text() -> None:
    shown = Table([HOSTILE, "&amp;"], [[HOSTILE, "<b>"]], title=HOSTILE, notes=[HOSTILE])._repr_html_()
    page = html.fromstring(f"<div>{shown}</div>")
    assert not page.xpath(".//script | .//img | .//b")
    assert [cell.text for cell in page.xpath(".//td")] == [HOSTILE, "<b>"]
    assert [cell.text for cell in page.xpath(".//th")] == [HOSTILE, "&amp;"]
    assert page.xpath("string(.//caption)") == page.xpath("string(.//small)") == HOSTILE


def test_the_numbers_of_a_data_frame_are_numbers() -> None:
    frame = TABLE.to_pandas()
    assert frame["system"].tolist() == ["static", "adapting"]
    assert {name: frame[name].dtype.kind for name in ("bleu", "n", "p")} == {"bleu": "f", "n": "i", "p": "f"}
    assert frame["bleu"].mean() == pytest.approx(20.35)
    assert math.isnan(frame["p"][0])


def test_without_pandas_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra) as caught:
        TABLE.to_pandas()
    assert str(caught.value) == "pandas is not installed; run: pip install 'mtloop[pandas]'"


def test_importing_tables_and_results_loads_no_large_library() -> None:
    code = "import sys, mtloop.report, mtloop.report.result; print(*sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert "mtloop.report.table" in loaded
    assert not loaded & {"numpy", "pandas", "matplotlib", "jinja2", "tabulate", "sacrebleu"}
