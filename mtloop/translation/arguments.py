"""Checks of the arguments of a translator: a wrong type is one clear line."""

from __future__ import annotations

from pathlib import Path

from mtloop.core.errors import InputError


def check_text(name: str, value: object) -> None:
    """Raise InputError if a value is not text.

    >>> check_text("source", None)
    Traceback (most recent call last):
    mtloop.core.errors.InputError: source is None; expected text
    """
    if not isinstance(value, str):
        raise InputError(f"{name} is {value!r:.80}; expected text")


def check_path(name: str, value: object, expected: str) -> None:
    """Raise InputError, which says what is expected, if a value is no path or an empty one."""
    if not isinstance(value, str | Path) or not str(value):
        raise InputError(f"{name} is {value!r:.80}; expected {expected}")
