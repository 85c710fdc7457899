"""A local bandit task: a stream whose references only the rater sees, with a held-out block inserted in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from mtloop.bandits.oracle import RequiresReferences
from mtloop.core.errors import InputError
from mtloop.core.protocols import Learner
from mtloop.core.trace import Header
from mtloop.core.types import JSON, Reward, Segment, Truth
from mtloop.data import parse_columns, read, subset
from mtloop.data.stream_layout import StreamLayout
from mtloop.judges.rater import Rater
from mtloop.judges.rewards import make_noise, sentence_reward
from mtloop.methods.compatibility import check_feedback
from mtloop.methods.defaults import STREAM_LENGTH
from mtloop.methods.engines import engine_of
from mtloop.methods.registry import make_learner, settings_of


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
    skip: int = 0
    distinct: bool = False
    limit: int = 0
    held_out: int = 0
    blocks: int = 0
    reward: str = "wmt17"
    noise: Mapping[str, float] = field(default_factory=dict)
    thumbs: float | None = None
    seed: int = 1
    delay: int = 0

    @cached_property
    def _pairs(self) -> list[tuple[Segment, Truth]]:
        stream = read(Path(self.data), columns=parse_columns(self.columns))
        pairs = subset(stream, shuffle=self.shuffle, skip=self.skip, distinct=self.distinct, limit=self.limit)
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
        return Rater(sentence_reward(self.reward), make_noise(self.noise), self.thumbs, self.seed)

    def config(self) -> dict[str, JSON]:
        """The settings of the task, for the header of a trace."""
        settings: dict[str, JSON] = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return settings | {"data": Path(self.data).name, "noise": dict(self.noise)}


@dataclass(frozen=True)
class MethodConfig:
    """One method that runs on a task, with its model and settings."""

    method: str
    model: str = ""
    settings: Mapping[str, JSON] = field(default_factory=dict)
    threads: int = 1

    def build(self, task: BanditTask) -> tuple[Learner, Header]:
        """The learner and the header of its trace. A method with annealing gets the length of the stream."""
        given = dict(self.settings)
        if STREAM_LENGTH in settings_of(self.method) and STREAM_LENGTH not in given:
            given[STREAM_LENGTH] = len(task.layout)
        settings, engine = settings_of(self.method, given), engine_of(self.method)
        engine.set_threads(self.threads)
        model = engine.load(name := self.model or engine.model)
        learner = make_learner(self.method, model, settings)
        check_feedback(learner, self.method, Reward)
        if isinstance(learner, RequiresReferences):
            learner.set_references(task.references())
        config: dict[str, JSON] = {"method": self.method, "model": name, "settings": settings}
        config |= {"fingerprint": model.fingerprint if model else "", "task": task.config()}
        return learner, Header(config, task.seed, engine.versions(), self.threads)
