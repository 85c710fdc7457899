"""`mtloop join`: take part in a shared task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mtloop.cli._options import PATH, POSITIVE
from mtloop.cli.run import parse_setting, refuse_unused_model
from mtloop.core.errors import InputError

if TYPE_CHECKING:
    from mtloop.client import Client, TaskInfo
    from mtloop.core.protocols import Learner
    from mtloop.core.trace import Header
    from mtloop.core.types import JSON, Step

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
@click.option("--method", default="baseline", show_default=True, help="Method; it must not learn from post-edits.")
@click.option("--model", help="The embedded en-de, a folder, or a Hugging Face name.  [default: en-de]")
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="Setting of the method. Repeat for more.")
@click.option("--out", type=PATH, required=True, help="File for the trace (JSON lines).")
@click.option("--resume", is_flag=True, help="Resume the trace if it exists.")
@click.option("--run", help="Id of an existing run to continue.  [default: start a new run]")
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
    url: str, task: str, key_file: Path, out: Path, resume: bool, run: str | None, passes: int,
    give_up_after: float, snapshot_every: int, **options: Any,
) -> None:  # fmt: skip
    """Take part in a task: translate its sentences one by one, and learn from the reward of each translation."""
    from mtloop.client import Client, Retry

    if out.exists() and not resume:
        raise InputError("already exists; resume it with --resume, or choose another name", path=out)
    key = read_key(key_file)
    participant = ParticipantConfig.create(**options)
    with Client(url, key, retry=Retry(give_up_after=give_up_after, on_wait=report_wait)) as client:
        for _ in take_part(client, participant, task, out, run, passes, snapshot_every):
            pass
    click.echo(out)


@dataclass(frozen=True)
class ParticipantConfig:
    """A learner and the configuration that reproduces it."""

    learner: Learner
    config: Mapping[str, JSON]
    threads: int

    @classmethod
    def create(cls, method: str, model: str | None, pairs: Iterable[str], threads: int) -> ParticipantConfig:
        """Create the learner by name. Raise InputError if it cannot learn from rewards."""
        from mtloop.core.types import Reward
        from mtloop.methods.compatibility import check_feedback, check_without_references
        from mtloop.methods.engines import engine_of
        from mtloop.methods.registry import make_learner, settings_of

        refuse_unused_model(method, model)
        settings, engine = settings_of(method, dict(map(parse_setting, pairs))), engine_of(method)
        engine.set_threads(threads)
        loaded = engine.load(name := model or engine.model)
        learner = make_learner(method, loaded, settings)
        check_feedback(learner, method, Reward)
        check_without_references(learner, method)
        fingerprint = loaded.fingerprint if loaded else ""
        config: dict[str, JSON] = {"method": method, "model": name, "fingerprint": fingerprint, "settings": settings}
        return cls(learner, config, threads)

    def header(self, run_config: Mapping[str, JSON]) -> Header:
        from mtloop.core.trace import Header
        from mtloop.methods.engines import engine_of

        versions = engine_of(str(self.config["method"])).versions()
        return Header(config={**run_config, **self.config}, versions=versions, threads=self.threads)


def take_part(
    client: Client,
    participant: ParticipantConfig,
    task: str,
    out: Path,
    run: str | None,
    passes: int,
    snapshot_every: int,
) -> Iterator[Step]:
    """Take part in the task, and yield the steps of the run."""
    from mtloop.client import join_or_resume, participate

    check_passes(client.task(task), passes)
    joined, run_config = join_or_resume(client, out, task, run)
    header = participant.header(run_config)
    steps = participate(out, header, joined, participant.learner, passes=passes, snapshot_every=snapshot_every)
    start = run_config["first_step"]
    assert isinstance(start, int)
    return with_progress(steps, passes * joined.initial_state.samples - start, f"{task} {joined.run}")


def with_progress(steps: Iterable[Step], total: int, name: str) -> Iterator[Step]:
    """Yield the steps; show a progress bar with the reward so far if stderr is a terminal."""
    from tqdm import tqdm

    from mtloop.core.types import Reward

    earned, count = 0.0, 0
    with tqdm(total=total, desc=name, unit="seg", disable=None) as bar:
        for count, step in enumerate(steps, start=1):
            earned += step.feedback.value if isinstance(step.feedback, Reward) else 0.0
            bar.set_postfix_str(f"reward {earned:.2f}, mean {earned / count:.4f}", refresh=False)
            bar.update()
            yield step
    click.echo(f"mtloop: {name}: {count} translations, cumulative reward {earned:.4f}", err=True)


def check_passes(task: TaskInfo, passes: int) -> None:
    """Raise InputError if the task allows fewer passes. A limit of 0 means no limit."""
    if task.max_passes and passes > task.max_passes:
        raise InputError(f"task {task.name} allows {task.max_passes} passes, not {passes}")


def report_wait(reason: str, seconds: float) -> None:
    """Report a wait of at least one second on stderr."""
    if seconds >= 1:
        click.echo(f"mtloop: {reason}; retrying in {seconds:.0f} s", err=True)


def read_key(path: Path) -> str:
    """Read the API key, the only word in the file."""
    try:
        words = path.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"the API key cannot be read: {getattr(error, 'strerror', None) or error}", path=path
        ) from error
    if len(words) != 1:
        raise InputError(f"contains {len(words)} words; expected only the API key", path=path)
    return words[0]
