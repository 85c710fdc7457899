"""Child processes that are forked from the test: they need not import torch again, which takes seconds."""

from __future__ import annotations

import io
import itertools
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from subprocess import CompletedProcess
from tempfile import TemporaryFile
from typing import IO, Any, NoReturn


def run_forked(work: Callable[[], object], stdin: str = "") -> CompletedProcess[str]:
    """Call a function in a forked child; return its exit code and its output, as `subprocess.run` does."""
    with TemporaryFile("w+") as out, TemporaryFile("w+") as err:
        child = _fork()
        if not child:
            sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
            _call_and_exit(work, out, err)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return CompletedProcess("forked", code, *(_content(file) for file in (out, err)))


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


def _call_and_exit(work: Callable[[], object], out: IO[str], err: IO[str]) -> NoReturn:
    """End this process without returning to pytest."""
    code = 1
    try:
        sys.stdout, sys.stderr = out, err
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        work()
        code = 0
    except SystemExit as stop:
        code = int(stop.code or 0)
    except BaseException:
        traceback.print_exc(file=err)
    finally:
        out.flush()
        err.flush()
        os._exit(code)


def _content(file: IO[str]) -> str:
    file.seek(0)
    return file.read()
