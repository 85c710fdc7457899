"""Run the methods of a bandit task, in parallel processes, and show the results."""

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
from mtloop.experiments.bandit_task import BanditTask, MethodConfig
from mtloop.experiments.runners import method_failure
from mtloop.judges.rewards import sentence_reward
from mtloop.methods.oracles import ORACLES
from mtloop.report.bandit_results import BanditResults


def run_locally(task: BanditTask, configs: Sequence[MethodConfig], out: Path, jobs: int, oracle: Path | None) -> None:
    """Run all methods on a task from a file, `jobs` at a time, and show the results."""
    task.stream(), task.rater()  # raises InputError before the first model is loaded
    _check_oracle(configs, out, oracle)
    if jobs == 1:
        traces = [run_method(task, config, out) for config in configs]
    else:
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool, ChildProcesses():
            futures = [pool.submit(run_method, task, config, out) for config in configs]
            traces = [future.result() for future in futures]
    steps = _read(configs, traces)
    results = BanditResults(steps, task.checkpoints(), _steps(oracle), sentence_reward(task.reward))
    show_results(results, out)


def run_method(task: BanditTask, config: MethodConfig, out: Path) -> Path:
    """Run one method to the end of the task and return the path of its trace. An existing trace is resumed."""
    path = out / f"{config.method}.jsonl"
    learner, header = config.build(task)
    out.mkdir(parents=True, exist_ok=True)
    stream = task.stream()
    steps = record(path, header, stream, learner, task.rater(), schedule=Delay(task.delay), stop_after=len(stream))
    deque(steps, maxlen=0)
    return path


def run_on_service(
    url: str, configs: Sequence[MethodConfig], out: Path, jobs: int, key_file: Path | None, oracle: Path | None
) -> None:
    """Run all methods as participants of a task on a service, with `mtloop join`, and show the results.

    The positions of the held-out block are not known, because the service does not publish them.
    """
    service, _, task = url.rstrip("/").rpartition("/")
    if key_file is None or service.endswith(":/"):
        raise InputError("a task on a service needs --task http://HOST:PORT/TASK and --key-file FILE")
    if oracles := [config.method for config in configs if config.method in ORACLES]:
        raise InputError(f"{oracles[0]} needs the references, but a service does not publish them; leave it out")
    _check_oracle(configs, out, oracle)
    out.mkdir(parents=True, exist_ok=True)
    traces = [out / f"{config.method}.jsonl" for config in configs]
    commands = [_join_command(service, task, key_file, *pair) for pair in zip(configs, traces, strict=True)]
    with ThreadPoolExecutor(jobs) as pool, ChildProcesses() as children:
        list(pool.map(partial(_run_command, children), commands))
    show_results(BanditResults(_read(configs, traces), oracle=_steps(oracle)), out)


def show_results(results: BanditResults, out: Path) -> None:
    """Print the table and save the figures as PNG files in `out`."""
    from mtloop.report.matplotlib_charts import save

    click.echo(results.text())
    for chart in results.charts():
        save(chart, out / f"{chart.name}.png")
        click.echo(out / f"{chart.name}.png")


def _read(configs: Sequence[MethodConfig], traces: Sequence[Path]) -> dict[str, list[Step]]:
    return {config.method: Trace.read(path).steps for config, path in zip(configs, traces, strict=True)}


def _check_oracle(configs: Sequence[MethodConfig], out: Path, oracle: Path | None) -> None:
    """Read the trace of the oracle before the runs, so that an error shows early. Skip it if a run will write it."""
    written = {(out / f"{config.method}.jsonl").resolve() for config in configs}
    if oracle and oracle.resolve() not in written:
        Trace.read(oracle)


def _steps(path: Path | None) -> Sequence[Step]:
    return Trace.read(path).steps if path else ()


def _join_command(service: str, task: str, key_file: Path, config: MethodConfig, trace: Path) -> list[str]:
    arguments = [sys.executable, "-m", "mtloop", "join", service, "--task", task, "--key-file", str(key_file)]
    arguments += ["--method", config.method, "--out", str(trace), "--resume", "--threads", str(config.threads)]
    arguments += ["--model", config.model] if config.model else []
    return arguments + [word for name, value in config.settings.items() for word in ("--set", f"{name}={value}")]


def _run_command(children: ChildProcesses, arguments: list[str]) -> None:
    done = children.run(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode:
        raise MtloopError(method_failure(arguments[arguments.index("--method") + 1], done.stderr, done.returncode))
