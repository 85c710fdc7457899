"""`mtloop join`: a participant in a task, from the shell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mtloop.cli._inputs import PATH
from mtloop.cli.run import refuse_idle_model, setting
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
The last goes on after a crash, of either side: it waits for the service (--patience), and what was on its way is
submitted again and counts once.
"""


@click.command(epilog=EPILOG)
@click.argument("url")
@click.option("--task", required=True, help="Name of the task.")
@click.option("--key-file", type=PATH, required=True, help="A file with the API key, as `participant add` printed it.")
@click.option("--method", default="baseline", show_default=True, help="Any method that does not learn from post-edits.")
@click.option("--model", help="The embedded en-de, a folder, or a hub name, for methods of a model.  [default: en-de]")
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="A setting of the method; again for another.")
@click.option("--out", type=PATH, required=True, help="The trace, JSON lines.")
@click.option("--resume", is_flag=True, help="Go on with a trace that was interrupted.")
@click.option("--run", help="Take up this run where it stands, in place of a new one.")
@click.option(
    "--passes", default=1, show_default=True, type=click.IntRange(min=1), help="Go on to this pass, if the task allows."
)
@click.option(
    "--patience",
    default=300.0,
    show_default=True,
    type=click.FloatRange(min=0),
    help="Seconds to wait for a service that does not answer.",
)
@click.option("--snapshot", default=100, show_default=True, type=click.IntRange(min=1), help="Steps between snapshots.")
@click.option("--threads", default=1, show_default=True, type=click.IntRange(min=1), help="Threads of the model.")
def command(
    url: str, task: str, key_file: Path, out: Path, resume: bool, run: str | None, passes: int, patience: float,
    snapshot: int, **options: Any,
) -> None:  # fmt: skip
    """Take part in a task: translate its sentences one by one, learn from the reward of each."""
    from mtloop.client import Client, Retry

    if out.exists() and not resume:
        raise InputError("is there already; go on with --resume, or choose another name", path=out)
    key = read_key(key_file)
    participant = ParticipantConfig.made(**options)
    with Client(url, key, retry=Retry(patience=patience, notice=say_waiting)) as client:
        for _ in take_part(client, participant, task, out, run, passes, snapshot):
            pass
    click.echo(out)


@dataclass(frozen=True)
class ParticipantConfig:
    """A learner, and what it takes to make it again."""

    learner: Learner
    config: Mapping[str, JSON]
    threads: int

    @classmethod
    def made(cls, method: str, model: str | None, pairs: Iterable[str], threads: int) -> ParticipantConfig:
        """By name. One that a task cannot teach what it could learn is refused before a run is begun."""
        from mtloop.core.types import Reward
        from mtloop.methods.compatibility import refuse_deaf, refuse_informed
        from mtloop.methods.engines import engine_of
        from mtloop.methods.registry import make_learner, settings_of

        refuse_idle_model(method, model)
        settings, engine = settings_of(method, dict(map(setting, pairs))), engine_of(method)
        engine.prepare(threads)
        loaded = engine.load(name := model or engine.model)
        learner = make_learner(method, loaded, settings)
        refuse_deaf(learner, method, Reward)
        refuse_informed(learner, method)
        fingerprint = loaded.fingerprint if loaded else ""
        config: dict[str, JSON] = {"method": method, "model": name, "fingerprint": fingerprint, "settings": settings}
        return cls(learner, config, threads)

    def header(self, where: Mapping[str, JSON]) -> Header:
        from mtloop.core.trace import Header
        from mtloop.methods.engines import engine_of

        versions = engine_of(str(self.config["method"])).versions()
        return Header(config={**where, **self.config}, versions=versions, threads=self.threads)


def take_part(
    client: Client, participant: ParticipantConfig, task: str, out: Path, run: str | None, passes: int, snapshot: int
) -> Iterator[Step]:
    """The steps of the run, as they come."""
    from mtloop.client import participate, rejoin

    check_passes(client.task(task), passes)
    joined, where = rejoin(client, out, task, run)
    header = participant.header(where)
    steps = participate(out, header, joined, participant.learner, passes=passes, every=snapshot)
    begun = where["begun"]
    assert isinstance(begun, int)
    return shown(steps, passes * joined.joined.samples - begun, f"{task} {joined.run}")


def shown(steps: Iterable[Step], total: int, name: str) -> Iterator[Step]:
    """The steps, with a progress bar and the reward so far on stderr if it is a terminal."""
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
    """A pass too many is found before the first translation; 0 allows any number."""
    if task.passes and passes > task.passes:
        raise InputError(f"task {task.name} allows {task.passes} passes, not {passes}")


def say_waiting(why: str, wait: float) -> None:
    """Short waits are nobody's business."""
    if wait >= 1:
        click.echo(f"mtloop: {why}; asking again in {wait:.0f} s", err=True)


def read_key(path: Path) -> str:
    """The key that stands alone in a file."""
    try:
        words = path.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"no key can be read: {getattr(error, 'strerror', None) or error}", path=path) from error
    if len(words) != 1:
        raise InputError(f"holds {len(words)} words; expected one, the API key", path=path)
    return words[0]
