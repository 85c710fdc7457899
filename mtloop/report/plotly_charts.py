"""Charts for plotly, as plain dictionaries. Colours are left to the page, which knows light from dark."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from typing import Any, TypeAlias

from mtloop.core.errors import need
from mtloop.core.types import JSON
from mtloop.metrics.base import Array
from mtloop.report.chart import Axis, Chart, Series
from mtloop.report.palette import look

Plotly: TypeAlias = dict[str, Any]
DIGITS = 4


def library() -> str:
    """The source of plotly.js, as the installed Python package brings it."""
    return str(need("plotly.offline", "report").get_plotlyjs())


def figure(chart: Chart) -> Plotly:
    """A chart as plotly reads it; `meta` tells the page each trace's system and shade."""
    return {"data": [trace for series in chart.series for trace in _traces(series)], "layout": _layout(chart)}


def _traces(series: Series) -> Iterator[Plotly]:
    if series.band is not None:
        yield _edge(series, series.band.low)
        yield _edge(series, series.band.high) | {"fill": "tonexty"}
    yield _trace(series)


def _trace(series: Series) -> Plotly:
    style = look(series.look)
    trace = _xy(series, series.y) | {"name": _plain(series.name), "yhoverformat": ".2f"}
    if series.note:
        trace["hoverinfo"] = "skip"  # a fit says itself in the key; under the mouse are the points it was fitted to
    if series.mode == "points":
        return trace | {"mode": "markers", "marker": {"symbol": style.symbol, "size": 6, "opacity": 0.8}}
    return trace | {"mode": "lines", "line": {"dash": style.dash, "width": 2}}


def _edge(series: Series, y: Array) -> Plotly:
    return _xy(series, y) | {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}


def _xy(series: Series, y: Array) -> Plotly:
    meta = {"system": series.name, "shade": look(series.look).shade}
    return {"type": "scatter", "x": _numbers(series.x), "y": _numbers(y), "meta": meta, "connectgaps": False}


def _layout(chart: Chart) -> Plotly:
    layout: Plotly = {
        "xaxis": _axis(chart.x) | {"hoverformat": ",d", "unifiedhovertitle": {"text": _hover_title(chart.x)}},
        "yaxis": _axis(chart.y),
        "shapes": [_vertical(line) for line in chart.lines],
        "showlegend": False,
        "hovermode": "x unified",
    }
    if chart.level is not None:
        layout["shapes"].append(_horizontal(chart.level))
    return layout


def _hover_title(axis: Axis) -> str:
    return f"{_plain(axis.unit)} %{{x}}"


def _axis(axis: Axis) -> Plotly:
    drawn: Plotly = {"title": {"text": _plain(axis.title)}, "type": "log" if axis.log else "linear"}
    if axis.range is not None:
        drawn["range"] = [math.log10(limit) for limit in axis.range] if axis.log else list(axis.range)
    if axis.ticks:
        drawn |= {"tickvals": list(axis.ticks), "ticktext": [f"{tick:,g}" for tick in axis.ticks]}
    return drawn


def _vertical(x: float) -> Plotly:
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper", "line": {"dash": "dot"}}


def _horizontal(level: float) -> Plotly:
    return {"type": "line", "x0": 0, "x1": 1, "xref": "paper", "y0": level, "y1": level}


def _numbers(values: Array) -> list[JSON]:
    """JSON has no NaN: what is undefined is null, which plotly leaves out as a gap."""
    return [round(value, DIGITS) if math.isfinite(value) else None for value in values.tolist()]


def _plain(text: str) -> str:
    """Plotly reads tags in its texts; a system's name has none, whatever it looks like."""
    return html.escape(text, quote=False)
