"""Colours, dashes and symbols that colour-blind readers can tell apart (after Okabe and Ito), on light and dark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Dash = Literal["solid", "dash", "dot", "dashdot"]

# The first is neutral, for a baseline. The dark shades are the same hues, lightened.
LIGHT = ("#5a5f66", "#0072b2", "#d55e00", "#009e73", "#b8578c", "#b97f00", "#3d9bd4")
DARK = ("#a9b0b8", "#56b4e9", "#f08a4b", "#2ec4a0", "#e39cc4", "#f0c24b", "#a8d4f5")
_DASHES: tuple[Dash, ...] = ("solid", "dot", "dashdot")
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "triangle-down")


@dataclass(frozen=True)
class Look:
    """How one system looks in every chart."""

    shade: int
    dash: Dash
    symbol: str


def look(number: int) -> Look:
    """The look of a system: 0 is the baseline; beyond the colours, the same ones come again with other dashes.

    >>> look(0).dash, look(1).dash, look(7)
    ('dash', 'solid', Look(shade=1, dash='dot', symbol='diamond'))
    """
    if number == 0:
        return Look(0, "dash", _SYMBOLS[0])
    lap, shade = divmod(number - 1, len(LIGHT) - 1)
    return Look(shade + 1, _DASHES[lap % len(_DASHES)], _SYMBOLS[(shade + 1 + lap) % len(_SYMBOLS)])


def css() -> str:
    """The colours as custom properties, so that the page can follow the reader's light or dark mode."""
    dark = f":root {{ {_properties(DARK)} }}"
    return f":root {{ {_properties(LIGHT)} }}\n@media screen and (prefers-color-scheme: dark) {{ {dark} }}\n"


def _properties(colours: tuple[str, ...]) -> str:
    return " ".join(f"--series-{number}: {colour};" for number, colour in enumerate(colours))
