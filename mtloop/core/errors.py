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
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any


class PicklableError(Exception):
    """An exception that can be pickled, and thus cross processes, whatever arguments its `__init__` takes."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self.__dict__)


def _restore(kind: type[PicklableError], arguments: tuple[Any, ...], attributes: dict[str, Any]) -> PicklableError:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(attributes)
    return error


class MtloopError(PicklableError):
    """Base class: catch it to catch every error that the user of mtloop can correct."""


class InputError(MtloopError):
    """A file or value from the user is wrong.

    Examples:
        >>> str(InputError("line is empty", path="hyp.txt", line=3))
        'hyp.txt:3: line is empty'
    """

    def __init__(self, message: str, *, path: str | Path | None = None, line: int | None = None) -> None:
        self.path, self.line = path, line
        location = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(location + message)


class UnknownName(InputError):
    """A name that is not known; the message suggests the closest name and lists all of them.

    `owner` is the thing that lacks the name, such as "method full"; `path` is the file that contains the name. `hint`
    is added to the end of the message.

    Examples:
        >>> str(UnknownName("metric", "blue", ["bleu", "chrf"]))
        "there is no metric 'blue'; did you mean 'bleu'? known: bleu, chrf"
        >>> str(UnknownName("setting", "lr", ["learning_rate"], owner="method full"))
        "method full has no setting 'lr'; known: learning_rate"
    """

    def __init__(
        self,
        kind: str,
        name: str,
        known: Iterable[str],
        *,
        owner: str = "",
        path: str | Path | None = None,
        hint: str = "",
    ) -> None:
        names = sorted(known)
        by_lower = {known_name.lower(): known_name for known_name in names}
        closest = difflib.get_close_matches(name.lower(), by_lower, n=1)
        suggestion = f" did you mean {by_lower[closest[0]]!r}?" if closest else ""
        subject = f"{owner} has" if owner else "there is"
        message = f"{subject} no {kind} {name!r:.40};{suggestion} known: {', '.join(names) or 'none'}"
        super().__init__(message + (f"; {hint}" if hint else ""), path=path)


class TraceError(InputError):
    """A trace cannot be read, or it belongs to another run than the one to resume."""


class SerialisationError(MtloopError):
    """An object cannot be written as JSON, or JSON does not describe the expected object."""


class MissingExtra(MtloopError):
    """An optional dependency is not installed."""


CPU_HINT = "; without a GPU, first install torch for CPU, which is several GB smaller: see pytorch.org/get-started"


def missing_extra(names: Sequence[str], extras: Sequence[str], *, without_torch: bool = False) -> MissingExtra:
    """Return the error about libraries or extras that are not installed, with the command that installs them.

    >>> print(missing_extra(["matplotlib", "jinja2"], ["report"]))
    matplotlib and jinja2 are not installed; run: pip install 'mtloop[report]'
    """
    *first, last = names
    subject = f"{', '.join(first)} and {last} are" if first else f"{last} is"
    hint = CPU_HINT if without_torch else ""
    return MissingExtra(f"{subject} not installed; run: pip install 'mtloop[{','.join(extras)}]'{hint}")


def need(module: str, extra: str) -> ModuleType:
    """Import and return an optional library; raise MissingExtra with the install command if it is absent.

    >>> need("json", "report").__name__
    'json'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise missing_extra([module], [extra], without_torch=module == "torch") from error
