"""Child processes that stop together with their parent.

An orphaned child would keep writing files that a restarted parent writes again. A parent that is killed
runs no code, so a child also watches its standard input, which ends with the parent. Windows has no SIGTERM between
processes; there Ctrl+Break does the same.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any

from mtloop.core.log import PREFIX

STOP_SIGNALS = [signal.SIGTERM]
if sys.platform == "win32":
    STOP_SIGNALS.append(signal.SIGBREAK)  # Ctrl+Break


class ChildProcesses:
    """Context manager: an interrupt, a stop signal or any exception in its block terminates the processes it started.

    with ThreadPoolExecutor(2) as pool, ChildProcesses() as children:
        list(pool.map(children.run, commands))
    """

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock, self._terminated = threading.Lock(), False
        self._previous_handlers: dict[signal.Signals, Any] = {}

    def run(self, arguments: Sequence[str], *, first_line: bytes, **options: Any) -> subprocess.CompletedProcess[bytes]:
        """Run a command like `subprocess.run`; raise InterruptedError after termination.

        The command gets `first_line` on standard input, which stays open as long as this process lives.
        """
        with self._lock:
            if self._terminated:
                raise InterruptedError
            process = subprocess.Popen(arguments, stdin=subprocess.PIPE, **options)
            self._running.add(process)
        try:
            out, err = _feed(process, first_line)
        finally:
            with self._lock:
                self._running.discard(process)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def __enter__(self) -> ChildProcesses:
        if threading.current_thread() is threading.main_thread():
            self._previous_handlers = {number: signal.signal(number, _exit_on_signal) for number in STOP_SIGNALS}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        for number, handler in self._previous_handlers.items():
            signal.signal(number, handler)
        if error is not None:
            self._terminate()

    def _terminate(self) -> None:
        with self._lock:
            self._terminated = True
            for process in self._running:
                process.terminate()


def _feed(process: subprocess.Popen[bytes], first_line: bytes) -> tuple[bytes | None, bytes | None]:
    """Write the line and wait for the end of the process. Only one of stdout and stderr may be a pipe."""
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # the process has already ended; its exit code tells why
        process.stdin.write(first_line)
        process.stdin.flush()
    out = process.stdout.read() if process.stdout else None
    err = process.stderr.read() if process.stderr else None
    process.wait()  # closing the input earlier would end the process
    with suppress(BrokenPipeError), process:  # closes all pipes
        pass
    return out, err


def last_error(stderr: bytes | None, code: int) -> str:
    """The last message of mtloop that a child process wrote to standard error, else its last line.

    None: standard error was not captured.

    >>> last_error(b"mtloop: no such file\\nbye", 2), last_error(b"", 137), last_error(None, 2)
    ('no such file', 'exit code 137', 'see above')
    """
    if stderr is None:
        return "see above"
    lines = stderr.decode(errors="replace").strip().splitlines()
    messages = [line for line in lines if line.startswith(PREFIX)] or lines
    return messages[-1].removeprefix(PREFIX) if messages else f"exit code {code}"


def _exit_on_signal(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
