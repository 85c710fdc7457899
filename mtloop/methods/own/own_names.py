"""The names of a user's own engines: `file.py:Class`, `module:Class`, `exec:COMMAND` and `http://HOST/PROJECT`."""

from __future__ import annotations

from pathlib import Path

from mtloop.core.errors import InputError

EXEC = "exec:"
ADDRESSES = ("http://", "https://")


def is_address(name: str) -> bool:
    """Whether a method name is the address of a project.

    >>> [is_address(name) for name in ("http://localhost:8017/manual", "https://example.org/manual", "engine.py:Http")]
    [True, True, False]
    """
    return name.lower().startswith(ADDRESSES)


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
