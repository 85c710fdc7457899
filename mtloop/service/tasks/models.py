"""Tasks, runs and submissions, independent of how they are stored and sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from mtloop.data.stream_layout import StreamLayout
from mtloop.service.tasks.sealed_ids import PassPosition

Kind = Literal["mock", "dev", "training"]


@dataclass(frozen=True)
class SharedTask:
    """A stream of sentences and its rules.

    `samples` is the length of a pass. A run is ranked once it has `required_samples`. `max_passes` and `max_runs` are
    limits for one run and one participant (0: none), `max_characters` for one translation.
    """

    id: int
    name: str
    kind: Kind
    source_language: str
    target_language: str
    sentence_count: int
    held_out: int
    blocks: int
    samples: int
    required_samples: int
    max_passes: int
    max_runs: int
    max_characters: int
    reward: str
    noise: Mapping[str, float]
    preprocess: tuple[str, ...]
    has_oracle: bool
    stopped: bool
    results_open: bool

    @cached_property
    def layout(self) -> StreamLayout:
        return StreamLayout(self.sentence_count, self.held_out, self.blocks)

    @property
    def shows_results(self) -> bool:
        """Whether participants may see results. A training task hides them until the organiser opens them."""
        return self.kind != "training" or self.results_open


@dataclass(frozen=True)
class Run:
    """The part of a run that never changes. `id_key` is the secret that seals its sentence ids."""

    id: int
    token: str
    id_key: bytes
    task_id: int
    participant_id: int
    name: str


@dataclass(frozen=True)
class RunProgress:
    """How far a pass of a run has come, with the sums that the next step adds to.

    `reward` is the sum of the rewards given, `score` the sum before noise, `oracle_score` the sum that the oracle
    earned on the same sentences.
    """

    pass_number: int = 1
    position: int = 0
    reward: float = 0.0
    score: float = 0.0
    oracle_score: float = 0.0
    updated: float = 0.0

    @property
    def pending(self) -> PassPosition:
        """The position of the next sentence."""
        return PassPosition(self.pass_number, self.position)

    @property
    def mean_reward(self) -> float:
        return self.reward / self.position if self.position else 0.0

    @property
    def mean_regret(self) -> float:
        return (self.oracle_score - self.score) / self.position if self.position else 0.0


@dataclass(frozen=True)
class TaskSentence:
    """A source with its reference and the oracle's score. Participants only ever get the source."""

    source: str
    reference: str
    oracle_score: float | None


@dataclass(frozen=True)
class Submission:
    """One translation and its reward. `score` is the reward before noise."""

    run_id: int
    at: PassPosition
    translation: str
    reward: float
    score: float


@dataclass(frozen=True)
class CheckpointSums:
    """Sums over one occurrence of the held-out block; `statistics` are those of corpus BLEU."""

    block: int
    count: int
    reward: float
    score: float
    statistics: tuple[int, ...]


@dataclass(frozen=True)
class Entry:
    """A run with its owner and progress, for leaderboards and organisers.

    `checkpoints`: those of the first and the last complete block, on leaderboards.
    """

    run: Run
    participant: str
    progress: RunProgress
    checkpoints: tuple[CheckpointSums, ...] = ()
