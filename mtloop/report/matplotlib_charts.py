"""Charts as PNG and SVG, drawn by matplotlib without a display and without its global state."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mtloop.core.atomic import atomic
from mtloop.core.errors import need
from mtloop.report.chart import Axis, Chart, Series
from mtloop.report.palette import LIGHT, series_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT, DPI = 8.0, 4.5, 160
_DASHES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
_SYMBOLS = {"circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "x": "X", "cross": "P"}
_SETTINGS = {
    "svg.hashsalt": "mtloop",  # without it, the ids in an SVG are random
    "text.parse_math": False,  # a dollar sign in a system's name is text
    "font.size": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
}


def save(chart: Chart, path: Path, metadata: Mapping[str, str] | None = None) -> None:
    """Draw a chart into a PNG or SVG file, depending on the suffix. Equal charts give equal bytes.

    `metadata` are texts by name that a PNG file carries.
    """
    kind = path.suffix.removeprefix(".")
    with _settings(), atomic(path) as file:
        draw(chart).savefig(file, format=kind, metadata={"Date": None} if kind == "svg" else dict(metadata or {}))


def png(chart: Chart) -> bytes:
    """Return a chart as the content of a PNG file."""
    content = io.BytesIO()
    with _settings():
        draw(chart).savefig(content, format="png")
    return content.getvalue()


def draw(chart: Chart) -> Figure:
    """Return the chart as a matplotlib figure."""
    with _settings():
        figure: Figure = need("matplotlib.figure", "report").Figure((WIDTH, HEIGHT), dpi=DPI, layout="constrained")
        axes = figure.add_subplot(title=chart.title)
        handles = [_draw_series(axes, series) for series in chart.series]
        _set_axis(axes, "x", chart.x)
        _set_axis(axes, "y", chart.y)
        _add_lines(axes, chart)
        pairs = zip(chart.series, handles, strict=True)
        _add_legend(figure, {series.label: handle for series, handle in pairs if series.in_legend})
    return figure


def _draw_series(axes: Axes, series: Series) -> Any:
    style = series_style(series.style_number)
    colour = LIGHT[style.shade]
    if series.band is not None:
        axes.fill_between(series.x, series.band.low, series.band.high, color=colour, alpha=0.15, linewidth=0)
    marker = "" if series.mode == "line" else _SYMBOLS.get(style.symbol, "v")
    dash = "none" if series.mode == "points" else _DASHES[style.dash]
    return axes.plot(series.x, series.y, linestyle=dash, linewidth=1.6, marker=marker, markersize=4, color=colour)[0]


def _set_axis(axes: Axes, side: Literal["x", "y"], axis: Axis) -> None:
    axes.set(**{f"{side}label": axis.title, f"{side}scale": "log" if axis.log else "linear"})
    if axis.ticks:
        drawn = axes.xaxis if side == "x" else axes.yaxis
        drawn.set_ticks(list(axis.ticks), labels=[f"{tick:,g}" for tick in axis.ticks])
        drawn.set_ticks([], minor=True)
    if axis.range is not None:
        axes.set(**{f"{side}lim": axis.range})


def _add_lines(axes: Axes, chart: Chart) -> None:
    axes.margins(x=0.02)
    axes.grid(axis="y", color="#e3e6ea", linewidth=0.8)
    axes.set_axisbelow(True)
    for line in chart.vertical_lines:
        axes.axvline(line, color="#b4bcc6", linewidth=0.8, linestyle=":", zorder=0.5)
    if chart.horizontal_line is not None:
        axes.axhline(chart.horizontal_line, color="#5a5f66", linewidth=1, zorder=0.9)


def _add_legend(figure: Figure, handles: dict[str, Any]) -> None:
    """Put the legend below the axes; a long legend makes the figure higher instead of shrinking the axes."""
    labels = [_shortened(label) for label in handles]
    if labels:
        columns = min(4, max(1, 100 // (max(map(len, labels)) + 8)))
        figure.legend(handles.values(), labels, loc="outside lower center", ncols=columns, frameon=False)
        figure.set_figheight(HEIGHT + 0.21 * max(0, math.ceil(len(labels) / columns) - 2))


def _shortened(label: str, length: int = 90) -> str:
    text = " ".join(label.split())
    return text if len(text) <= length else text[: length - 1] + "…"


@contextmanager
def _settings() -> Iterator[None]:
    matplotlib = need("matplotlib", "report")
    with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # such a character is drawn as a box
        yield
