"""Rendering of pages. There is no build step, nothing is loaded from other hosts, every script is a file."""

from __future__ import annotations

import json
import time
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import Response

from mtloop import __version__
from mtloop.core.types import Score
from mtloop.report.chart_assets import chart_script, chart_style
from mtloop.report.palette import series_style
from mtloop.service.accounts.models import Participant

FOLDER = Path(__file__).parent / "assets"
KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
CHART_ASSETS = {"charts.js": chart_script, "charts.css": chart_style}  # the report uses the same
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def security_policy() -> str:
    """The content security policy: our own files, and pictures that a script writes as data to save a chart."""
    parts = {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "data:",
        "connect-src": "'self'",
        "form-action": "'self'",
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in parts.items())


def page(name: str, who: Participant | None, status: int = 200, **context: Any) -> Response:
    """A complete page."""
    text = _environment().get_template(name).render(who=who, version=__version__, **context)
    headers = {"content-security-policy": security_policy()}
    return Response(text, status, headers, "text/html; charset=utf-8")


def fragment(name: str, if_none_match: str, **context: Any) -> Response:
    """A part of a page, or 304 if the client has the same one."""
    text = _environment().get_template(name).render(**context)
    tag = f'"{sha256(text.encode()).hexdigest()[:32]}"'
    headers = {"etag": tag, "cache-control": "no-cache"}
    if if_none_match == tag:
        return Response(status_code=304, headers=headers)
    return Response(text, headers=headers, media_type="text/html; charset=utf-8")


@lru_cache(maxsize=64)
def asset(name: str) -> bytes | None:
    """The content of a style sheet or script, or None."""
    if name in CHART_ASSETS:
        return CHART_ASSETS[name]().encode()
    path = FOLDER / name
    return path.read_bytes() if name in _asset_names() else None


@lru_cache(maxsize=64)
def asset_url(name: str) -> str:
    """The URL of an asset. It changes with the content, so browsers may cache it forever."""
    content = asset(name)
    assert content is not None, name
    return f"/assets/{sha256(content).hexdigest()[:12]}/{name}"


@lru_cache(maxsize=1)
def _asset_names() -> frozenset[str]:
    return frozenset(path.name for path in FOLDER.iterdir())


@lru_cache(maxsize=1)
def _environment() -> Environment:
    loader = PackageLoader("mtloop.service.pages", "templates")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals |= {"asset_url": asset_url, "series_style": series_style}
    environment.filters |= {"number": _number, "signed": _signed, "ago": _ago, "data": _data}
    return environment


def _number(value: float | None, digits: int = 0) -> str:
    """A number with thousands separators, or a dash for None.

    >>> _number(1234567), _number(0.5, 3), _number(None)
    ('1,234,567', '0.500', '–')
    """
    if value is None or not Score("", value, "").defined:
        return "–"
    return f"{value:,.{digits}f}"


def _signed(value: float | None, digits: int) -> str:
    """A difference with its sign.

    >>> _signed(0.25, 2), _signed(-0.001, 2), _signed(None, 2)
    ('+0.25', '±0.00', '–')
    """
    if value is None:
        return "–"
    text = f"{value:+,.{digits}f}"
    return text if float(text.replace(",", "")) else f"±{0:.{digits}f}"


def _ago(when: float | None) -> str:
    """The time since `when`, in the largest unit that fits."""
    if when is None:
        return "never"
    seconds = max(0, int(time.time() - when))
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            count = seconds // length
            return f"{count} {unit}{'' if count == 1 else 's'} ago"
    return "just now"


def _data(value: object) -> Markup:
    """JSON, escaped for use inside a script element."""
    text = json.dumps(value, ensure_ascii=False)
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return Markup(text)
