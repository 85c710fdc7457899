"""Tables and charts as plain JSON with rounded numbers, and back again."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from mtloop.core.types import JSON
from mtloop.metrics.base import Array
from mtloop.report.chart import Axis, Band, Chart, Series
from mtloop.report.evaluation_charts import thinned_indices
from mtloop.report.table import Table

MIN_POINTS, MAX_POINTS = 50, 200  # points of one curve
MAX_ALL_POINTS = 14_000  # points of all curves of a file: about 170 kB
DIGITS = 5  # significant digits of a point; a cell of a record has two more


def table_to_json(table: Table) -> dict[str, JSON]:
    """Return a table as plain JSON; numbers that do not exist (0/0) are null."""
    return {
        "title": table.title,
        "headers": list(table.headers),
        "cells": [list(row) for row in table.cells],
        "records": [{name: _plain(value) for name, value in record.items()} for record in table.records],
        "notes": list(table.notes),
        "text_columns": table.text_columns,
    }


def table_from_json(content: Mapping[str, Any]) -> Table:
    return Table(**content)


def points_per_curve(chart: Chart, charts: int = 1) -> int:
    """Return how many points each curve of one of so many charts may have, so that the file stays small."""
    curves = sum(3 if series.band else 1 for series in chart.series)
    return min(MAX_POINTS, max(MIN_POINTS, MAX_ALL_POINTS // max(curves * charts, 1)))


def chart_to_json(chart: Chart, points: int = MAX_POINTS) -> dict[str, JSON]:
    """Return a chart as plain JSON, each curve with at most so many points."""
    return {
        "name": chart.name,
        "title": chart.title,
        "x": _axis_to_json(chart.x),
        "y": _axis_to_json(chart.y),
        "series": [_series_to_json(series, points) for series in chart.series],
        "vertical_lines": list(chart.vertical_lines),
        "horizontal_line": chart.horizontal_line,
        "caption": chart.caption,
    }


def chart_from_json(content: Mapping[str, Any]) -> Chart:
    axes = {side: _axis_from_json(content[side]) for side in ("x", "y")}
    series, lines = tuple(map(_series_from_json, content["series"])), tuple(content["vertical_lines"])
    return Chart(**{**content, **axes, "series": series, "vertical_lines": lines})


def _axis_to_json(axis: Axis) -> dict[str, JSON]:
    limits = None if axis.range is None else _numbers(np.array(axis.range))
    return asdict(axis) | {"range": limits, "ticks": list(axis.ticks)}


def _axis_from_json(content: Mapping[str, Any]) -> Axis:
    limits = content["range"]
    return Axis(**{**content, "range": tuple(limits) if limits else None, "ticks": tuple(content["ticks"])})


def _series_to_json(series: Series, points: int) -> dict[str, JSON]:
    shown, band = thinned_indices(len(series.x), points), series.band
    return {
        "name": series.name,
        "x": _numbers(series.x[shown]),
        "y": _numbers(series.y[shown]),
        "style_number": series.style_number,
        "mode": series.mode,
        "band": None if band is None else {"low": _numbers(band.low[shown]), "high": _numbers(band.high[shown])},
        "note": series.note,
        "in_legend": series.in_legend,
    }


def _series_from_json(content: Mapping[str, Any]) -> Series:
    band = content["band"]
    area = None if band is None else Band(_array(band["low"]), _array(band["high"]))
    return Series(**{**content, "x": _array(content["x"]), "y": _array(content["y"]), "band": area})


def _numbers(values: Array) -> list[JSON]:
    return [_rounded(float(value), DIGITS) for value in values]


def _array(values: Sequence[float | None]) -> Array:
    return np.array([math.nan if value is None else value for value in values], dtype=float)


def _plain(value: JSON) -> JSON:
    return _rounded(value, DIGITS + 2) if isinstance(value, float) else value


def _rounded(value: float, digits: int) -> JSON:
    """Return a number with so many significant digits; whole numbers stay whole, None if it is NaN or infinite.

    >>> _rounded(3.14159265, 4), _rounded(1234567.0, 4), _rounded(float("nan"), 4)
    (3.142, 1234567, None)
    """
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() else float(f"{value:.{digits}g}")
