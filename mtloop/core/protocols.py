"""The replaceable parts: learner, judge, policy and metric. They are protocols; no base class is needed."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

from mtloop.core.types import Feedback, Learned, Proposal, Score, Segment, SimilarCorrection, Step, Truth

Stream: TypeAlias = Iterable[tuple[Segment, Truth | None]]


@runtime_checkable
class Learner(Protocol):
    """Proposes translations and learns from feedback."""

    def propose(self, segment: Segment) -> Proposal:
        """Translate a segment. This does not change the learner; what `learn` needs later goes into `memo`."""
        ...

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        """Learn from the feedback to one of its own proposals, which may come late and in another order."""
        ...


@runtime_checkable
class Stateful(Protocol):
    """A learner whose state can be saved to a folder and loaded again without any loss."""

    def save(self, folder: Path) -> None:
        """Write the state into an existing folder."""
        ...

    def load(self, folder: Path) -> None:
        """Replace the state by the saved one."""
        ...


@runtime_checkable
class Interactive(Protocol):
    """A learner that completes a translation from the prefix that the translator has typed."""

    def propose(self, segment: Segment, prefix: str = "") -> Proposal: ...


@runtime_checkable
class SupportsForget(Protocol):
    """A learner that can undo one lesson in place; `forget` returns False if it cannot undo that lesson."""

    def forget(self, index: int) -> bool:
        """Undo the lesson with this number; return False if that is not possible."""
        ...


@runtime_checkable
class DeclaresFeedback(Protocol):
    """A learner that lists the kinds of feedback it learns from; an empty tuple means that it never learns."""

    @property
    def learns_from(self) -> tuple[type[Feedback], ...]:
        """`PostEdit`, `Scores`, `Preference` or `Reward`; several are possible."""
        ...


@runtime_checkable
class RecallsCorrections(Protocol):
    """A learner that finds the corrections most similar to a source, the most similar first; None: it keeps none."""

    def similar_corrections(self, source: str) -> Sequence[SimilarCorrection] | None:
        """Return the corrections most similar to the source, the most similar first."""
        ...


@runtime_checkable
class WritesDelta(Protocol):
    """A learner that writes everything it learned to one file."""

    def write_delta(self, path: Path) -> None:
        """Write everything that was learned."""
        ...


@runtime_checkable
class Closable(Protocol):
    """A learner that uses something which must be released at the end, such as a running program."""

    def close(self) -> None:
        """Release it. The learner is not used afterwards."""
        ...


@runtime_checkable
class Judge(Protocol):
    """Returns feedback for a proposal, or None if it has none."""

    def __call__(self, proposal: Proposal, truth: Truth | None) -> Feedback | None:
        """Return the feedback for a proposal. `truth` holds the references, if the stream has them."""
        ...


@runtime_checkable
class ObservingJudge(Judge, Protocol):
    """A judge whose feedback depends on earlier steps; a resumed run shows it the recorded steps again."""

    def observe(self, step: Step) -> None: ...


@dataclass(frozen=True, slots=True)
class Choice:
    """A system that a policy chose, with the probability of that choice (None: the choice was not random).

    `asked`: the systems whose translations people should rate; empty means only the chosen one. `segment`: the id of
    the segment, so that separate ratings of one segment can be matched. `context`: the features of the segment that a
    contextual policy used.
    """

    system: str
    probability: float | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    asked: tuple[str, ...] = ()
    segment: str = ""
    context: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Stop:
    """A policy's decision to stop rating: the best systems and the confidence, between 0 and 1.

    `within`: score differences up to this count as ties; no system in `best` is worse than any other by more than this.
    """

    best: tuple[str, ...]
    confidence: float
    within: float = 0.0


@runtime_checkable
class Policy(Protocol):
    """Chooses one of several systems and learns which are best. `choose` does not change the policy.

    Scores are in [0, 1]; a system without a score was not rated. `weights` returns the values by which the policy ranks
    the systems. `verdict` returns a `Stop` when the ratings suffice, else None.
    """

    def choose(self, context: Segment, rng: random.Random) -> Choice: ...

    def update(self, choice: Choice, scores: Mapping[str, float]) -> None: ...

    def weights(self) -> Mapping[str, float]: ...

    def verdict(self) -> Stop | None: ...


@runtime_checkable
class Metric(Protocol):
    """Computes a score from the steps of a trace."""

    @property
    def name(self) -> str: ...

    def score(self, steps: Sequence[Step]) -> Score: ...
