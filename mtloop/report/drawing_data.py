"""Charts as data for the script that draws them in a browser (`assets/svg_chart.js`)."""

from __future__ import annotations

import math

from mtloop.core.types import JSON
from mtloop.metrics.base import Array
from mtloop.report.chart import Axis, Chart, Series
from mtloop.report.palette import series_style

DIGITS = 5  # significant digits; a screen shows fewer


def drawing_data(chart: Chart) -> dict[str, JSON]:
    """Return everything that the script draws. Series with the same x share one column in `columns`."""
    columns: dict[tuple[JSON, ...], int] = {}
    series: list[JSON] = [_series(one, columns) for one in chart.series]
    return {
        "name": chart.name,
        "title": chart.title,
        "x": _axis(chart.x),
        "y": _axis(chart.y),
        "columns": [list(column) for column in columns],
        "series": series,
        "vertical": list(chart.vertical_lines),
        "horizontal": chart.horizontal_line,
    }


def _axis(axis: Axis) -> dict[str, JSON]:
    return {
        "title": axis.title,
        "unit": axis.unit,
        "log": axis.log,
        "range": None if axis.range is None else list(axis.range),
        "ticks": list(axis.ticks),
    }


def _series(series: Series, columns: dict[tuple[JSON, ...], int]) -> dict[str, JSON]:
    """Return one series; `x` is the number of its column. A fitted curve is not `read`: its points are."""
    style = series_style(series.style_number)
    band = {} if series.band is None else {"low": _numbers(series.band.low), "high": _numbers(series.band.high)}
    return {
        "name": series.name,
        "label": series.label,
        "shade": style.shade,
        "dash": style.dash,
        "symbol": style.symbol,
        "mode": series.mode,
        "legend": series.in_legend,
        "read": not series.note,
        "x": columns.setdefault(tuple(_numbers(series.x)), len(columns)),
        "y": _numbers(series.y),
        **band,
    }


def _numbers(values: Array) -> list[JSON]:
    return [_short(value) for value in values.tolist()]


def _short(value: float) -> JSON:
    """Return the number with few digits, a whole number without a point, and None for NaN, which JSON does not have.

    >>> [_short(value) for value in (1234567.0, 35.06123, 0.0000123456, math.nan)]
    [1234567, 35.061, 1.2346e-05, None]
    """
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() else float(f"{value:.{DIGITS}g}")
