"""A chart that shows itself in a notebook and can be saved."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mtloop.core.errors import InputError, need
from mtloop.report.chart import Chart

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg")


@dataclass(frozen=True, eq=False)
class Picture:
    """A chart, drawn by matplotlib when it is shown or saved."""

    chart: Chart

    def __repr__(self) -> str:
        return f"Picture({self.chart.title!r}); it shows in a notebook; save it with .save('chart.png')"

    def save(self, path: str | Path) -> Path:
        """Save the chart as PNG or SVG, depending on the suffix."""
        from mtloop.report.matplotlib_charts import save

        path = Path(path)
        if path.suffix.lower() not in SUFFIXES:
            raise InputError(f"the name ends in {path.suffix!r}; expected .png or .svg", path=path)
        save(self.chart, path)
        return path

    def figure(self) -> Figure:
        """Return the chart as a matplotlib figure, to change it."""
        from mtloop.report.matplotlib_charts import draw

        return draw(self.chart)

    def _repr_png_(self) -> bytes:
        from mtloop.report.matplotlib_charts import png

        return png(self.chart)


def check_drawing() -> None:
    """Raise MissingExtra if charts cannot be drawn."""
    need("matplotlib", "report")
