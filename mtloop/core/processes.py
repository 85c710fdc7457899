"""Processes of our own, which end when we are told to end: nobody is left behind to write what we would write again."""

from __future__ import annotations

import multiprocessing
import signal
import subprocess
import threading
from collections.abc import Sequence
from types import FrameType, TracebackType
from typing import Any


class ChildProcesses:
    """A `with` block: whatever breaks it off, an interrupt, SIGTERM or an error, ends the processes begun in it.

    with ThreadPoolExecutor(2) as pool, Children() as children:
        list(pool.map(children.run, commands))
    """

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock, self._ended = threading.Lock(), False
        self._before: Any = None

    def run(self, arguments: Sequence[str], **how: Any) -> subprocess.CompletedProcess[bytes]:
        """As `subprocess.run`."""
        with self._lock:
            if self._ended:
                raise InterruptedError
            process = subprocess.Popen(arguments, **how)
            self._running.add(process)
        try:
            out, err = process.communicate()
        finally:
            with self._lock:
                self._running.discard(process)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def __enter__(self) -> ChildProcesses:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGTERM, _leave)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._before is not None:
            signal.signal(signal.SIGTERM, self._before)
        if error is not None:
            self._end()

    def _end(self) -> None:
        with self._lock:
            self._ended = True
            for process in self._running:
                process.terminate()
        for child in multiprocessing.active_children():
            child.terminate()


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
