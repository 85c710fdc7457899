"""The exceptions of mtloop.

    MtloopError
    ├── InputError          a file or value from the user is wrong; names the file and line if known
    │   ├── UnknownName      an unknown name; suggests the closest known one
    │   └── TraceError       a trace cannot be read or resumed
    ├── SerialisationError  an object has no JSON form, or JSON does not describe the expected object
    └── MissingExtra        an optional dependency is not installed; names the extra to install

A message is one line. It states the problem, the expected input and a remedy.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType


class MtloopError(Exception):
    """Base class: catch it to catch every error that the user of mtloop can correct."""


class InputError(MtloopError):
    """A file or value from the user is wrong.

    >>> str(InputError("line is empty", path="hyp.txt", line=3))
    'hyp.txt:3: line is empty'
    """

    def __init__(self, message: str, *, path: str | Path | None = None, line: int | None = None) -> None:
        self.path, self.line = path, line
        location = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(location + message)


class UnknownName(InputError):
    """A name that is not in a registry; the message suggests the closest name and lists all of them.

    >>> str(UnknownName("metric", "blue", ["bleu", "chrf"]))
    "unknown metric 'blue'; did you mean 'bleu'? known: bleu, chrf"
    """

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        closest = difflib.get_close_matches(name.lower(), names, n=1)
        hint = f"; did you mean {closest[0]!r}?" if closest else ";"
        super().__init__(f"unknown {kind} {name!r}{hint} known: {', '.join(names)}")


class TraceError(InputError):
    """A trace cannot be read, or it belongs to another run than the one to resume."""


class SerialisationError(MtloopError):
    """An object cannot be written as JSON, or JSON does not describe the expected object."""


class MissingExtra(MtloopError):
    """An optional dependency is not installed."""


def need(module: str, extra: str) -> ModuleType:
    """Import and return an optional library; raise MissingExtra with the install command if it is absent.

    >>> need("json", "report").__name__
    'json'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(f"{module} is not installed; run: pip install 'mtloop[{extra}]'") from error
