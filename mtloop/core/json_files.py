"""Read JSON that may be damaged or hostile: every fault is an error of one line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mtloop.core.errors import InputError, MtloopError

MAX_DEPTH = 100  # of objects and lists inside each other
_MAX_REASON = 200  # characters
_WRONG_FIELDS = (ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError)


def parse_json(text: str | bytes, **options: Any) -> Any:
    """Return the value of a JSON text, like `json.loads`. Raise ValueError also for text that is nested too deeply.

    >>> parse_json('{"a": [1, 2]}')
    {'a': [1, 2]}
    >>> parse_json("[" * 5000 + "]" * 5000)
    Traceback (most recent call last):
    ValueError: more than 100 objects and lists inside each other
    """
    try:
        value = json.loads(text, **options)
    except RecursionError as error:
        raise too_deep() from error
    opened = text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")
    if opened > MAX_DEPTH:
        check_depth(value)
    return value


def check_depth(value: object) -> None:
    """Raise ValueError if objects and lists are nested too deeply: functions that call themselves would fail later."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [inner for one in level for inner in _members(one)]
        if not level:
            return
    raise too_deep()


def too_deep() -> ValueError:
    return ValueError(f"more than {MAX_DEPTH} objects and lists inside each other")


@contextmanager
def json_errors(path: str | Path, kind: str) -> Iterator[None]:
    """Raise InputError if a block cannot read a file, or does not find in it what it expects. `kind`: "a snapshot".

    >>> with json_errors("state.json", "a snapshot"):
    ...     parse_json("{}")["lessons"]
    Traceback (most recent call last):
    mtloop.core.errors.InputError: state.json: not a snapshot: 'lessons' is missing
    """
    try:
        yield
    except MtloopError:
        raise
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path=path) from error
    except _WRONG_FIELDS as error:
        raise InputError(f"not {kind}: {_reason(error)}", path=path) from error


def read_json(path: Path, kind: str) -> Any:
    """Return the JSON value in a file; raise InputError if it cannot be read."""
    with json_errors(path, kind):
        return parse_json(path.read_bytes())


def _members(value: object) -> list[object]:
    if isinstance(value, dict):
        return [*value.values()]
    return value if isinstance(value, list) else []


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"{error} is missing"
    return " ".join(str(error).split())[:_MAX_REASON] or type(error).__name__
