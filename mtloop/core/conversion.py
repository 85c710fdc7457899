"""Settings as text or JSON, converted to the type that a default has."""

from __future__ import annotations

import math

from mtloop.core.errors import InputError
from mtloop.core.types import JSON


def convert(default: JSON, value: JSON, name: str) -> JSON:
    """A value of the default's type; text from the command line is converted.

    >>> convert(1, "3", "beams"), convert(0.5, 1, "rate")
    (3, 1.0)
    """
    if default is None:
        return value
    wrong = InputError(f"setting {name} takes a {type(default).__name__}, not {value!r}")
    try:
        found: JSON = type(default)(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise wrong from None
    same = found == value and isinstance(value, bool) == isinstance(default, bool)  # 2.5 is no int, nor is True
    if not (same or isinstance(value, str)) or (isinstance(found, float) and math.isnan(found)):
        raise wrong
    return found
