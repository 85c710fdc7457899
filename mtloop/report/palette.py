"""Colours, dashes and symbols that colour-blind readers can distinguish (after Okabe and Ito), light and dark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Dash = Literal["solid", "dash", "dot", "dashdot"]

# The first colour is neutral, for a baseline. DARK (for dark mode) has the same hues, lighter.
LIGHT = ("#5a5f66", "#0072b2", "#d55e00", "#009e73", "#b8578c", "#b97f00", "#3d9bd4")
DARK = ("#a9b0b8", "#56b4e9", "#f08a4b", "#2ec4a0", "#e39cc4", "#f0c24b", "#a8d4f5")
_DASHES: tuple[Dash, ...] = ("solid", "dot", "dashdot")
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "triangle-down")


@dataclass(frozen=True)
class SeriesStyle:
    """The style of one system in every chart; `shade` is the index of its colour."""

    shade: int
    dash: Dash
    symbol: str


def series_style(number: int) -> SeriesStyle:
    """Return the style of a system: 0 is the baseline; when all colours are used, they repeat with other dashes.

    >>> series_style(0).dash, series_style(1).dash, series_style(7)
    ('dash', 'solid', SeriesStyle(shade=1, dash='dot', symbol='diamond'))
    """
    if number == 0:
        return SeriesStyle(0, "dash", _SYMBOLS[0])
    cycle, shade = divmod(number - 1, len(LIGHT) - 1)
    return SeriesStyle(shade + 1, _DASHES[cycle % len(_DASHES)], _SYMBOLS[(shade + 1 + cycle) % len(_SYMBOLS)])


def css() -> str:
    """Return the colours as CSS custom properties for light and dark mode, and a class for each: `series-1`."""
    dark = f":root {{ {_properties(DARK)} }}"
    light = f":root {{ {_properties(LIGHT)} }}\n@media screen and (prefers-color-scheme: dark) {{ {dark} }}\n"
    classes = (f".series-{number} {{ --colour: var(--series-{number}); }}\n" for number in range(len(LIGHT)))
    return light + "".join(classes)


def _properties(colours: tuple[str, ...]) -> str:
    return " ".join(f"--series-{number}: {colour};" for number, colour in enumerate(colours))
