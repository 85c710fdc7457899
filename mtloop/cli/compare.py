"""`mtloop compare`: several methods on one stream, the paper's tables, and the report."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mtloop.cli._inputs import PATH, Inputs
from mtloop.cli.run import experiment_options, make_experiment
from mtloop.core.errors import MtloopError
from mtloop.core.processes import ChildProcesses
from mtloop.experiments import backward_reliability
from mtloop.methods.defaults import COMPARED

if TYPE_CHECKING:
    from mtloop.experiments.experiment import Experiment
    from mtloop.metrics.reliability import Reliability

METRICS = "bleu,sbleu,ter,r0,r1,r01,rer,slope-ca"
ADAPTING = "smt-adapting"  # the method whose memory the 2012 paper looks into
DOCUMENTS = 6  # as many as it has

EPILOG = """
\b
Examples:
  mtloop compare --data manual.tsv --methods baseline,full,lasso --out out/manual
  mtloop compare --data manual.tsv --limit 2000 --beam 4 --out out/beam
  mtloop compare --data FILE --methods smt-baseline,smt-adapting,smt-foreground,smt-foreground-unfair \\
      --model smt-model --shuffle 1 --lang it --out out/curves
  mtloop compare --data manual.tsv --methods baseline,full,lasso+memory --reliability 6 --out out/remembered
\b
Killed and started again, it goes on where it was.
"""


@click.command(epilog=EPILOG)
@experiment_options
@click.option("--methods", default=COMPARED, show_default=True, help="Methods to compare; the first is the baseline.")
@click.option(
    "--out", type=PATH, default="compared", show_default=True, help="Folder for traces, tables and the report."
)
@click.option("--jobs", default=2, show_default=True, type=click.IntRange(min=1), help="Runs at the same time.")
@click.option("--metrics", "names", default=METRICS, show_default=True, help="What to measure.")
@click.option(
    "--block-words", default=1000, show_default=True, type=click.IntRange(min=1), help="Words a block, for slopes."
)
@click.option("--lang", "language", default="de", show_default=True, help="Target language, for content words.")
@click.option(
    "--reliability",
    "documents",
    type=click.IntRange(min=0),
    help="Documents whose last thirds show what each method that learns from post-edits remembers; 0: none."
    f"  [default: {DOCUMENTS} with {ADAPTING} among the methods, else 0]",
)
def command(
    methods: str,
    out: Path,
    jobs: int,
    names: str,
    block_words: int,
    language: str,
    documents: int | None,
    **options: Any,
) -> None:
    """Run several methods over the same stream and say which learns, how fast, and whether it is luck."""
    chosen = [name.strip() for name in methods.split(",") if name.strip()]
    experiments = experiments_of(chosen, options)
    Inputs(language=language, names=names, block_words=block_words).metrics()  # found before an hour of work
    if documents:
        backward_reliability.need_documents(experiments[chosen[0]], documents)
    traces = run_all(chosen, out, jobs, language, options)
    most = (DOCUMENTS if ADAPTING in chosen else 0) if documents is None else documents
    remembered = backward_reliability.measured(experiments, most, out) if most else {}
    compare_traces(traces, out, names, language, block_words, remembered)


def experiments_of(methods: Sequence[str], options: dict[str, Any]) -> dict[str, Experiment]:
    """What each method runs; a wrong name, setting or schedule is found before an hour of work."""
    from mtloop.methods.registry import settings_of

    for method in methods:
        settings_of(method)
    experiments = {method: make_experiment(method=method, **_fitting(method, options)) for method in methods}
    for method, experiment in experiments.items():
        settings_of(method, experiment.settings)
        experiment.when()
    return experiments


def run_all(methods: Sequence[str], out: Path, jobs: int, language: str, options: dict[str, Any]) -> list[Path]:
    """Each method in a process of its own, so many at a time; finished ones are not run again."""
    experiments_of(methods, options)
    traces = [out / f"{method}.jsonl" for method in methods]
    out.mkdir(parents=True, exist_ok=True)
    commands = [_command(method, trace, language, options) for method, trace in zip(methods, traces, strict=True)]
    with ThreadPoolExecutor(jobs) as pool, ChildProcesses() as children:
        list(pool.map(partial(_run, children), commands))
    return traces


def compare_traces(
    traces: Sequence[Path],
    out: Path,
    names: str,
    language: str,
    block_words: int,
    remembered: Mapping[str, Reliability] | None = None,
) -> None:
    """Print the tables and write the report; the first trace is the baseline.

    With statistical methods among them, or with backward reliability, come the 2012 paper's table and figures.
    """
    from mtloop.report import text_tables, write_report
    from mtloop.report.learning_curves import PAPER, LearningCurves

    inputs = Inputs(
        traces=tuple(traces[1:]), baseline=traces[0], language=language, names=names, block_words=block_words
    )
    evaluation = inputs.evaluation()
    results = list(evaluation.results())
    click.echo(text_tables.as_table(evaluation, results))
    click.echo(text_tables.relative_table(evaluation, results))
    study = None
    if remembered or not PAPER.keys().isdisjoint(evaluation.systems):
        study = LearningCurves(evaluation, block_words, remembered or {})
        click.echo(study.text())
    written = write_report(evaluation, out / "report.html", title="Methods compared", study=study)
    click.echo(f"The report: {written[0]}")


def _fitting(method: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options that mean something to a method: one without a model has none to search with."""
    from mtloop.methods.registry import takes_model

    idle = () if takes_model(method) else ("model", "beam")
    return {name: value for name, value in options.items() if name not in idle}


def _command(method: str, trace: Path, language: str, options: dict[str, Any]) -> list[str]:
    arguments = [
        sys.executable,
        "-m",
        "mtloop",
        "run",
        "--method",
        method,
        "--out",
        str(trace),
        "--resume",
        "--lang",
        language,
    ]
    for name, value in _fitting(method, options).items():
        if value is True:
            arguments.append(f"--{name}")
        elif value is not None:
            arguments += [f"--{name}", str(value)]
    return arguments


def _run(children: ChildProcesses, arguments: list[str]) -> None:
    done = children.run(arguments, stdout=subprocess.DEVNULL, stderr=None if sys.stderr.isatty() else subprocess.PIPE)
    if done.returncode:
        said = (done.stderr or b"").decode(errors="replace").strip().splitlines()
        method = arguments[arguments.index("--method") + 1]
        raise MtloopError(f"method {method} failed: {said[-1].removeprefix('mtloop: ') if said else 'see above'}")
