"""A child process that answers one line of JSON to each line of JSON.

The process ends when it is told to, when its owner ends, and when mtloop is killed: its standard input is then closed.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import IO

from mtloop.core import serialisation
from mtloop.core.errors import MtloopError, SerialisationError
from mtloop.core.types import JSON
from mtloop.methods.own.program_messages import ProgramMessages

MAX_LINE = 64 << 20  # bytes; a longer answer is refused
MAX_SHOWN = 80  # characters of an answer in an error message
GRACE = 2.0  # seconds that a program gets to end before it is killed


class ProcessFailure(MtloopError):
    """A program did not answer as expected; the message says what was expected and what came."""


class EngineProcess:
    """A running program. Every failure ends it."""

    def __init__(self, arguments: Sequence[str]) -> None:
        environment = os.environ | {"PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"}
        try:
            self._process = subprocess.Popen(
                arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                process_group=0,  # Ctrl-C reaches only mtloop, which then ends the program
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ProcessFailure(f"the program {arguments[0]!r} cannot be started: {reason}") from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._stdin, self._messages = self._process.stdin, ProgramMessages(self._process.stderr)
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._reader = threading.Thread(target=_read_lines, args=(self._process.stdout, self._lines), daemon=True)
        self._reader.start()
        self._writer = threading.Thread()
        self._ended = False

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, request: Mapping[str, JSON], timeout: float) -> dict[str, JSON]:
        """Send a request and return the answer; raise ProcessFailure if none comes within `timeout` seconds (0: wait).

        The request is written by a thread of its own, because a program that does not read would block it.
        """
        if self._ended:
            raise ProcessFailure("the program was ended earlier; start the engine again")
        try:
            if not self._lines.empty():
                self._refuse_unasked_line(self._lines.get())
            content = json.dumps(request, allow_nan=False).encode() + b"\n"
            self._writer = threading.Thread(target=_write, args=(self._stdin, content), daemon=True)
            self._writer.start()
            return _parse(self._next_line(timeout))
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """End the program: close its input, then terminate it, then kill it. Nothing happens if it has ended."""
        self._ended = True
        if self._writer.is_alive():  # closing the input would wait for the writer
            self._signal_group(signal.SIGTERM)
            self._writer.join(GRACE)
        if not self._writer.is_alive():
            with suppress(OSError):
                self._stdin.close()
        if not self._ends_within(GRACE):
            self._signal_group(signal.SIGTERM)
        if not self._ends_within(GRACE):
            self._signal_group(getattr(signal, "SIGKILL", signal.SIGTERM))
            self._process.wait()
        self._reader.join(GRACE)
        self._messages.wait(GRACE)

    def _next_line(self, timeout: float) -> bytes:
        try:
            line = self._lines.get(timeout=timeout or None)
        except queue.Empty:
            longer = "give it more time with --set timeout=SECONDS (0: no limit)"
            problem = f"no answer within {timeout:g} s; {longer}, or check that it flushes its output"
            raise ProcessFailure(f"{problem}; {self._last_messages()}") from None
        if not line:
            raise ProcessFailure(f"expected an answer, but {self._how_it_ended()}; {self._last_messages()}")
        return line

    def _refuse_unasked_line(self, line: bytes) -> None:
        if not line:
            raise ProcessFailure(f"{self._how_it_ended()} before the request; {self._last_messages()}")
        raise ProcessFailure(f"expected one line per request, got one more: {shown(line)}; {_STDERR_HINT}")

    def _how_it_ended(self) -> str:
        if not self._ends_within(GRACE):
            return "the program closed its standard output"
        code = self._process.returncode
        return f"the program was killed by signal {-code}" if code < 0 else f"the program ended with exit code {code}"

    def _last_messages(self) -> str:
        if self._process.poll() is not None:
            self._messages.wait(GRACE)
        lines = self._messages.last_lines()
        return f"its last lines on standard error: {lines}" if lines else "it wrote nothing to standard error"

    def _ends_within(self, seconds: float) -> bool:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _signal_group(self, number: int) -> None:
        """Send a signal to the program and to the programs that it started, where the system has process groups."""
        send: Callable[[int, int], None] | None = getattr(os, "killpg", None)
        with suppress(ProcessLookupError, PermissionError):
            if send is None:
                self._process.terminate()
            else:
                send(self._process.pid, number)


_STDERR_HINT = "messages belong on standard error"


def shortened(text: str) -> str:
    """Return the start of a text, for an error message."""
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def shown(line: bytes) -> str:
    """Return a line as quoted text, shortened, for an error message."""
    return repr(shortened(line.decode(errors="backslashreplace").rstrip("\r\n")))


def _parse(line: bytes) -> dict[str, JSON]:
    if len(line) > MAX_LINE:
        raise ProcessFailure(f"expected one line of JSON, got more than {MAX_LINE >> 20} MiB without a line break")
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        message = f"expected UTF-8, got the byte {line[error.start]:#04x} at position {error.start}: {shown(line)}"
        raise ProcessFailure(message) from error
    try:
        return serialisation.loads(text)
    except SerialisationError as error:
        message = f"expected one JSON object on one line, got {shown(line)}; {_STDERR_HINT}"
        raise ProcessFailure(message) from error


def _write(pipe: IO[bytes], content: bytes) -> None:
    with suppress(OSError, ValueError):  # the program has ended: the reader notices it
        pipe.write(content)
        pipe.flush()


def _read_lines(pipe: IO[bytes], lines: queue.SimpleQueue[bytes]) -> None:
    """Put each line into the queue, and an empty one at the end."""
    with pipe:
        while line := pipe.readline(MAX_LINE + 1):
            lines.put(line)
    lines.put(b"")
