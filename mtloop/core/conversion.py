"""Conversion of settings (text or JSON) to the type of their default value."""

from __future__ import annotations

import math

from mtloop.core.errors import InputError
from mtloop.core.types import JSON

TYPE_WORDS = {bool: "yes or no", int: "a whole number", float: "a number", str: "text"}  # for error messages
BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def convert(default: JSON, value: JSON, name: str) -> JSON:
    """Return `value` in the type of `default`; a default of None accepts any value.

    Text from the command line is converted. Raise InputError if the conversion fails or loses information.

    >>> convert(1, "3", "beam_size"), convert(0.5, 1, "learning_rate"), convert(True, "No", "shared")
    (3, 1.0, False)
    """
    if default is None:
        return value
    kind = type(default)
    error = InputError(f"setting {name} is {value!r:.40}; expected {TYPE_WORDS.get(kind, kind.__name__)}")
    try:
        converted: JSON = _parse_boolean(value) if kind is bool else kind(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError, KeyError):
        raise error from None
    lossless = converted == value and isinstance(value, bool) == isinstance(default, bool)  # refuse 2.5 or True as int
    if not (lossless or isinstance(value, str)) or (isinstance(converted, float) and math.isnan(converted)):
        raise error
    return converted


def _parse_boolean(value: JSON) -> bool:
    """Return a boolean, also from its text; raise KeyError for other values."""
    return value if isinstance(value, bool) else BOOLEANS[str(value).lower()]
