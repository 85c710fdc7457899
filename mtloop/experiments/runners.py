"""Bringing trials so many rows further: in this process, or several at a time in processes of their own.

Either way a trial is what `mtloop run --until ROWS --resume` makes of its TOML file: a trace that goes on where it was.
"""

from __future__ import annotations

import fcntl
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from mtloop.core.atomic import write_text
from mtloop.core.errors import InputError, MtloopError
from mtloop.core.processes import ChildProcesses
from mtloop.experiments.experiment import Experiment
from mtloop.experiments.tuning.toml_writer import to_toml

MISTAKE = 2  # the exit code of what no second try would mend


@dataclass(frozen=True)
class Work:
    """An experiment to bring to `rows` steps; its trace lies at `trace`, its TOML beside it."""

    experiment: Experiment
    trace: Path
    rows: int

    @property
    def config(self) -> Path:
        return self.trace.with_suffix(".toml")

    @property
    def done(self) -> bool:
        """Told by whole lines, the header's not counted."""
        return self.trace.is_file() and self.trace.read_bytes().count(b"\n") > self.rows

    def describe(self) -> None:
        """Put the experiment beside its trace, for whoever runs it, now or by hand."""
        write_text(self.config, to_toml(self.experiment))


class Runner(Protocol):
    """Does the work that is not done; returns, in order, what is wrong with each experiment ("" if nothing)."""

    def __call__(self, works: Sequence[Work]) -> list[str]: ...


@dataclass(frozen=True)
class InProcess:
    """One after the other, here. `run` brings a trace to so many steps."""

    run: Callable[[Work], None]

    def __call__(self, works: Sequence[Work]) -> list[str]:
        return [self._one(work) for work in works]

    def _one(self, work: Work) -> str:
        work.describe()
        try:
            if not work.done:
                self.run(work)
        except InputError as error:
            return str(error)
        return ""


@dataclass(frozen=True)
class Processes:
    """So many at a time. `lock` is held by each of them, so that none is overtaken by a second search."""

    jobs: int
    lock: int
    snapshot: int = 100

    def __call__(self, works: Sequence[Work]) -> list[str]:
        with ThreadPoolExecutor(self.jobs) as pool, ChildProcesses() as children:
            return list(pool.map(partial(self._one, children), works))

    def _one(self, children: ChildProcesses, work: Work) -> str:
        work.describe()
        if work.done:
            return ""
        done = children.run(
            self._command(work), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, pass_fds=[self.lock]
        )
        said = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit code {done.returncode}"]
        if done.returncode not in (0, MISTAKE):
            raise MtloopError(f"{work.trace} was stopped ({said[-1]}); the same command again goes on")
        return said[-1].removeprefix("mtloop: ") if done.returncode else ""

    def _command(self, work: Work) -> list[str]:
        where = ["--config", str(work.config), "--out", str(work.trace)]
        how = ["--resume", "--until", str(work.rows), "--snapshot", str(self.snapshot)]
        return [sys.executable, "-m", "mtloop", "run", *where, *how]


@contextmanager
def locked(folder: Path, say: Callable[[str], None]) -> Iterator[int]:
    """Nobody else works in the folder: not a second search, nor what a killed one left behind.

    The lock is the kernel's, shared by the processes a search starts, and gone with the last of them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"{folder}: another search, or a trial that a killed one left behind, is at work here; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()
