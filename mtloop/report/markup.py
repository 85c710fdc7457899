"""HTML from Python; plain strings are escaped, `Markup` is not."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable

from mtloop.core.types import JSON


class Markup(str):
    """A string that is HTML and must not be escaped again."""

    __slots__ = ()


def element(tag: str, *content: str, **attributes: str | bool | None) -> Markup:
    """Return one HTML element; attributes that are None or False are left out.

    In attribute names, a trailing underscore is removed and others become hyphens: `class_`, `aria_label`.

    >>> print(element("td", "a < b", class_="best", colspan=None))
    <td class="best">a &lt; b</td>
    """
    shown = "".join(_attribute(name, value) for name, value in attributes.items() if value not in (None, False))
    return Markup(f"<{tag}{shown}>{join(content)}</{tag}>")


def join(parts: Iterable[str], separator: str = "") -> Markup:
    """Concatenate the parts as HTML; plain strings are escaped."""
    return Markup(separator.join(part if isinstance(part, Markup) else html.escape(part) for part in parts))


def _attribute(name: str, value: str | bool | None) -> str:
    html_name = name.rstrip("_").replace("_", "-")
    return f" {html_name}" if value is True else f' {html_name}="{html.escape(str(value))}"'


def script_json(value: JSON) -> Markup:
    """Return JSON that is safe inside a script element: nothing in it can end the element or begin a comment.

    >>> print(script_json("</script>&"))
    "\\u003c/script\\u003e\\u0026"
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))
