"""Running the methods of a bandit task, each in a process of its own, and showing what came of it."""

from __future__ import annotations

import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import click

from mtloop.core.errors import InputError, MtloopError
from mtloop.core.loop import Delay
from mtloop.core.processes import ChildProcesses
from mtloop.core.record import record
from mtloop.core.trace import Trace
from mtloop.core.types import Step
from mtloop.experiments.bandit_task import BanditTask, Entrant
from mtloop.judges.rewards import sentence_reward
from mtloop.methods.oracles import ORACLES
from mtloop.report.bandit_results import BanditResults


def at_home(task: BanditTask, entrants: Sequence[Entrant], out: Path, jobs: int, oracle: Path | None) -> None:
    """All methods on a task made of a file."""
    task.stream(), task.rater()  # what is wrong with it is found before the first model is loaded
    _refuse_unread(entrants, out, oracle)
    if jobs == 1:
        traces = [run_one(task, entrant, out) for entrant in entrants]
    else:
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool, ChildProcesses():
            begun = [pool.submit(run_one, task, entrant, out) for entrant in entrants]
            traces = [one.result() for one in begun]
    steps = _read(entrants, traces)
    results = BanditResults(steps, task.checkpoints(), _steps(oracle), sentence_reward(task.reward))
    show(results, out)


def run_one(task: BanditTask, entrant: Entrant, out: Path) -> Path:
    """One method to the end of the task; a trace that was begun is gone on with."""
    path = out / f"{entrant.method}.jsonl"
    learner, header = entrant.made(task)
    out.mkdir(parents=True, exist_ok=True)
    stream = task.stream()
    steps = record(path, header, stream, learner, task.rater(), schedule=Delay(task.delay), until=len(stream))
    deque(steps, maxlen=0)
    return path


def on_service(
    url: str, entrants: Sequence[Entrant], out: Path, jobs: int, key_file: Path | None, oracle: Path | None
) -> None:
    """All methods as participants: `mtloop join` for each. Where the held-out block lies is the service's secret."""
    service, _, task = url.rstrip("/").rpartition("/")
    if key_file is None or service.endswith(":/"):
        raise InputError("a task on a service is --task http://HOST:PORT/TASK, with --key-file FILE")
    if informed := [entrant.method for entrant in entrants if entrant.method in ORACLES]:
        raise InputError(f"{informed[0]} is trained on the references, which a service keeps to itself; leave it out")
    _refuse_unread(entrants, out, oracle)
    out.mkdir(parents=True, exist_ok=True)
    traces = [out / f"{entrant.method}.jsonl" for entrant in entrants]
    joined = [_join(service, task, key_file, *both) for both in zip(entrants, traces, strict=True)]
    with ThreadPoolExecutor(jobs) as pool, ChildProcesses() as children:
        list(pool.map(partial(_run, children), joined))
    show(BanditResults(_read(entrants, traces), oracle=_steps(oracle)), out)


def show(results: BanditResults, out: Path) -> None:
    """Print the table, draw the figures."""
    from mtloop.report.matplotlib_charts import save

    click.echo(results.text())
    for chart in results.charts():
        save(chart, out / f"{chart.name}.png")
        click.echo(out / f"{chart.name}.png")


def _read(entrants: Sequence[Entrant], traces: Sequence[Path]) -> dict[str, list[Step]]:
    return {one.method: Trace.read(path).steps for one, path in zip(entrants, traces, strict=True)}


def _refuse_unread(entrants: Sequence[Entrant], out: Path, oracle: Path | None) -> None:
    """A trace to hold regret against must be there before an hour of work, unless that work will write it."""
    written = {(out / f"{entrant.method}.jsonl").resolve() for entrant in entrants}
    if oracle and oracle.resolve() not in written:
        Trace.read(oracle)


def _steps(path: Path | None) -> Sequence[Step]:
    return Trace.read(path).steps if path else ()


def _join(service: str, task: str, key_file: Path, entrant: Entrant, trace: Path) -> list[str]:
    arguments = [sys.executable, "-m", "mtloop", "join", service, "--task", task, "--key-file", str(key_file)]
    arguments += ["--method", entrant.method, "--out", str(trace), "--resume", "--threads", str(entrant.threads)]
    arguments += ["--model", entrant.model] if entrant.model else []
    return arguments + [word for name, value in entrant.settings.items() for word in ("--set", f"{name}={value}")]


def _run(children: ChildProcesses, arguments: list[str]) -> None:
    done = children.run(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        method = arguments[arguments.index("--method") + 1]
        raise MtloopError(f"method {method} failed: {said[-1].removeprefix('mtloop: ') if said else 'no reason given'}")
