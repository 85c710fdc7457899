"""Rendering of the report's templates with jinja2. Every value is escaped; an undefined one is an error."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from mtloop.report.palette import series_style
from mtloop.report.sentences import SystemName

JSON_SETTINGS: dict[str, Any] = {"ensure_ascii": False, "allow_nan": False, "separators": (",", ":")}


def render(template: str, **values: Any) -> str:
    """Return the text of a template in the folder `templates`."""
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("mtloop.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.policies["json.dumps_kwargs"] = JSON_SETTINGS
    environment.filters["series_style"] = series_style
    environment.tests["system_name"] = lambda part: isinstance(part, SystemName)
    return environment
