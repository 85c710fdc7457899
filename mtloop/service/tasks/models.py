"""What the service talks about, apart from how it is stored and how it is sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from mtloop.data.stream_layout import StreamLayout
from mtloop.service.tasks.sealed_ids import PassPosition

Kind = Literal["mock", "dev", "training"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Participant:
    id: int
    name: str
    organiser: bool = False


@dataclass(frozen=True)
class SharedTask:
    """A stream with its rules. `required` samples make a run one that is ranked; `characters` limits a translation."""

    id: int
    name: str
    kind: Kind
    source_language: str
    target_language: str
    lines: int
    held_out: int
    blocks: int
    samples: int
    required: int
    passes: int
    runs: int
    characters: int
    reward: str
    noise: Mapping[str, float]
    preprocess: tuple[str, ...]
    oracle: bool
    stopped: bool
    opened: bool

    @cached_property
    def layout(self) -> StreamLayout:
        return StreamLayout(self.lines, self.held_out, self.blocks)

    @property
    def shows_results(self) -> bool:
        """A training task keeps its results to itself until the organiser opens them."""
        return self.kind != "training" or self.opened


@dataclass(frozen=True)
class Run:
    """What of a run never changes."""

    id: int
    token: str
    key: bytes
    task_id: int
    participant_id: int
    name: str


@dataclass(frozen=True)
class RunProgress:
    """How far a pass has come and what it earned: all that one more step needs to know.

    `score` is what the translations were worth before noise, `oracle` what the oracle earned on the same sentences.
    """

    lap: int = 1
    position: int = 0
    reward: float = 0.0
    score: float = 0.0
    oracle: float = 0.0
    updated: float = 0.0

    @property
    def place(self) -> PassPosition:
        return PassPosition(self.lap, self.position)

    @property
    def mean_reward(self) -> float:
        return self.reward / self.position if self.position else 0.0

    @property
    def mean_regret(self) -> float:
        return (self.oracle - self.score) / self.position if self.position else 0.0


@dataclass(frozen=True)
class TaskSentence:
    """A source, what it should become, and what the oracle earned on it. It never leaves the house as it is."""

    source: str
    reference: str
    oracle: float | None


@dataclass(frozen=True)
class Submission:
    """One row: a translation and what it earned."""

    run_id: int
    place: PassPosition
    translation: str
    reward: float
    score: float


@dataclass(frozen=True)
class CheckpointSums:
    """The sums over one appearance of the held-out block."""

    block: int
    count: int
    reward: float
    score: float
    statistics: tuple[int, ...]


@dataclass(frozen=True)
class Entry:
    """A run as a leaderboard or an organiser sees it."""

    run: Run
    participant: str
    standing: RunProgress
    checkpoints: tuple[CheckpointSums, ...] = ()
