"""Conversion of settings (text or JSON) to the type of their default value."""

from __future__ import annotations

import math

from mtloop.core.errors import InputError
from mtloop.core.types import JSON


def convert(default: JSON, value: JSON, name: str) -> JSON:
    """Return `value` in the type of `default`; a default of None accepts any value.

    Text from the command line is converted. Raise InputError if the conversion fails or loses information.

    >>> convert(1, "3", "beams"), convert(0.5, 1, "rate")
    (3, 1.0)
    """
    if default is None:
        return value
    error = InputError(f"setting {name} takes a {type(default).__name__}, not {value!r}")
    try:
        converted: JSON = type(default)(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise error from None
    lossless = converted == value and isinstance(value, bool) == isinstance(default, bool)  # refuse 2.5 or True as int
    if not (lossless or isinstance(value, str)) or (isinstance(converted, float) and math.isnan(converted)):
        raise error
    return converted
