"""Convert the errors of third-party parsers to InputError, with a message of one line that names the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mtloop.core.errors import InputError, MtloopError
from mtloop.text.messages import one_line


@contextmanager
def parser_errors(path: Path, kind: str) -> Iterator[None]:
    """Raise InputError for any exception inside the `with` block: parsers raise undocumented ones on invalid files.

    >>> with parser_errors(Path("a.mo"), "MO"):
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
