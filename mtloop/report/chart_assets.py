"""The script and the style sheet that draw charts in a browser, for the report and for the pages of the service."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from mtloop.report.palette import css

CHART_SCRIPTS = ("scales.js", "svg_chart.js", "chart_reading.js", "chart_saving.js", "charts.js")


def chart_script() -> str:
    """Return the script. It draws the charts in the element `chart-data`, JSON made by `drawing_data`."""
    return "\n".join(map(report_asset, CHART_SCRIPTS))


def chart_style() -> str:
    """Return the style sheet, with the colours of the series. The page sets the other colours: `--ink`, `--grid`."""
    return css() + report_asset("chart.css")


@cache
def report_asset(name: str) -> str:
    """Return a file of the folder `assets`."""
    return (files("mtloop.report") / "assets" / name).read_text(encoding="utf-8")
