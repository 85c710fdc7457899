"""The trace file: a header line, then one JSON line per event. Each line is flushed when it is written.

A trace contains no clock times, so equal runs write equal bytes. A process that is killed while writing leaves an
incomplete last line: `Trace.read` ignores it, and `TraceWriter` removes it and appends after the last complete line.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, TypeAlias

from mtloop.core import serialisation
from mtloop.core.errors import SerialisationError, TraceError
from mtloop.core.locks import FileLock, try_write_lock
from mtloop.core.types import JSON, Feedback, Fields, Learned, Step

FORMAT = 2
MAX_DIFFERENCES = 3  # between headers, in an error message
_HEADER_PREFIX = b'{"kind":"header"'


@dataclass(frozen=True, slots=True)
class Header:
    """Everything needed to repeat the run: configuration, seed, library versions and number of threads."""

    config: Fields = field(default_factory=dict)
    seed: int = 0
    versions: Mapping[str, str] = field(default_factory=dict)
    threads: int = 1
    # TraceWriter sets FORMAT. Fields with their default value are not written; FORMAT is never 0, so this field is
    # always written.
    format: int = 0


@dataclass(frozen=True, slots=True)
class LateFeedback:
    """Feedback that arrived after its step was written; `step` is the index of the step."""

    step: int
    feedback: Feedback | None = None
    learned: Learned | None = None


@dataclass(frozen=True, slots=True)
class Retract:
    """Withdraws the lesson of the step with index `step`."""

    step: int


Event: TypeAlias = Step | LateFeedback | Retract
_KINDS: dict[str, type[Event]] = {"step": Step, "feedback": LateFeedback, "retract": Retract}
_KIND_NAMES: dict[type, str] = {kind: name for name, kind in _KINDS.items()}


@dataclass(frozen=True)
class Trace:
    """The header and the events of a run, in order: the only input of metrics, reports and leaderboards."""

    header: Header
    events: tuple[Event, ...] = ()
    truncated: bool = False  # the last line of the file was incomplete and is left out

    def __repr__(self) -> str:
        """Return one short line: the events of a run would fill thousands of lines."""
        return f"<Trace of {len(self.events)} events, seed {self.header.seed}>"

    @property
    def steps(self) -> list[Step]:
        """The steps in order of their index, with late feedback added to its step."""
        steps = {event.index: event for event in self.events if isinstance(event, Step)}
        for event in self.events:
            if isinstance(event, LateFeedback):
                steps[event.step] = replace(steps[event.step], feedback=event.feedback, learned=event.learned)
        return [steps[index] for index in sorted(steps)]

    def lessons(self) -> Iterator[Step]:
        """Iterate over the steps with feedback, in the order they were learned, without the retracted ones."""
        retracted = {event.step for event in self.events if isinstance(event, Retract)}
        steps = {step.index: step for step in self.steps}
        learned = [event for event in self.events if not isinstance(event, Retract) and event.feedback is not None]
        order = (event.index if isinstance(event, Step) else event.step for event in learned)
        return (steps[index] for index in order if index not in retracted)

    @classmethod
    def read(cls, path: str | Path) -> Trace:
        """Read a trace and ignore an incomplete last line; for other faults raise TraceError with the line number."""
        content = _read_bytes(path)
        lines = _complete_lines(content)
        if not lines:
            raise TraceError("is not a trace: it has no header line; expected a file that mtloop recorded", path=path)
        header = _parse_header(lines[0], path)
        truncated = len(lines) < content.count(b"\n") + (not content.endswith(b"\n"))
        return cls(header, tuple(_parse_events(lines[1:], path)), truncated)


class TraceWriter:
    """Writes a trace, one flushed line per event. An existing trace is resumed: `past` holds its steps.

    with TraceWriter("run.jsonl", header) as trace:
        for step in run(stream, learner, judge, past=trace.past):
            trace.write(step)
    """

    def __init__(self, path: str | Path, header: Header, *, exclusive: bool = False) -> None:
        """`exclusive`: raise TraceError if another exclusive writer has the file open, in this process or another."""
        self.path = Path(path)
        self.header = replace(header, format=FORMAT)
        self._lock: FileLock | None = None
        self._file = _open(self.path)
        try:
            if exclusive:
                self._lock = _lock(self.path)
            content = self._file.read()
            if content and not is_trace_start(content):
                raise TraceError("exists and is not a trace; choose another file name", path=path)
            complete = b"".join(line + b"\n" for line in _complete_lines(content))
            self.past: list[Step] = self._read_past() if complete else []
        except BaseException:
            self._close()
            raise
        _remove_incomplete_line(self._file, content, complete)
        if not complete:
            self._append(_line("header", self.header))

    def write(self, event: Event) -> None:
        """Append one event and flush it to the operating system."""
        self._append(_line(_KIND_NAMES[type(event)], event))

    def sync(self) -> None:
        """Wait until everything written is on the disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Flush the file to the disk and close it."""
        if not self._file.closed:
            os.fsync(self._file.fileno())
            self._close()

    def _close(self) -> None:
        self._file.close()
        if self._lock is not None:
            self._lock.release()

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def _read_past(self) -> list[Step]:
        trace = Trace.read(self.path)
        if serialisation.dumps(trace.header) != serialisation.dumps(self.header):
            differing = _differences(serialisation.encode(trace.header), serialisation.encode(self.header))
            reasons = list(islice(differing, MAX_DIFFERENCES))
            described = "; ".join(reasons) or "its header differs"
            raise TraceError(f"belongs to another run ({described}); {_remedy(reasons)}", path=self.path)
        return trace.steps

    def _append(self, line: bytes) -> None:
        self._file.write(line)
        self._file.flush()


def _differences(recorded: JSON, given: JSON, name: str = "") -> Iterator[str]:
    """Yield one sentence for each field in which two headers differ."""
    if isinstance(recorded, dict) and isinstance(given, dict):
        prefix = "" if name in ("", "config") else f"{name}."
        for key in dict.fromkeys([*recorded, *given]):
            yield from _differences(recorded.get(key), given.get(key), prefix + key)
    elif recorded != given:
        yield f"{name} is {recorded!r:.80} in the trace and {given!r:.80} now"


def read_header(path: str | Path) -> Header:
    """Read only the header of a trace; raise TraceError if there is none."""
    try:
        with Path(path).open("rb") as file:
            return _parse_header(file.readline(), path)
    except OSError as error:
        raise TraceError(f"cannot be read: {error.strerror}; check the file name", path=path) from error


def _remedy(reasons: Sequence[str]) -> str:
    """What to do about headers that differ. A fingerprint alone differs if a file of the engine or model changed."""
    if len(reasons) == 1 and reasons[0].startswith("fingerprint is "):
        return "a file of the engine or of the model has changed: restore it, or choose another file name (--out)"
    return "choose another file name"


def is_trace_start(start: bytes) -> bool:
    """Return whether these first bytes of a file are a trace header, or an incomplete one."""
    return start.startswith(_HEADER_PREFIX) or _HEADER_PREFIX.startswith(start)


def _line(kind: str, value: object) -> bytes:
    return serialisation.dumps(serialisation.encode_tagged(kind, value)) + b"\n"


def _read_bytes(path: str | Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise TraceError(f"cannot be read: {error.strerror}; check the file name", path=path) from error


def _complete_lines(content: bytes) -> list[bytes]:
    """Return all lines without an incomplete last one; a last line that lacks only its newline is complete."""
    *lines, last = content.split(b"\n")
    return [*lines, last] if last and _is_json_object(last) else lines


def _is_json_object(line: bytes) -> bool:
    try:
        serialisation.loads(line)
    except SerialisationError:
        return False
    return True


def _parse_header(line: bytes, path: str | Path) -> Header:
    try:
        fields = serialisation.loads(line)
        if fields.pop("kind", None) != "header":
            raise SerialisationError("the first line is not a trace header; expected a file that mtloop recorded")
        header = serialisation.decode(Header, fields)
    except SerialisationError as error:
        raise TraceError(str(error), path=path, line=1) from error
    if header.format < FORMAT:
        message = f"trace format {header.format} was written by an older mtloop; this version reads format {FORMAT}"
        raise TraceError(f"{message}; repeat the run with another --out file", path=path, line=1)
    if header.format > FORMAT:
        message = f"trace format {header.format} was written by a newer mtloop; this version reads format {FORMAT}"
        raise TraceError(f"{message}; upgrade mtloop", path=path, line=1)
    return header


def _parse_events(lines: Iterable[bytes], path: str | Path) -> Iterator[Event]:
    indices: set[int] = set()
    for number, line in enumerate(lines, start=2):
        try:
            event = _parse_event(line)
            _check_order(event, indices)
        except SerialisationError as error:
            raise TraceError(str(error), path=path, line=number) from error
        yield event


def _parse_event(line: bytes) -> Event:
    fields = serialisation.loads(line)
    kind = _KINDS.get(str(fields.pop("kind", None)))
    if kind is None:
        raise SerialisationError(f"an event needs a kind: one of {', '.join(_KINDS)}")
    return serialisation.decode(kind, fields)


def _check_order(event: Event, indices: set[int]) -> None:
    if not isinstance(event, Step):
        if event.step not in indices:
            raise SerialisationError(f"refers to step {event.step}, which is not in the trace before this line")
    elif event.index != len(indices):
        raise SerialisationError(f"has step {event.index}, expected step {len(indices)}")
    else:
        indices.add(event.index)


def _lock(path: Path) -> FileLock:
    lock = try_write_lock(path)
    if lock is None:
        raise TraceError("is being written by another process; wait for it, or stop it first", path=path)
    return lock


def _open(path: Path) -> BinaryIO:
    """Open a file for reading and writing without truncating it; create it if it does not exist."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("r+b" if path.exists() else "x+b")
    except OSError as error:
        raise TraceError(f"cannot be written: {error.strerror}; choose another file name", path=path) from error


def _remove_incomplete_line(file: BinaryIO, content: bytes, complete: bytes) -> None:
    """Truncate the file after its complete lines and seek to its end, without rewriting those lines."""
    file.seek(len(content))
    if complete and not content.startswith(complete):  # the last line lacks only its newline
        file.write(b"\n")
    file.truncate(len(complete))
    file.seek(len(complete))
