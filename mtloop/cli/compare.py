"""`mtloop compare`: run several methods on one stream, print the paper's tables, write the report."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mtloop.cli._inputs import Inputs
from mtloop.cli._options import COUNT, PATH, POSITIVE, experiment_options, split_names
from mtloop.cli.run import make_experiment
from mtloop.core.errors import MtloopError
from mtloop.core.processes import ChildProcesses
from mtloop.experiments import backward_reliability
from mtloop.experiments.runners import method_failure
from mtloop.methods.defaults import COMPARED_METHODS

if TYPE_CHECKING:
    from mtloop.experiments.experiment import Experiment
    from mtloop.metrics.reliability import Reliability

METRICS = "bleu,sbleu,ter,r0,r1,r01,rer,slope-ca"
ADAPTING = "smt-adapting"  # the method for which the 2012 paper measures backward reliability
DOCUMENTS = 6  # the number of documents in that paper

EPILOG = """
\b
Examples:
  mtloop compare --data manual.tsv --methods baseline,full,lasso --out out/manual
  mtloop compare --data manual.tsv --limit 2000 --beam-size 4 --out out/beam
  mtloop compare --data FILE --methods smt-baseline,smt-adapting,smt-foreground,smt-foreground-unfair \\
      --model smt-model --shuffle 1 --lang it --out out/curves
  mtloop compare --data manual.tsv --methods baseline,full,lasso+memory --reliability 6 --out out/reliability
\b
Run the same command again to resume after an interruption.
"""


@click.command(epilog=EPILOG)
@experiment_options
@click.option(
    "--methods", default=COMPARED_METHODS, show_default=True, help="Methods to compare; the first is the baseline."
)
@click.option(
    "--out",
    type=PATH,
    default="compared",
    show_default=True,
    help="Folder for traces and the report. Existing traces are resumed.",
)
@click.option("--jobs", default=2, show_default=True, type=POSITIVE, help="Number of runs in parallel.")
@click.option("--metrics", "names", default=METRICS, show_default=True, help="Metrics to compute.")
@click.option("--block-words", default=1000, show_default=True, type=POSITIVE, help="Words per block, for slopes.")
@click.option("--lang", "language", default="de", show_default=True, help="Target language, for content words.")
@click.option(
    "--reliability",
    "documents",
    type=COUNT,
    help="Number of documents on which backward reliability is measured, for methods that learn from post-edits; "
    f"0: off.  [default: {DOCUMENTS} if {ADAPTING} is among the methods, else 0]",
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
    """Run several methods on the same stream; compare their quality and speed of learning, with significance."""
    from mtloop.methods.neural import canonical_name

    names_given = split_names(methods, "--methods", "method", "baseline,lora")
    chosen = list(dict.fromkeys(map(canonical_name, names_given)))
    experiments = experiments_of(chosen, options)
    Inputs(language=language, names=names, block_words=block_words).metrics()  # a wrong name raises before the runs
    if documents:
        backward_reliability.check_documents(experiments[chosen[0]], documents)
    traces = run_all(chosen, out, jobs, language, options)
    count = (DOCUMENTS if ADAPTING in chosen else 0) if documents is None else documents
    reliability = backward_reliability.measure_reliability(experiments, count, out) if count else {}
    compare_traces(traces, out, names, language, block_words, reliability)


def experiments_of(methods: Sequence[str], options: dict[str, Any]) -> dict[str, Experiment]:
    """The experiment of each method. Raise InputError for a wrong name, setting or schedule."""
    from mtloop.methods.registry import settings_of

    for method in methods:
        settings_of(method)
    experiments = {method: make_experiment(method=method, **_applicable(method, options)) for method in methods}
    for method, experiment in experiments.items():
        settings_of(method, experiment.settings)
        experiment.make_schedule()
    return experiments


def run_all(methods: Sequence[str], out: Path, jobs: int, language: str, options: dict[str, Any]) -> list[Path]:
    """Run each method in its own process, `jobs` in parallel; finished runs are not repeated. Return the traces."""
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
    reliability: Mapping[str, Reliability] | None = None,
) -> None:
    """Print the tables and write the report; the first trace is the baseline.

    With statistical methods or backward reliability, add the table and figures of the 2012 paper.
    """
    from mtloop.report import text_tables, write_report
    from mtloop.report.learning_curves import PAPER_SLOPES, LearningCurves

    inputs = Inputs(
        traces=tuple(traces[1:]), baseline=traces[0], language=language, names=names, block_words=block_words
    )
    evaluation = inputs.evaluation()
    results = list(evaluation.results())
    click.echo(text_tables.as_table(evaluation, results))
    click.echo(text_tables.relative_table(evaluation, results))
    study = None
    if reliability or not PAPER_SLOPES.keys().isdisjoint(evaluation.systems):
        study = LearningCurves(evaluation, block_words, reliability or {})
        click.echo(study.text())
    written = write_report(evaluation, out / "report.html", title="Methods compared", learning_curves=study)
    click.echo(f"Report: {written[0]}")


def _applicable(method: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options that apply to a method: without --model and --beam-size for a method without a model."""
    from mtloop.methods.registry import takes_model

    unused = () if takes_model(method) else ("model", "beam_size")
    return {name: value for name, value in options.items() if name not in unused}


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
    for name, value in _applicable(method, options).items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            arguments.append(option)
        elif value is not None:
            arguments += [option, str(value)]
    return arguments


def _run(children: ChildProcesses, arguments: list[str]) -> None:
    done = children.run(arguments, stdout=subprocess.DEVNULL, stderr=None if sys.stderr.isatty() else subprocess.PIPE)
    if done.returncode:
        raise MtloopError(method_failure(arguments[arguments.index("--method") + 1], done.stderr, done.returncode))
