"""`mtloop join`: take part in a shared task."""

from __future__ import annotations

from pathlib import Path

import click

from mtloop.cli._options import PATH, POSITIVE, parse_settings
from mtloop.core.extras import need_extras

EPILOG = """
\b
Examples:
  mtloop join http://localhost:8017 --task mock --key-file key.txt --method copy-source --out mock.jsonl
  mtloop join http://localhost:8017 --task dev --key-file key.txt --method baseline --passes 2 --out dev.jsonl
  mtloop join http://localhost:8017 --task dev --key-file key.txt --method baseline --out dev.jsonl --resume
\b
The last command resumes after a crash of the client or the service. It waits for the service (--give-up-after)
and repeats the pending submission, which counts only once.
"""


@click.command(epilog=EPILOG)
@click.argument("url")
@click.option("--task", required=True, help="Name of the task.")
@click.option("--key-file", type=PATH, required=True, help="File with the API key that `participant add` printed.")
@click.option(
    "--method",
    default="baseline",
    show_default=True,
    help="Method that learns from rewards or not at all, or your own: file.py:Class, module:Class, exec:COMMAND.",
)
@click.option("--model", default="", help="The embedded en-de, a folder, or a Hugging Face name.  [default: en-de]")
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="Setting of the method. Repeat for more.")
@click.option("--out", type=PATH, required=True, help="File for the trace (JSON lines).")
@click.option("--resume", is_flag=True, help="Resume the trace if it exists.")
@click.option("--run", "run_id", help="Id of an existing run to continue.  [default: start a new run]")
@click.option(
    "--passes", default=1, show_default=True, type=POSITIVE, help="Number of passes over the task. The task limits it."
)
@click.option(
    "--give-up-after",
    default=300.0,
    show_default=True,
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Seconds to retry a request while the service does not respond.",
)
@click.option(
    "--snapshot-every", default=100, show_default=True, type=POSITIVE, help="Number of sentences between snapshots."
)
@click.option("--threads", default=1, show_default=True, type=POSITIVE, help="Number of CPU threads.")
def command(
    url: str, task: str, key_file: Path, method: str, model: str, pairs: tuple[str, ...], out: Path, resume: bool,
    run_id: str | None, passes: int, give_up_after: float, snapshot_every: int, threads: int,
) -> None:  # fmt: skip
    """Take part in a task: translate its sentences one by one, and learn from the reward of each translation."""
    from mtloop.experiments.join import ParticipantJob
    from mtloop.experiments.run import check_output
    from mtloop.methods.learner_config import LearnerConfig

    need_extras("client")
    check_output(out, resume=resume)
    config = LearnerConfig.create(method, model, parse_settings(pairs), threads)
    ParticipantJob(url, task, key_file, config, out, run_id, passes, give_up_after, snapshot_every).run()
    click.echo(out)
