"""Charts for plotly: plain dictionaries for the page, whose script sets the colours, and figures for a notebook."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from mtloop.core.errors import need
from mtloop.core.types import JSON
from mtloop.metrics.base import Array
from mtloop.report.chart import Axis, Chart, Series
from mtloop.report.palette import LIGHT, series_style

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Plotly: TypeAlias = dict[str, Any]
DIGITS = 4


def library() -> str:
    """Return the source of plotly.js from the installed Python package."""
    return str(need("plotly.offline", "report").get_plotlyjs())


def figure(chart: Chart) -> Plotly:
    """Return the chart as a plotly figure; `meta` contains each trace's system and colour index for the page."""
    return {"data": [trace for series in chart.series for trace in _traces(series)], "layout": _layout(chart)}


def interactive(chart: Chart) -> Figure:
    """Return the chart as a figure that shows itself in a notebook."""
    data = [_coloured(trace, series) for series in chart.series for trace in _traces(series)]
    layout = _layout(chart) | {"title": {"text": _escaped(chart.title)}, "showlegend": True, "template": "plotly_white"}
    drawn: Figure = need("plotly.graph_objects", "report").Figure({"data": data, "layout": layout})
    return drawn


def _coloured(trace: Plotly, series: Series) -> Plotly:
    """Add the colour and the legend, in which all traces of a system are one group."""
    colour = LIGHT[trace["meta"]["shade"]]
    shown = "name" in trace and series.in_legend
    legend = {"showlegend": shown, "legendgroup": series.name, "name": _escaped(series.label)}
    marker = {"marker": trace["marker"] | {"color": colour}} if "marker" in trace else {}
    line = trace.get("line", {}) | {"color": colour}
    return trace | {"line": line, "fillcolor": f"{colour}2e"} | marker | legend


def _traces(series: Series) -> Iterator[Plotly]:
    if series.band is not None:
        yield _edge(series, series.band.low)
        yield _edge(series, series.band.high) | {"fill": "tonexty"}
    yield _trace(series)


def _trace(series: Series) -> Plotly:
    style = series_style(series.style_number)
    trace = _xy(series, series.y) | {"name": _escaped(series.name), "yhoverformat": ".2f"}
    if series.note:
        trace["hoverinfo"] = "skip"  # the key describes a fitted curve; the mouse shows the points it was fitted to
    if series.mode == "points":
        return trace | {"mode": "markers", "marker": {"symbol": style.symbol, "size": 6, "opacity": 0.8}}
    return trace | {"mode": "lines", "line": {"dash": style.dash, "width": 2}}


def _edge(series: Series, y: Array) -> Plotly:
    return _xy(series, y) | {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}


def _xy(series: Series, y: Array) -> Plotly:
    meta = {"system": series.name, "shade": series_style(series.style_number).shade}
    return {"type": "scatter", "x": _numbers(series.x), "y": _numbers(y), "meta": meta, "connectgaps": False}


def _layout(chart: Chart) -> Plotly:
    layout: Plotly = {
        "xaxis": _axis(chart.x) | {"hoverformat": ",d", "unifiedhovertitle": {"text": _hover_title(chart.x)}},
        "yaxis": _axis(chart.y),
        "shapes": [_vertical(line) for line in chart.vertical_lines],
        "showlegend": False,
        "hovermode": "x unified",
    }
    if chart.horizontal_line is not None:
        layout["shapes"].append(_horizontal(chart.horizontal_line))
    return layout


def _hover_title(axis: Axis) -> str:
    return f"{_escaped(axis.unit)} %{{x}}"


def _axis(axis: Axis) -> Plotly:
    settings: Plotly = {"title": {"text": _escaped(axis.title)}, "type": "log" if axis.log else "linear"}
    if axis.range is not None:
        settings["range"] = [math.log10(limit) for limit in axis.range] if axis.log else list(axis.range)
    if axis.ticks:
        settings |= {"tickvals": list(axis.ticks), "ticktext": [f"{tick:,g}" for tick in axis.ticks]}
    return settings


def _vertical(x: float) -> Plotly:
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper", "line": {"dash": "dot"}}


def _horizontal(y: float) -> Plotly:
    return {"type": "line", "x0": 0, "x1": 1, "xref": "paper", "y0": y, "y1": y}


def _numbers(values: Array) -> list[JSON]:
    """Return rounded numbers, None for NaN: JSON has no NaN, and plotly draws null as a gap."""
    return [round(value, DIGITS) if math.isfinite(value) else None for value in values.tolist()]


def _escaped(text: str) -> str:
    """Escape HTML, because plotly interprets tags in its texts; a system's name is plain text."""
    return html.escape(text, quote=False)
