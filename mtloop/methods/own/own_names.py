"""The names of a user's own engines: `file.py:Class`, `module:Class` and `exec:COMMAND`."""

from __future__ import annotations

from pathlib import Path

from mtloop.core.errors import InputError

EXEC = "exec:"


def is_own_engine(name: str) -> bool:
    """Whether a method name refers to a user's own code, and not to a registered method.

    >>> [is_own_engine(name) for name in ("engine.py:Toy", "package.engine:Toy", "exec:python engine.py", "lasso")]
    [True, True, True, False]
    """
    return ":" in name or name.endswith(".py")


def refuse_engine_from_file(name: str, path: str | Path) -> str:
    """Return a method name that was read from a data file. Raise InputError if it would run a user's own code."""
    if is_own_engine(name):
        message = f"names the engine {name!r}, but a data file must not start an engine; name it yourself with --method"
        raise InputError(message, path=path)
    return name
