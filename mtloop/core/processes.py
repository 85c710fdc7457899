"""Child processes that stop together with their parent.

An orphaned child would keep writing files that a restarted parent writes again.
"""

from __future__ import annotations

import multiprocessing
import signal
import subprocess
import threading
from collections.abc import Sequence
from types import FrameType, TracebackType
from typing import Any


class ChildProcesses:
    """Context manager: an interrupt, SIGTERM or any exception in its block terminates the processes started in it.

    with ThreadPoolExecutor(2) as pool, ChildProcesses() as children:
        list(pool.map(children.run, commands))
    """

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock, self._terminated = threading.Lock(), False
        self._previous_handler: Any = None

    def run(self, arguments: Sequence[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
        """Run a command like `subprocess.run`; raise InterruptedError after termination."""
        with self._lock:
            if self._terminated:
                raise InterruptedError
            process = subprocess.Popen(arguments, **options)
            self._running.add(process)
        try:
            out, err = process.communicate()
        finally:
            with self._lock:
                self._running.discard(process)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def __enter__(self) -> ChildProcesses:
        if threading.current_thread() is threading.main_thread():
            self._previous_handler = signal.signal(signal.SIGTERM, _exit_on_signal)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._previous_handler is not None:
            signal.signal(signal.SIGTERM, self._previous_handler)
        if error is not None:
            self._terminate()

    def _terminate(self) -> None:
        with self._lock:
            self._terminated = True
            for process in self._running:
                process.terminate()
        for child in multiprocessing.active_children():
            child.terminate()


def last_error(stderr: bytes | None, code: int) -> str:
    """The last line that a child process wrote to standard error. None: it was not captured.

    >>> last_error(b"mtloop: no such file", 2), last_error(b"", 137), last_error(None, 2)
    ('no such file', 'exit code 137', 'see above')
    """
    if stderr is None:
        return "see above"
    lines = stderr.decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("mtloop: ") if lines else f"exit code {code}"


def _exit_on_signal(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
