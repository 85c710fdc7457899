"""`mtloop task`: making tasks and looking after them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mtloop.cli._database import with_store
from mtloop.cli._inputs import PATH
from mtloop.cli.serve import database_options
from mtloop.core.errors import InputError

if TYPE_CHECKING:
    from mtloop.service.tasks.creation import TaskFile

EPILOG = """
\b
Examples:
  mtloop task create tiny --kind mock --source en.txt --reference de.txt --folder data
  mtloop task create --config training.toml --folder data
  mtloop task list --folder data
  mtloop task open training --folder data                    (show its results)
  mtloop task trace RUN --out run.jsonl --folder data        (then: mtloop score run.jsonl --metrics reward,wmt17)
"""
NUMBER = click.IntRange(min=0)


@click.group(epilog=EPILOG)
def command() -> None:
    """Create shared tasks, stop them, open their results, take out what was done."""


@command.command()
@click.argument("name", required=False)
@click.option("--config", type=PATH, help="A TOML file with any of these; options given here win.")
@click.option("--kind", type=click.Choice(["mock", "dev", "training"]), help="[default: dev]")
@click.option("--source", type=PATH, help="Sources, a sentence a line.")
@click.option("--reference", type=PATH, help="References, line by line the same.")
@click.option("--data", type=PATH, help="Both in one file (.tsv .csv .tmx .xlf .po ..., also packed).")
@click.option("--columns", metavar="source=A,target=B", help="Names of the columns in --data.")
@click.option("--source-language", metavar="CODE", help="[default: en]")
@click.option("--target-language", metavar="CODE", help="[default: de]")
@click.option(
    "--preprocess", metavar="STEP", multiple=True, help="normalise, tokenise (Moses) or lowercase; again for more."
)
@click.option("--reward", metavar="METRIC", help="wmt17, sbleu, chrf, ter, bleu.  [default: wmt17]")
@click.option("--noise", metavar="NAME=N", multiple=True, help="granularity, variance or skew of a simulated person.")
@click.option("--held-out", type=NUMBER, help="Sentences, off the end of the data, of the block that is inserted.")
@click.option("--blocks", type=NUMBER, help="How often: at the start, at regular intervals, at the end.")
@click.option("--held-out-source", type=PATH, help="A held-out block of its own.")
@click.option("--held-out-reference", type=PATH, help="Its references.")
@click.option("--oracle", type=PATH, help="Trace or lines of a system trained on the references, for regret.")
@click.option("--samples", type=NUMBER, help="Cut a pass to so many sentences.  [default: all]")
@click.option("--required", type=NUMBER, help="Sentences a run must have had to be ranked.  [default: all]")
@click.option("--passes", type=NUMBER, help="Passes a run may have; 0: any.  [default: mock 0, dev 5, training 1]")
@click.option("--runs", type=NUMBER, help="Runs of a participant; 0: any.  [default: mock, dev 100, training 1]")
@click.option("--characters", type=click.IntRange(min=1), help="Longest translation.  [default: 10000]")
@database_options
def create(name: str | None, config: Path | None, folder: Path | None, database: str | None, **options: Any) -> None:
    """Create a task from two text files, from any file mtloop reads, or from a TOML file."""
    from tqdm import tqdm

    from mtloop.service.tasks.creation import create_task

    task = _task_file(name, config, options)
    with tqdm(desc="reading", unit=" sentences", delay=1, leave=False, disable=None) as bar:
        with_store(lambda store: create_task(store, task, lambda count: _show(bar, count)), folder, database, new=True)
    made = with_store(lambda store: store.task(task.name), folder, database)
    assert made is not None
    click.echo(f"{made.name}: {made.kind}, {made.samples} samples a pass, reward {made.reward}")


@command.command("list")
@database_options
def list_(folder: Path | None, database: str | None) -> None:
    """All tasks."""
    from tabulate import tabulate

    rows = with_store(lambda store: store.activity(), folder, database)
    headers = ("name", "kind", "samples", "runs", "translated", "state", "results")
    click.echo(tabulate(map(_listed, rows), headers=headers, tablefmt="plain"))


def _listed(row: dict[str, Any]) -> tuple[Any, ...]:
    state = "stopped" if row["stopped"] else "running"
    results = "open" if row["opened"] or row["kind"] != "training" else "hidden"
    return *(row[name] for name in ("name", "kind", "samples", "runs", "translated")), state, results


def _changing(verb: str, what: str, **changes: bool) -> None:
    """A verb that switches one thing of a task."""

    @command.command(verb, help=what)
    @click.argument("name")
    @database_options
    def change(name: str, folder: Path | None, database: str | None) -> None:
        with_store(lambda store: store.change_task(name, **changes), folder, database)


_changing("open", "Open the results of a training task to everyone.", opened=True)
_changing("hide", "Hide the results of a training task again.", opened=False)
_changing("stop", "Take no more translations.", stopped=True)
_changing("resume", "Take translations again.", stopped=False)


@command.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@database_options
def delete(name: str, yes: bool, folder: Path | None, database: str | None) -> None:
    """Delete a task with all its runs and rewards."""
    with_store(lambda store: store.need_task(name), folder, database)
    if not yes:
        click.confirm(f"Delete task {name!r} with all its runs and rewards?", abort=True, err=True)
    with_store(lambda store: store.delete_task(name), folder, database)


@command.command()
@click.argument("run")
@click.option("--out", type=PATH, required=True, help="The trace, JSON lines; `mtloop score` and `report` read it.")
@click.option("--pass", "lap", type=click.IntRange(min=1), help="[default: the last]")
@database_options
def trace(run: str, out: Path, lap: int | None, folder: Path | None, database: str | None) -> None:
    """Write what a run did, with the references, as a trace."""
    from mtloop.service.tasks.export import write_trace

    if out.exists():
        raise InputError("is there already; choose another name", path=out)
    with_store(lambda store: write_trace(store, run, lap, out), folder, database)
    click.echo(out)


def _task_file(name: str | None, config: Path | None, options: dict[str, Any]) -> TaskFile:
    """Options over the TOML file."""
    from dataclasses import replace

    from mtloop.service.tasks.creation import TaskFile

    given = {key: value for key, value in options.items() if value not in (None, ())}
    if "noise" in given:
        given["noise"] = dict(map(_noise, given["noise"]))
    if name is not None:
        given["name"] = name
    if config is not None:
        return replace(TaskFile.read(config), **given)
    if name is None:
        raise InputError("a task needs a name: mtloop task create NAME ..., or --config FILE")
    return TaskFile(**given)


def _noise(pair: str) -> tuple[str, float]:
    name, _, value = pair.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError as error:
        raise InputError(f"--noise takes NAME=NUMBER, not {pair!r}") from error


def _show(bar: Any, count: int) -> None:
    bar.update(count - bar.n)
