"""A local bandit task: a stream whose references only the rater sees, with a held-out block inserted in it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeAlias

from annotated_types import Ge

from mtloop.bandits.oracle import RequiresReferences
from mtloop.core.closing import closed_after
from mtloop.core.errors import InputError
from mtloop.core.loop import Delay
from mtloop.core.protocols import Learner
from mtloop.core.record import record
from mtloop.core.trace import Header
from mtloop.core.types import JSON, Reward, Segment, Truth
from mtloop.data import Corpus, parse_columns, read, subset
from mtloop.data.stream_layout import StreamLayout
from mtloop.experiments.trace_notes import with_notes
from mtloop.judges.rater import Rater
from mtloop.judges.rewards import make_noise, sentence_reward
from mtloop.methods.learner_config import LearnerConfig

Count: TypeAlias = Annotated[int, Ge(0)]
SELECTION = ("columns", "shuffle", "skip", "distinct", "limit", "held_out", "blocks")  # fields that form the stream


@dataclass(frozen=True)
class BanditTask:
    """The sentences of a task in their order, and the reward of a translation.

    The last `held_out` sentences form a block. It is inserted `blocks` times: at the start, at regular intervals and at
    the end. Segment ids are positions in the stream, so a learner cannot recognise the block. A learner receives each
    reward `delay` sentences later.
    """

    data: str
    columns: str = ""
    shuffle: int = 0
    skip: Count = 0
    distinct: bool = False
    limit: Count = 0
    held_out: Count = 0
    blocks: Count = 0
    reward: str = "wmt17"
    noise: Mapping[str, float] = field(default_factory=dict)
    thumbs: float | None = None
    seed: int = 1
    delay: Count = 0
    source_lang: str = ""
    target_lang: str = ""

    def check(self) -> None:
        """Read the data and make the rater. Raise InputError if the task cannot be run."""
        self.stream(), self.rater()

    @cached_property
    def corpus(self) -> Corpus:
        """All sentences of the data; read once."""
        languages = {"source_lang": self.source_lang or None, "target_lang": self.target_lang or None}
        return read(Path(self.data), columns=parse_columns(self.columns), **languages)

    @property
    def language(self) -> str | None:
        """The target language, which selects the tokeniser of the rewards; None: unknown."""
        return self.target_lang or self.corpus.target_lang or None

    @property
    def selection(self) -> dict[str, JSON]:
        """Which sentences of the data form the stream, by the names of the fields."""
        return {name: getattr(self, name) for name in SELECTION}

    @cached_property
    def _pairs(self) -> list[tuple[Segment, Truth]]:
        pairs = subset(self.corpus, shuffle=self.shuffle, skip=self.skip, distinct=self.distinct, limit=self.limit)
        if not pairs:
            raise InputError(
                f"contains no sentences after the first {self.skip}" if self.skip else "contains no sentences",
                path=self.data,
            )
        return pairs

    @cached_property
    def layout(self) -> StreamLayout:
        if self.blocks and not self.held_out:
            raise InputError("--blocks needs the length of the held-out block; give it with --held-out")
        return StreamLayout(len(self._pairs), self.held_out, self.blocks)

    def stream(self) -> list[tuple[Segment, Truth]]:
        """The sentences with their references, in the order of the layout."""
        pairs = (self._pairs[self.layout.sentence_at(position)] for position in range(len(self.layout)))
        return [(Segment(str(number), s.source, s.context), truth) for number, (s, truth) in enumerate(pairs, 1)]

    def references(self) -> list[tuple[str, str]]:
        """Every sentence with its reference, once: the training data of an oracle."""
        return [(segment.source, truth.references[0]) for segment, truth in self._pairs if truth.references]

    def checkpoints(self) -> list[range]:
        """The positions of the held-out block in the stream."""
        return [range(start, start + self.held_out) for start in self.layout.block_starts()]

    def rater(self) -> Rater:
        """The rater that gives the rewards, with its noise."""
        return Rater(sentence_reward(self.reward, self.language), make_noise(self.noise), self.thumbs, self.seed)

    @property
    def rater_settings(self) -> dict[str, JSON]:
        """The settings of the rewards: metric, noise, binary rewards and delay."""
        return {"reward": self.reward, "noise": dict(self.noise), "thumbs": self.thumbs, "delay": self.delay}

    def config(self) -> dict[str, JSON]:
        """The settings of the task, for the header of a trace."""
        settings: dict[str, JSON] = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name in ("source_lang", "target_lang"):
            if not settings[name]:
                del settings[name]
        return settings | {"data": Path(self.data).name, "noise": dict(self.noise)}


@dataclass(frozen=True)
class BanditJob:
    """Run one method to the end of a task. An existing trace in the folder `out` is resumed."""

    kind: ClassVar[str] = "bandit"
    task: BanditTask
    config: LearnerConfig
    out: Path

    @property
    def name(self) -> str:
        return f"method {self.config.method.name}"

    @property
    def trace(self) -> Path:
        return self.out / f"{self.config.method.file_name}.jsonl"

    @property
    def done(self) -> bool:
        return False  # a complete trace is read and not run again

    def run(self) -> None:
        learner, header = self.prepare()
        self.out.mkdir(parents=True, exist_ok=True)
        stream, schedule = self.task.stream(), Delay(self.task.delay)
        steps = record(
            self.trace, header, stream, learner, self.task.rater(), schedule=schedule, stop_after=len(stream)
        )
        deque(with_notes(closed_after(steps, learner), self.trace), maxlen=0)

    def prepare(self) -> tuple[Learner, Header]:
        """The learner and the header of its trace. An oracle gets the references."""
        model = self.config.load()
        learner = self.config.make(model, Reward)
        if isinstance(learner, RequiresReferences):
            learner.set_references(self.task.references())
        return learner, self.config.header(model, {"task": self.task.config()}, seed=self.task.seed)

    def to_json(self) -> dict[str, JSON]:
        task: dict[str, JSON] = {name: getattr(self.task, name) for name in BanditTask.__dataclass_fields__}
        return {"task": task | {"noise": dict(self.task.noise)}, "config": self.config.to_json(), "out": str(self.out)}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> BanditJob:
        config = LearnerConfig.create(**fields["config"])
        return cls(BanditTask(**fields["task"]), config, Path(fields["out"]))
