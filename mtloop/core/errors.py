"""Every error that mtloop raises on purpose.

    MtloopError
    ├── InputError      a file or value from the user is wrong; names the file and line where there is one
    │   ├── UnknownName  an unknown name; suggests the right ones
    │   └── TraceError   a trace that cannot be read or continued
    ├── WireError       an object that cannot become JSON, or JSON that is no such object
    └── MissingExtra    an optional dependency is not installed; names the extra

A message says what was wrong, what was expected and what to try, in one line.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType


class MtloopError(Exception):
    """The root: catching it catches everything a user of mtloop can mend."""


class InputError(MtloopError):
    """Something the user handed in is wrong.

    >>> str(InputError("line is empty", path="hyp.txt", line=3))
    'hyp.txt:3: line is empty'
    """

    def __init__(self, message: str, *, path: str | Path | None = None, line: int | None = None) -> None:
        self.path, self.line = path, line
        where = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(where + message)


class UnknownName(InputError):
    """A name that no registry knows; the message offers the nearest and then all of them.

    >>> str(UnknownName("metric", "blue", ["bleu", "chrf"]))
    "unknown metric 'blue'; did you mean 'bleu'? known: bleu, chrf"
    """

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = difflib.get_close_matches(name.lower(), names, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ";"
        super().__init__(f"unknown {kind} {name!r}{hint} known: {', '.join(names)}")


class TraceError(InputError):
    """A trace that cannot be read, or that is of another run than the one it should continue."""


class WireError(MtloopError):
    """An object that cannot be written as JSON, or JSON that does not describe such an object."""


class MissingExtra(MtloopError):
    """An optional library is not installed."""


def need(module: str, extra: str) -> ModuleType:
    """Import an optional library, or say in one line how to get it.

    >>> need("json", "report").__name__
    'json'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(f"{module} is not installed; run: pip install 'mtloop[{extra}]'") from error
