"""The trace on disk: a header line, then one JSON line an event, flushed as it goes.

No clock times inside, so equal runs are equal bytes. A process killed in the middle of a line leaves a torn
last line; reading drops it, appending cuts it off and goes on.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, TypeAlias

from mtloop.core import serialisation
from mtloop.core.errors import TraceError, WireError
from mtloop.core.types import Feedback, Fields, Learned, Step

FORMAT = 1
_HEADER = b'{"kind":"header"'


@dataclass(frozen=True, slots=True)
class Header:
    """Enough to run it again: configuration, seed, versions, number of threads."""

    config: Fields = field(default_factory=dict)
    seed: int = 0
    versions: Mapping[str, str] = field(default_factory=dict)
    threads: int = 1
    format: int = 0  # written as FORMAT; 0 only so that it is never left out as a default


@dataclass(frozen=True, slots=True)
class LateFeedback:
    """Feedback that came after its step was written."""

    step: int
    feedback: Feedback | None = None
    learned: Learned | None = None


@dataclass(frozen=True, slots=True)
class Retract:
    """A lesson taken back; `step` names it."""

    step: int


Event: TypeAlias = Step | LateFeedback | Retract
_KINDS: dict[str, type[Event]] = {"step": Step, "feedback": LateFeedback, "retract": Retract}
_NAMES: dict[type, str] = {kind: name for name, kind in _KINDS.items()}


@dataclass(frozen=True)
class Trace:
    """What happened, in order: the only hand-over to metrics, reports and leaderboards."""

    header: Header
    events: tuple[Event, ...] = ()
    torn: bool = False  # its last line was cut short, and is not here

    @property
    def steps(self) -> list[Step]:
        """The steps by index, with late feedback where it belongs."""
        steps = {event.index: event for event in self.events if isinstance(event, Step)}
        for event in self.events:
            if isinstance(event, LateFeedback):
                steps[event.step] = replace(steps[event.step], feedback=event.feedback, learned=event.learned)
        return [steps[index] for index in sorted(steps)]

    def lessons(self) -> Iterator[Step]:
        """What was learned, in the order it was learned, less what was taken back."""
        retracted = {event.step for event in self.events if isinstance(event, Retract)}
        steps = {step.index: step for step in self.steps}
        told = [event for event in self.events if not isinstance(event, Retract) and event.feedback is not None]
        order = (event.index if isinstance(event, Step) else event.step for event in told)
        return (steps[index] for index in order if index not in retracted)

    @classmethod
    def read(cls, path: str | Path) -> Trace:
        """Read a whole trace; a torn last line is dropped, anything else that is wrong names its line."""
        content = _content(path)
        lines = _whole_lines(content)
        if not lines:
            raise TraceError("holds no trace: there is no header line", path=path)
        header = _header(lines[0], path)
        torn = len(lines) < content.count(b"\n") + (not content.endswith(b"\n"))
        return cls(header, tuple(_events(lines[1:], path)), torn)


class TraceWriter:
    """Appends to a trace, one flushed line at a time; a trace that is there already is continued.

    with TraceWriter("run.jsonl", header) as trace:
        for step in run(stream, learner, judge, past=trace.past):
            trace.write(step)
    """

    def __init__(self, path: str | Path, header: Header, *, alone: bool = False) -> None:
        """`alone`: refuse where another process, also alone, has this trace open; two would write one run twice."""
        self.path = Path(path)
        self.header = replace(header, format=FORMAT)
        self._file = _opened(self.path)
        try:
            if alone:
                _lock(self._file, self.path)
            old = self._file.read()
            if old and not is_header(old):
                raise TraceError("is there already and is no trace; choose another name", path=path)
            kept = b"".join(line + b"\n" for line in _whole_lines(old))
            self.past: list[Step] = self._continue() if kept else []
        except BaseException:
            self._file.close()
            raise
        _cut_at(self._file, old, kept)
        if not kept:
            self._append(_line("header", self.header))

    def write(self, event: Event) -> None:
        """Append one event; when this returns, the line has left the process."""
        self._append(_line(_NAMES[type(event)], event))

    def close(self) -> None:
        if not self._file.closed:
            os.fsync(self._file.fileno())
            self._file.close()

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def _continue(self) -> list[Step]:
        trace = Trace.read(self.path)
        if serialisation.dumps(trace.header) != serialisation.dumps(self.header):
            raise TraceError("is of another run (its header differs); choose another name", path=self.path)
        return trace.steps

    def _append(self, line: bytes) -> None:
        self._file.write(line)
        self._file.flush()


def is_header(start: bytes) -> bool:
    """Whether a file that begins so is a trace, or would have been had its header been finished."""
    return start.startswith(_HEADER) or _HEADER.startswith(start)


def _line(kind: str, value: object) -> bytes:
    return serialisation.dumps(serialisation.tagged(kind, value)) + b"\n"


def _content(path: str | Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise TraceError(f"cannot be read: {error.strerror}", path=path) from error


def _whole_lines(content: bytes) -> list[bytes]:
    """All lines but a torn last one: an object cut short anywhere is not JSON, one that lacks only its newline is."""
    *lines, last = content.split(b"\n")
    return lines if not last or _is_torn(last) else [*lines, last]


def _is_torn(line: bytes) -> bool:
    try:
        serialisation.loads(line)
    except WireError:
        return True
    return False


def _header(line: bytes, path: str | Path) -> Header:
    try:
        fields = serialisation.loads(line)
        if fields.pop("kind", None) != "header":
            raise WireError("the first line is no trace header")
        header = serialisation.decode(Header, fields)
    except WireError as error:
        raise TraceError(str(error), path=path, line=1) from error
    if header.format != FORMAT:
        raise TraceError(f"trace format {header.format}, this version reads {FORMAT}", path=path, line=1)
    return header


def _events(lines: Iterable[bytes], path: str | Path) -> Iterator[Event]:
    seen: set[int] = set()
    for number, line in enumerate(lines, start=2):
        try:
            event = _event(line)
            _check_order(event, seen)
        except WireError as error:
            raise TraceError(str(error), path=path, line=number) from error
        yield event


def _event(line: bytes) -> Event:
    fields = serialisation.loads(line)
    kind = _KINDS.get(str(fields.pop("kind", None)))
    if kind is None:
        raise WireError(f"an event has a kind: one of {', '.join(_KINDS)}")
    return serialisation.decode(kind, fields)


def _check_order(event: Event, seen: set[int]) -> None:
    if not isinstance(event, Step):
        if event.step not in seen:
            raise WireError(f"names step {event.step}, which has not happened")
    elif event.index != len(seen):
        raise WireError(f"step {event.index} stands where step {len(seen)} should")
    else:
        seen.add(event.index)


def _lock(file: BinaryIO, path: Path) -> None:
    """Hold a file until it is closed or the process ends, however that comes about; without locks, do without."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise TraceError("is being written by another process; let it finish, or end it first", path=path) from error
    except (ImportError, OSError):  # Windows; file systems that know no locks
        return


def _opened(path: Path) -> BinaryIO:
    """For reading and writing, as it is; a new one where there is none."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("r+b" if path.exists() else "x+b")
    except OSError as error:
        raise TraceError(f"cannot be written: {error.strerror}", path=path) from error


def _cut_at(file: BinaryIO, old: bytes, kept: bytes) -> None:
    """Go on behind what is kept, so that a torn tail is cut off and nothing whole is rewritten."""
    file.seek(len(old))
    if kept and not old.startswith(kept):  # the last line lacks only its newline
        file.write(b"\n")
    file.truncate(len(kept))
    file.seek(len(kept))
