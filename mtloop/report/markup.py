"""HTML from Python, escaped unless it says that it is HTML already."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable

from mtloop.core.types import JSON


class Markup(str):
    """Text that is HTML."""

    __slots__ = ()


def element(tag: str, *content: str, **attributes: str | bool | None) -> Markup:
    """One element; attributes of None or False are left out, `class_` is class and `aria_label` aria-label.

    >>> print(element("td", "a < b", class_="best", colspan=None))
    <td class="best">a &lt; b</td>
    """
    told = "".join(_attribute(name, value) for name, value in attributes.items() if value not in (None, False))
    return Markup(f"<{tag}{told}>{join(content)}</{tag}>")


def join(parts: Iterable[str], between: str = "") -> Markup:
    """Pieces one after the other, plain text escaped."""
    return Markup(between.join(part if isinstance(part, Markup) else html.escape(part) for part in parts))


def _attribute(name: str, value: str | bool | None) -> str:
    shown = name.rstrip("_").replace("_", "-")
    return f" {shown}" if value is True else f' {shown}="{html.escape(str(value))}"'


def script_json(value: JSON) -> Markup:
    """JSON that may stand in a script element: nothing in it can end the element or begin a comment.

    >>> print(script_json("</script>&"))
    "\\u003c/script\\u003e\\u0026"
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))
