"""Take part in a shared task on a service: what `mtloop join` does."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from mtloop.core.closing import closed_after
from mtloop.core.errors import InputError
from mtloop.core.log import logger
from mtloop.core.types import JSON, Reward, Step
from mtloop.experiments.trace_notes import with_notes
from mtloop.methods.compatibility import check_without_references
from mtloop.methods.defaults import STREAM_LENGTH
from mtloop.methods.learner_config import LearnerConfig

if TYPE_CHECKING:
    from mtloop.client import Client, TaskInfo

GIVE_UP_AFTER = 300.0  # seconds


@dataclass(frozen=True)
class ParticipantJob:
    """Take part in a task of a service with one method. An existing trace is resumed.

    `run_id`: an existing run to continue (None: start a new run). `passes`: number of passes over the task.
    `give_up_after`: seconds to retry a request while the service does not respond.
    """

    kind: ClassVar[str] = "participant"
    url: str
    task: str
    key_file: Path
    config: LearnerConfig
    trace: Path
    run_id: str | None = None
    passes: int = 1
    give_up_after: float = GIVE_UP_AFTER
    snapshot_every: int = 100

    @property
    def name(self) -> str:
        return f"method {self.config.method.name}"

    @property
    def done(self) -> bool:
        return False  # only the service knows

    def run(self) -> None:
        from mtloop.client import Client, Retry
        from mtloop.client.retry import report_wait

        check_without_references(self.config.method)
        key = read_key(self.key_file)
        with Client(self.url, key, retry=Retry(give_up_after=self.give_up_after, on_wait=report_wait)) as client:
            deque(self.steps(client), maxlen=0)

    def steps(self, client: Client) -> Iterator[Step]:
        """Take part in the task, and yield the steps of the run."""
        from mtloop.client import join_or_resume, participate

        model = self.config.load()
        learner = self.config.make(model, Reward)  # a wrong setting is refused before the service hears of it
        check_passes(task := client.task(self.task), self.passes)
        config = self._with_stream_length(client, self.passes * task.samples)
        learner = learner if config == self.config else config.make(model, Reward)
        joined, run_config = join_or_resume(client, self.trace, self.task, self.run_id)
        header = config.header(model, run_config)
        steps = participate(self.trace, header, joined, learner, passes=self.passes, snapshot_every=self.snapshot_every)
        start = run_config["first_step"]
        assert isinstance(start, int)
        total = self.passes * joined.initial_state.samples - start
        return with_reward(with_notes(closed_after(steps, learner), self.trace), total, f"{self.task} {joined.run}")

    def _with_stream_length(self, client: Client, sentences: int) -> LearnerConfig:
        """Return the method with the number of sentences that it anneals over. That of an existing trace stays."""
        from mtloop.client.participation import read_existing_trace

        start = self.config.settings.get("annealing_start", 1)
        if not isinstance(start, int | float) or start >= 1:
            return self.config
        if (trace := read_existing_trace(self.trace)) is not None:
            settings = trace.header.config.get("settings")
            known = settings.get(STREAM_LENGTH) if isinstance(settings, dict) else 0
            return self.config.with_stream_length(known if isinstance(known, int) else 0)
        return self.config.with_stream_length(sentences - (client.run(self.run_id).done if self.run_id else 0))

    def to_json(self) -> dict[str, JSON]:
        fields: dict[str, JSON] = {name: getattr(self, name) for name in ("url", "task", "run_id", "passes")}
        fields |= {"give_up_after": self.give_up_after, "snapshot_every": self.snapshot_every}
        return fields | {"key_file": str(self.key_file), "trace": str(self.trace), "config": self.config.to_json()}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> ParticipantJob:
        config, paths = LearnerConfig.create(**fields["config"]), ("key_file", "trace")
        return cls(**dict(fields) | {"config": config} | {name: Path(fields[name]) for name in paths})


def with_reward(steps: Iterable[Step], total: int, name: str) -> Iterator[Step]:
    """Yield the steps; show a progress bar with the reward so far if stderr is a terminal."""
    from tqdm import tqdm

    earned, count = 0.0, 0
    with tqdm(total=total, desc=name, unit="seg", disable=None) as bar:
        for count, step in enumerate(steps, start=1):
            earned += step.feedback.value if isinstance(step.feedback, Reward) else 0.0
            bar.set_postfix_str(f"reward {earned:.2f}, mean {earned / count:.4f}", refresh=False)
            bar.update()
            yield step
    logger.warning("%s: %d translations, cumulative reward %.4f", name, count, earned)


def check_passes(task: TaskInfo, passes: int) -> None:
    """Raise InputError if the task allows fewer passes. A limit of 0 means no limit."""
    if task.max_passes and passes > task.max_passes:
        raise InputError(f"task {task.name} allows {task.max_passes} passes, not {passes}")


def read_key(path: Path) -> str:
    """Read the API key, the only word in the file."""
    try:
        words = path.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"the API key cannot be read: {reason}", path=path) from error
    if len(words) != 1:
        raise InputError(f"contains {len(words)} words; expected only the API key", path=path)
    return words[0]
