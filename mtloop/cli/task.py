"""`mtloop task`: create and manage shared tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mtloop.cli._database import administration
from mtloop.cli._options import COUNT, PATH, POSITIVE, database_options, language_options, parse_noise
from mtloop.core.task_limits import DEFAULT_PASSES, DEFAULT_RUNS, described

FIELDS = {"source_lang": "source_language", "target_lang": "target_language"}  # options with another field name
EPILOG = """
\b
Examples:
  mtloop task create tiny --kind mock --source en.txt --reference de.txt --folder data
  mtloop task create --config training.toml --folder data
  mtloop task list --folder data
  mtloop task open training --folder data                    (publish its results)
  mtloop task trace RUN --out run.jsonl --folder data        (then: mtloop score run.jsonl --metrics reward,wmt17)
"""


@click.group(epilog=EPILOG)
def command() -> None:
    """Create, stop and delete shared tasks, publish their results, export the traces of runs."""


@command.command()
@click.argument("name", required=False)
@click.option("--config", type=PATH, help="TOML file with these settings. Command-line options take precedence.")
@click.option("--kind", type=click.Choice(["mock", "dev", "training"]), help="Kind of task.  [default: dev]")
@click.option("--source", type=PATH, help="Source text, one sentence per line.")
@click.option("--reference", type=PATH, help="References, one line per line of --source.")
@click.option(
    "--data", type=PATH, help="File with sources and references (.tsv .csv .tmx .xlf .po ..., also compressed)."
)
@click.option("--columns", metavar="source=A,target=B", help="Column names in --data.")
@language_options
@click.option(
    "--preprocess", metavar="STEP", multiple=True, help="normalise, tokenise (Moses) or lowercase. Repeat for more."
)
@click.option(
    "--reward",
    metavar="METRIC",
    help="Metric that gives the reward: wmt17, sbleu, chrf, ter or bleu.  [default: wmt17]",
)
@click.option(
    "--noise",
    metavar="NAME=N",
    multiple=True,
    help="Noise of the rater: granularity, variance or skew. Repeat to combine.",
)
@click.option(
    "--held-out", type=COUNT, help="Number of held-out sentences, taken from the end of the data.  [default: 0]"
)
@click.option(
    "--blocks",
    type=COUNT,
    help="Number of times the held-out block is inserted: at the start, at regular intervals, at the end.  "
    "[default: 0]",
)
@click.option("--held-out-source", type=PATH, help="Source text of a separate held-out block.")
@click.option("--held-out-reference", type=PATH, help="References of --held-out-source.")
@click.option(
    "--oracle",
    type=PATH,
    help="Trace or text file of a system trained on the references, for the regret. Its translations are in this "
    "order: the data, then the separate held-out block, each sentence once.",
)
@click.option("--samples", type=COUNT, help="Number of sentences per pass.  [default: all]")
@click.option("--required-samples", type=COUNT, help="Number of sentences a run needs to be ranked.  [default: all]")
@click.option(
    "--max-passes",
    type=COUNT,
    help=f"Maximum number of passes per run; 0: no limit.  [default: {described(DEFAULT_PASSES)}]",
)
@click.option(
    "--max-runs",
    type=COUNT,
    help=f"Maximum number of runs per participant; 0: no limit.  [default: {described(DEFAULT_RUNS)}]",
)
@click.option(
    "--max-characters", type=POSITIVE, help="Maximum number of characters of a translation.  [default: 10000]"
)
@click.option(
    "--allow-overlap",
    is_flag=True,
    default=None,
    help="Create the task even if it has sentences of another task. Participants may learn references of the one "
    "through the other.",
)
@database_options
def create(
    name: str | None, config: Path | None, folder: Path | None, database: str | None, noise: tuple[str, ...],
    **options: Any,
) -> None:  # fmt: skip
    """Create a task from text files or from a TOML file."""
    service = administration(folder, database)
    from tqdm import tqdm

    from mtloop.service.tasks.creation import make_task_file

    options |= {"name": name, "noise": parse_noise(noise) or None}
    given = {FIELDS.get(key, key): value for key, value in options.items() if value not in (None, ())}
    task = make_task_file(config, **given)
    with tqdm(desc="reading", unit=" sentences", delay=1, leave=False, disable=None) as bar:
        created = service.create_task(task, lambda count: bar.update(count - bar.n))
    click.echo(f"{created.name}: {created.kind}, {created.samples} sentences per pass, reward {created.reward}")


@command.command("list")
@database_options
def list_(folder: Path | None, database: str | None) -> None:
    """List all tasks."""
    from tabulate import tabulate

    rows = administration(folder, database).activity()
    headers = ("name", "kind", "samples", "runs", "translated", "state", "results")
    click.echo(tabulate(map(_row, rows), headers=headers, tablefmt="plain"))


def _row(row: dict[str, Any]) -> tuple[Any, ...]:
    state = "stopped" if row["stopped"] else "running"
    results = "open" if row["results_open"] or row["kind"] != "training" else "hidden"
    return *(row[name] for name in ("name", "kind", "samples", "runs", "translated")), state, results


def _add_command(name: str, description: str, state: str, **changes: bool) -> None:
    """Add a command that changes flags of a task and prints its new state."""

    @command.command(name, help=description)
    @click.argument("task", metavar="NAME")
    @database_options
    def change(task: str, folder: Path | None, database: str | None) -> None:
        found = administration(folder, database).change_task(task, **changes)
        always = found.kind != "training" and "results_open" in changes
        click.echo(f"{task}: {'results of this kind of task are always visible' if always else state}")


_add_command("open", "Publish the results of a training task.", "results are visible", results_open=True)
_add_command("hide", "Hide the results of a training task again.", "results are hidden", results_open=False)
_add_command("stop", "Stop a task: it accepts no more translations.", "stopped", stopped=True)
_add_command("resume", "Resume a stopped task.", "running", stopped=False)


@command.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@database_options
def delete(name: str, yes: bool, folder: Path | None, database: str | None) -> None:
    """Delete a task with all its runs and rewards."""
    service = administration(folder, database)
    service.task(name)
    if not yes:
        click.confirm(f"Delete task {name!r} with all its runs and rewards?", abort=True, err=True)
    service.delete_task(name)


@command.command()
@click.argument("run")
@click.option(
    "--out", type=PATH, required=True, help="File for the trace (JSON lines), which `mtloop score` and `report` read."
)
@click.option("--pass", "pass_number", type=POSITIVE, help="Number of the pass, from 1.  [default: the last]")
@database_options
def trace(run: str, out: Path, pass_number: int | None, folder: Path | None, database: str | None) -> None:
    """Export a run as a trace, with the references."""
    administration(folder, database).write_trace(run, out, pass_number)
    click.echo(out)
