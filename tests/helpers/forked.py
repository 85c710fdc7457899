"""Child processes that are forked from the test: they need not import torch again, which takes seconds."""

from __future__ import annotations

import io
import itertools
import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from subprocess import CompletedProcess, TimeoutExpired
from tempfile import TemporaryFile
from typing import IO, Any, NoReturn

DEADLINE = 300.0  # seconds; several times what the longest takes on a busy machine


def run_forked(work: Callable[[], object], stdin: str = "", timeout: float = DEADLINE) -> CompletedProcess[str]:
    """Call a function in a forked child; return its exit code and its output, as `subprocess.run` does.

    A child that is not done in time is killed, and TimeoutExpired is raised with its output.
    """
    with TemporaryFile("w+") as out, TemporaryFile("w+") as err:
        child = _fork()
        if not child:
            sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
            _call_and_exit(work, out, err)
        code = _exit_code(child, timeout)
        output, messages = _content(out), _content(err)
    if code is None:
        raise TimeoutExpired("forked", timeout, output, messages)
    return CompletedProcess("forked", code, output, messages)


def kill_at(
    owner: Any, name: str, nth: int, *, first: Callable[..., object] | None = None, after: bool = False
) -> None:
    """Kill this process at the nth call of `owner.name`: before the call, or after it.

    `first` is called before the kill, with the positional arguments of that call.
    """
    function, numbers = getattr(owner, name), itertools.count(1)

    def call(*arguments: Any, **keywords: Any) -> Any:
        last = next(numbers) == nth
        if last and first:
            first(*arguments)
        value = None if last and not after else function(*arguments, **keywords)
        if last:
            os.kill(os.getpid(), signal.SIGKILL)
        return value

    setattr(owner, name, call)


def _fork() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a worker of pytest-xdist has a thread that only reads
        return os.fork()


def _exit_code(child: int, timeout: float) -> int | None:
    """Wait for a child; kill it and return None if it is not done in time."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _call_and_exit(work: Callable[[], object], out: IO[str], err: IO[str]) -> NoReturn:
    """End this process without returning to pytest."""
    code = 1
    _stay_with_one_thread()
    try:
        sys.stdout, sys.stderr = out, err
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        work()
        code = 0
    except SystemExit as stop:
        code = _code_of(stop, err)
    except BaseException:
        traceback.print_exc(file=err)
    finally:
        out.flush()
        err.flush()
        os._exit(code)


def _stay_with_one_thread() -> None:
    """Compute with one thread: if the parent has used several, OpenMP waits for threads that a child does not have."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)
        torch.set_num_threads = lambda threads: None


def _code_of(stop: SystemExit, err: IO[str]) -> int:
    """Return the exit code of `sys.exit`. Python writes an argument that is no number as a message."""
    if stop.code is None or isinstance(stop.code, int):
        return stop.code or 0
    print(stop.code, file=err)
    return 1


def _content(file: IO[str]) -> str:
    file.seek(0)
    return file.read()
