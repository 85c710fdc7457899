"""Run jobs: one after the other in this process, or several at a time in child processes.

A job is a dataclass that can be written as JSON and run anywhere. Every job writes a trace and resumes an existing
one, so a killed command is run again without loss.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar, Protocol

from mtloop.core.errors import InputError, MtloopError
from mtloop.core.processes import ChildProcesses, last_error
from mtloop.core.ranges import check_at_least
from mtloop.core.types import JSON

# The exit codes of a child. After wrong input, a retry would fail again.
EXIT_STOPPED, EXIT_INPUT_ERROR, EXIT_INTERRUPTED = 1, 2, 130
_PACKAGES = str(Path(__file__).parents[2])  # the folder of mtloop, which may run without being installed
_START = f"import sys; sys.path.append({_PACKAGES!r}); from mtloop.experiments.worker import main; main()"
WORKER = [sys.executable, "-P", "-c", _START]  # -P: files of the current folder must not replace modules


class Job(Protocol):
    """One unit of work. `kind` and `to_json` restore it in another process (see `worker`)."""

    kind: ClassVar[str]

    @property
    def name(self) -> str:
        """The name in messages, such as `method full`."""

    @property
    def done(self) -> bool:
        """Whether there is nothing left to do."""

    def run(self) -> None:
        """Do the work. Raise InputError if the input is wrong."""

    def to_json(self) -> dict[str, JSON]:
        """The fields of the job."""


class Runner(Protocol):
    """Runs the jobs that are not done. Returns one error message per job, in order ("": no error)."""

    def __call__(self, jobs: Sequence[Job]) -> list[str]: ...


@dataclass(frozen=True)
class InProcess:
    """Runs the jobs one after the other in this process."""

    def __call__(self, jobs: Sequence[Job]) -> list[str]:
        return [self._run_job(job) for job in jobs]

    def _run_job(self, job: Job) -> str:
        try:
            if not job.done:
                job.run()
        except InputError as error:
            return str(error)
        return ""


@dataclass(frozen=True)
class Processes:
    """Runs `parallel` jobs at a time, each in a child process that ends when this process ends, even if it is killed.

    Progress bars of the children are shown if stderr is a terminal.
    """

    parallel: int

    def __call__(self, jobs: Sequence[Job]) -> list[str]:
        with ThreadPoolExecutor(self.parallel) as pool, ChildProcesses() as children:
            return list(pool.map(partial(self._run_job, children), jobs))

    def _run_job(self, children: ChildProcesses, job: Job) -> str:
        if job.done:
            return ""
        line = json.dumps({"kind": job.kind, **job.to_json()}, ensure_ascii=True) + "\n"
        stderr = None if sys.stderr.isatty() else subprocess.PIPE
        done = children.run(WORKER, first_line=line.encode(), stdout=subprocess.DEVNULL, stderr=stderr)
        reason = last_error(done.stderr, done.returncode)
        if done.returncode == EXIT_INTERRUPTED:
            raise KeyboardInterrupt
        if done.returncode not in (0, EXIT_INPUT_ERROR):
            raise MtloopError(f"{job.name} was stopped ({reason}); run the same command again to resume")
        return reason if done.returncode else ""


def make_runner(jobs: int) -> Runner:
    """Return the runner for this number of jobs at a time."""
    check_at_least(1, jobs=jobs)
    return InProcess() if jobs == 1 else Processes(jobs)


def run_jobs(jobs: Sequence[Job], runner: Runner) -> None:
    """Run all jobs. Raise InputError if one of them fails."""
    for job, reason in zip(jobs, runner(jobs), strict=True):
        if reason:
            raise InputError(reason if reason.startswith(job.name) else f"{job.name} failed: {reason}")
