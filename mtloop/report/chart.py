"""A picture in words: what is drawn, and nothing of how. Plotly and matplotlib both read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mtloop.metrics.base import Array

Mode = Literal["line", "points"]


@dataclass(frozen=True)
class Axis:
    """`unit` names one value; `range` frames what is seen at first; without `ticks` the plotter sets its own."""

    title: str
    unit: str = ""
    log: bool = False
    range: tuple[float, float] | None = None
    ticks: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class Band:
    """The room between two curves over the same x."""

    low: Array
    high: Array


@dataclass(frozen=True, eq=False)
class Series:
    """One curve or cloud of points; NaN in `y` is a gap. `look` is the system's number in the palette.

    `note` says in words what the curve shows; a series that is not `listed` stays out of the legend.
    """

    name: str
    x: Array
    y: Array
    look: int = 0
    mode: Mode = "line"
    band: Band | None = None
    note: str = ""
    listed: bool = True

    @property
    def label(self) -> str:
        return f"{self.name}: {self.note}" if self.note else self.name


@dataclass(frozen=True, eq=False)
class Chart:
    """`name` is for files and links, `title` for people; `lines` are vertical, `level` is a horizontal one."""

    name: str
    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    lines: tuple[float, ...] = ()
    level: float | None = None
    caption: str = ""
