"""Run experiments up to a number of rows: in this process, or several at a time in child processes.

Both give the same trace as `mtloop run --stop-after ROWS --resume` with the TOML file. An existing trace is resumed.
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
from mtloop.core.processes import ChildProcesses, last_error
from mtloop.experiments.experiment import Experiment
from mtloop.experiments.experiment_toml import to_toml

EXIT_INPUT_ERROR = 2  # the exit code of `mtloop` for wrong input; a retry would fail again


@dataclass(frozen=True)
class ExperimentJob:
    """Run an experiment until its trace has `rows` steps. The TOML file of the experiment is beside the trace."""

    experiment: Experiment
    trace: Path
    rows: int

    @property
    def config(self) -> Path:
        return self.trace.with_suffix(".toml")

    @property
    def done(self) -> bool:
        """Whether the trace has `rows` complete lines after the header."""
        return self.trace.is_file() and self.trace.read_bytes().count(b"\n") > self.rows

    def write_config(self) -> None:
        """Write the experiment as a TOML file beside its trace."""
        write_text(self.config, to_toml(self.experiment))


class Runner(Protocol):
    """Runs the jobs that are not done. Returns one error message per job, in order ("": no error)."""

    def __call__(self, jobs: Sequence[ExperimentJob]) -> list[str]: ...


@dataclass(frozen=True)
class InProcess:
    """Runs the jobs one after the other in this process. `run` runs one job."""

    run: Callable[[ExperimentJob], None]

    def __call__(self, jobs: Sequence[ExperimentJob]) -> list[str]:
        return [self._run_job(job) for job in jobs]

    def _run_job(self, job: ExperimentJob) -> str:
        job.write_config()
        try:
            if not job.done:
                self.run(job)
        except InputError as error:
            return str(error)
        return ""


@dataclass(frozen=True)
class Processes:
    """Runs `parallel` jobs at a time in child processes.

    Each child inherits the file descriptor `lock`, so a second search waits until all children have ended.
    """

    parallel: int
    lock: int
    snapshot_every: int = 100

    def __call__(self, jobs: Sequence[ExperimentJob]) -> list[str]:
        with ThreadPoolExecutor(self.parallel) as pool, ChildProcesses() as children:
            return list(pool.map(partial(self._run_job, children), jobs))

    def _run_job(self, children: ChildProcesses, job: ExperimentJob) -> str:
        job.write_config()
        if job.done:
            return ""
        done = children.run(self._command(job), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, pass_fds=[self.lock])
        reason = last_error(done.stderr, done.returncode)
        if done.returncode not in (0, EXIT_INPUT_ERROR):
            raise MtloopError(f"{job.trace} was stopped ({reason}); run the same command again to resume")
        return reason if done.returncode else ""

    def _command(self, job: ExperimentJob) -> list[str]:
        files = ["--config", str(job.config), "--out", str(job.trace)]
        options = ["--resume", "--stop-after", str(job.rows), "--snapshot-every", str(self.snapshot_every)]
        return [sys.executable, "-m", "mtloop", "run", *files, *options]


@contextmanager
def locked(folder: Path, log: Callable[[str], None]) -> Iterator[int]:
    """Lock the folder and yield the file descriptor of the lock. Wait for other searches and their trials.

    The kernel holds the lock. The child processes of a search share it. It is released when the last of them ends.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log(f"{folder}: another search, or a trial of a killed search, is running here; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()


def method_failure(method: str, stderr: bytes | None, code: int) -> str:
    """The message about a child process that ran a method and failed.

    >>> method_failure("full", b"mtloop: no such file", 2), method_failure("full", b"mtloop: method full stopped", 2)
    ('method full failed: no such file', 'method full stopped')
    """
    reason = last_error(stderr, code)
    return reason if reason.startswith(f"method {method} ") else f"method {method} failed: {reason}"
