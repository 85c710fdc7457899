"""A scorer in a process of its own: a learned metric with its own environment, over JSON lines.

The command is started once. It reads one line {"src", "mt", "ref"} per segment and answers each with one line, in the
same order: a number, or an object with the field `score`. It may read all lines before it answers, to score batches.
"""

from __future__ import annotations

import contextlib
import json
import queue
import shlex
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO

from mtloop.core.errors import InputError
from mtloop.core.json_files import parse_json
from mtloop.core.plural import pluralise
from mtloop.core.processes import last_error
from mtloop.core.types import Step
from mtloop.metrics.given_scores import as_score, check_name
from mtloop.metrics.score_files import segment_score
from mtloop.text.messages import one_line

TIMEOUT = 600.0  # seconds
SECONDS_TO_EXIT = 5.0  # after the last answer


@dataclass(frozen=True)
class Scorer:
    """The scorer of a metric; `timeout` is the longest time without an answer, in seconds (0: no limit)."""

    metric: str
    command: str
    timeout: float = TIMEOUT

    def __post_init__(self) -> None:
        if not self.arguments:
            raise InputError(f"--scorer {self.metric} names no command")

    @classmethod
    def parse(cls, text: str, timeout: float = TIMEOUT) -> Scorer:
        """Read NAME=COMMAND.

        >>> Scorer.parse("comet=env/bin/python scorer.py").arguments
        ['env/bin/python', 'scorer.py']
        """
        name, equals, command = text.partition("=")
        if not equals or not command.strip():
            raise InputError(f"--scorer expects NAME=COMMAND, not {text!r}")
        return cls(check_name(name), command.strip(), timeout)

    @property
    def arguments(self) -> list[str]:
        try:
            return shlex.split(self.command)
        except ValueError as error:
            raise InputError(f"--scorer {self.metric}: the command {self.command!r} has an open quote") from error

    def __call__(self, steps: Sequence[Step], systems: Sequence[str] = ()) -> list[float]:
        """Return the score of every step; raise InputError, with the command and the segment, if one is missing.

        `systems` names the system of every step, for errors; leave it out if there is only one.
        """
        of_system = [f" of system {system!r}" for system in systems] or [""] * len(steps)
        segments = [f"segment {step.proposal.segment.id!r}{of}" for step, of in zip(steps, of_system, strict=True)]
        with tempfile.TemporaryFile() as errors, self._started(errors) as process:
            answers = _Answers(process, steps, self.timeout)
            scores = [self._score(answers, segment, number) for number, segment in enumerate(segments)]
            if extra := answers.line_after_last():
                raise self._error(f"wrote a line too many: {one_line(extra)!r}; expected one line per segment")
            return scores

    def _score(self, answers: _Answers, segment: str, number: int) -> float:
        """Return the next score, which must be that of this segment."""
        try:
            line = answers.next_line()
        except queue.Empty:
            hint = "allow more time with --scorer-timeout"
            raise self._error(f"gave no answer for {segment} in {self.timeout:g} seconds; {hint}") from None
        if line is None:
            reason = answers.reason_of_end()
            raise self._error(f"ended after {pluralise(number, 'answer')}, before {segment} ({reason})")
        try:
            return as_score(segment_score(parse_json(line), self.metric))
        except (ValueError, InputError):
            expected = 'expected a number or {"score": number}'
            raise self._error(f"answered {one_line(line)!r} to {segment}; {expected}") from None

    @contextlib.contextmanager
    def _started(self, errors: IO[bytes]) -> Iterator[_Process]:
        try:
            process = subprocess.Popen(
                self.arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, encoding="utf-8",
                errors="replace",
            )  # fmt: skip
        except OSError as error:
            raise self._error(f"cannot be started: {error.strerror or error}") from error
        try:
            yield _Process(process, errors)
        finally:
            process.kill()
            process.wait()

    def _error(self, problem: str) -> InputError:
        return InputError(f"scorer {self.metric} ({self.command}) {problem}")


@dataclass(frozen=True)
class _Process:
    popen: subprocess.Popen[str]
    errors: IO[bytes]


class _Answers:
    """Sends all segments from one thread and collects the answers in another, so that no pipe can block the other."""

    def __init__(self, process: _Process, steps: Sequence[Step], timeout: float) -> None:
        self._process, self._timeout = process, timeout or None
        self._lines: queue.Queue[str | None] = queue.Queue()
        for work in (lambda: self._send(steps), self._receive):
            threading.Thread(target=work, daemon=True).start()

    def next_line(self) -> str | None:
        """Return the next answer; None if the process ended. Raise queue.Empty if it takes too long."""
        return self._lines.get(timeout=self._timeout)

    def line_after_last(self) -> str | None:
        """Return a line that answers no segment, if the process writes one before it ends."""
        with contextlib.suppress(queue.Empty):
            return self._lines.get(timeout=SECONDS_TO_EXIT)
        return None

    def reason_of_end(self) -> str:
        """Return the last line on standard error, or the exit code."""
        try:
            code = self._process.popen.wait(SECONDS_TO_EXIT)
        except subprocess.TimeoutExpired:
            return "it closed its output"
        self._process.errors.seek(0)
        return one_line(last_error(self._process.errors.read(), code))

    def _send(self, steps: Sequence[Step]) -> None:
        pipe = self._process.popen.stdin
        assert pipe is not None
        with contextlib.suppress(OSError):  # the process may end early; the reader finds out
            for step in steps:
                pipe.write(json.dumps(request(step), ensure_ascii=False) + "\n")
            pipe.close()
        with contextlib.suppress(OSError):
            pipe.close()

    def _receive(self) -> None:
        pipe = self._process.popen.stdout
        assert pipe is not None
        with pipe:
            for line in pipe:
                self._lines.put(line)
        self._lines.put(None)


def request(step: Step) -> dict[str, str | None]:
    """Return what the scorer gets for a step; null stands for a source or a reference that is not there."""
    references = step.references
    source = step.proposal.segment.source or None
    return {"src": source, "mt": step.proposal.text, "ref": references[0] if references else None}
