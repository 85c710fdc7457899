"""A bandit task at home: a stream whose references only the rater sees, with a held-out block laid into it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from mtloop.bandits.oracle import Informed
from mtloop.core.errors import InputError
from mtloop.core.protocols import Learner
from mtloop.core.trace import Header
from mtloop.core.types import JSON, Reward, Segment, Truth
from mtloop.data import cut, parse_columns, read
from mtloop.data.stream_layout import StreamLayout
from mtloop.judges.rater import Rater
from mtloop.judges.rewards import noise_of, sentence_reward
from mtloop.methods.compatibility import refuse_deaf
from mtloop.methods.defaults import LENGTH
from mtloop.methods.engines import engine_of
from mtloop.methods.registry import make_learner, settings_of


@dataclass(frozen=True)
class BanditTask:
    """Which sentences come in which order, and what a translation earns.

    The last `held_out` of the sentences are the block that is laid in `blocks` times: at the start, at regular
    intervals and at the end. Ids are places in the stream, so nothing tells the block from the rest. A reward is
    learned from `delay` sentences after it was given.
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
        pairs = cut(stream, shuffle=self.shuffle, skip=self.skip, distinct=self.distinct, limit=self.limit)
        if not pairs:
            raise InputError(
                f"holds no sentences after the first {self.skip}" if self.skip else "holds no sentences", path=self.data
            )
        return pairs

    @cached_property
    def layout(self) -> StreamLayout:
        if self.blocks and not self.held_out:
            raise InputError("--blocks lays in a held-out block: say how long it is with --held-out")
        return StreamLayout(len(self._pairs), self.held_out, self.blocks)

    def stream(self) -> list[tuple[Segment, Truth]]:
        found = (self._pairs[self.layout.at(place)] for place in range(len(self.layout)))
        return [(Segment(str(place), one.source, one.context), truth) for place, (one, truth) in enumerate(found, 1)]

    def references(self) -> list[tuple[str, str]]:
        """Every sentence with its reference, once: what an oracle is trained on."""
        return [(segment.source, truth.references[0]) for segment, truth in self._pairs if truth.references]

    def checkpoints(self) -> list[range]:
        """The places at which the held-out block stands."""
        return [range(start, start + self.held_out) for start in self.layout.starts()]

    def rater(self) -> Rater:
        return Rater(sentence_reward(self.reward), noise_of(self.noise), self.thumbs, self.seed)

    def config(self) -> dict[str, JSON]:
        """What a trace's header keeps of it."""
        kept: dict[str, JSON] = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return kept | {"data": Path(self.data).name, "noise": dict(self.noise)}


@dataclass(frozen=True)
class Entrant:
    """One method in a task: on which model, with which settings."""

    method: str
    model: str = ""
    settings: Mapping[str, JSON] = field(default_factory=dict)
    threads: int = 1

    def made(self, task: BanditTask) -> tuple[Learner, Header]:
        """The learner, and what it takes to run it again. A method that anneals is told how long the stream is."""
        given = dict(self.settings)
        if LENGTH in settings_of(self.method) and LENGTH not in given:
            given[LENGTH] = len(task.layout)
        settings, engine = settings_of(self.method, given), engine_of(self.method)
        engine.prepare(self.threads)
        model = engine.load(name := self.model or engine.model)
        learner = make_learner(self.method, model, settings)
        refuse_deaf(learner, self.method, Reward)
        if isinstance(learner, Informed):
            learner.inform(task.references())
        config: dict[str, JSON] = {"method": self.method, "model": name, "settings": settings}
        config |= {"fingerprint": model.fingerprint if model else "", "task": task.config()}
        return learner, Header(config, task.seed, engine.versions(), self.threads)
