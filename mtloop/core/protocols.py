"""The four parts anyone can replace: learner, judge, policy, metric. Small protocols, no base classes."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from mtloop.core.types import Feedback, Learned, Proposal, Segment, Step, Truth

if TYPE_CHECKING:
    from mtloop.core.types import Score

Stream: TypeAlias = Iterable[tuple[Segment, Truth | None]]


@runtime_checkable
class Learner(Protocol):
    """Proposes a translation, and learns from what it hears of it. `propose` leaves no mark on the learner."""

    def propose(self, segment: Segment) -> Proposal: ...

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned: ...


@runtime_checkable
class Stateful(Protocol):
    """A learner that can be put on disk and taken up again, exactly as it was."""

    def save(self, folder: Path) -> None: ...

    def load(self, folder: Path) -> None: ...


@runtime_checkable
class Interactive(Protocol):
    """A learner that completes what the translator has begun."""

    def propose(self, segment: Segment, prefix: str = "") -> Proposal: ...


@runtime_checkable
class SupportsForget(Protocol):
    """A learner that can undo one lesson in place; False when it cannot undo that one."""

    def forget(self, index: int) -> bool: ...


@runtime_checkable
class DeclaresFeedback(Protocol):
    """A learner that says which kinds of feedback teach it anything; with none, it never learns."""

    @property
    def learns_from(self) -> tuple[type[Feedback], ...]: ...


@runtime_checkable
class Judge(Protocol):
    """Answers a proposal; None when it has nothing to say."""

    def __call__(self, proposal: Proposal, truth: Truth | None) -> Feedback | None: ...


@runtime_checkable
class ObservingJudge(Judge, Protocol):
    """A judge whose answers depend on what was shown before; rebuilt by observing the trace again."""

    def observe(self, step: Step) -> None: ...


@dataclass(frozen=True, slots=True)
class Choice:
    """A system that a policy chose, with the probability of that choice where it is random.

    `asked` are the systems whose translations people should rate (only the chosen one, if it names none); `segment` is
    the one it was made for, so that ratings of one segment that come one by one are known to belong together.
    `context` holds what a contextual policy saw of it.
    """

    system: str
    probability: float | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    asked: tuple[str, ...] = ()
    segment: str = ""
    context: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Stop:
    """A policy's word that it has seen enough: the best systems, and how sure it is.

    `within` is the difference it calls a tie: none of `best` is worse than any other system by more than that.
    """

    best: tuple[str, ...]
    confidence: float
    within: float = 0.0


@runtime_checkable
class Policy(Protocol):
    """Chooses one of several systems, and learns which to trust. `choose` leaves no mark on the policy.

    Scores are in [0, 1]; a system that is absent from them was not rated. `weights` is what it ranks the systems by.
    """

    def choose(self, context: Segment, rng: random.Random) -> Choice: ...

    def update(self, choice: Choice, scores: Mapping[str, float]) -> None: ...

    def weights(self) -> Mapping[str, float]: ...

    def verdict(self) -> Stop | None: ...


@runtime_checkable
class Metric(Protocol):
    """Reads a number off the steps of a trace."""

    @property
    def name(self) -> str: ...

    def score(self, steps: Sequence[Step]) -> Score: ...
