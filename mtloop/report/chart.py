"""Charts as plain data, independent of what draws them: matplotlib, or the script of a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mtloop.metrics.base import Array

Mode = Literal["line", "points", "line and points"]


@dataclass(frozen=True)
class Axis:
    """`unit` names one value; `range` is shown initially; without `ticks` the drawing chooses them."""

    title: str
    unit: str = ""
    log: bool = False
    range: tuple[float, float] | None = None
    ticks: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class Band:
    """The area between two curves over the same x."""

    low: Array
    high: Array


@dataclass(frozen=True, eq=False)
class Series:
    """One curve or set of points; `x` ascends, NaN in `y` is a gap.

    `style_number` is the system's number in the palette. `note` is added to the name in the legend.
    A series with `in_legend=False` is not in the legend.
    """

    name: str
    x: Array
    y: Array
    style_number: int = 0
    mode: Mode = "line"
    band: Band | None = None
    note: str = ""
    in_legend: bool = True

    @property
    def label(self) -> str:
        return f"{self.name}: {self.note}" if self.note else self.name


@dataclass(frozen=True, eq=False)
class Chart:
    """`name` is used in file names and links, `title` is shown; the lines are drawn behind the series."""

    name: str
    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    vertical_lines: tuple[float, ...] = ()
    horizontal_line: float | None = None
    caption: str = ""
