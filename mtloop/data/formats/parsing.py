"""Parsers that others wrote: whatever they trip over is said in one line that names the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mtloop.core.errors import InputError, MtloopError
from mtloop.text.messages import one_line


@contextmanager
def parsing(path: Path, kind: str) -> Iterator[None]:
    """Around a call of a library that fails on bad files in ways it does not document.

    >>> with parsing(Path("a.mo"), "MO"):
    ...     raise AssertionError("bad magic")
    Traceback (most recent call last):
    mtloop.core.errors.InputError: a.mo: not readable as MO: bad magic
    """
    try:
        yield
    except MtloopError:
        raise
    except Exception as error:
        raise InputError(f"not readable as {kind}: {one_line(error)}", path=path, line=_line(error)) from error


def _line(error: Exception) -> int | None:
    line = getattr(getattr(error, "parse_state", error), "lineno", None)
    return line if isinstance(line, int) else None
