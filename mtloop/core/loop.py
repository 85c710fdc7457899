"""A learner proposes, a judge answers, the learner learns, a trace remembers."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from mtloop.core.blocks import by_words
from mtloop.core.errors import TraceError
from mtloop.core.protocols import Judge, Learner, ObservingJudge, Stream
from mtloop.core.types import Feedback, Learned, Proposal, Segment, Step, Truth


def run(
    stream: Stream, learner: Learner, judge: Judge, *, schedule: Schedule | None = None, past: Sequence[Step] = ()
) -> Iterator[Step]:
    """The loop, as a generator of steps. With the default schedule it is this for-loop:

        for index, (segment, truth) in enumerate(stream):
            proposal = learner.propose(segment)
            feedback = judge(proposal, truth)
            learned = learner.learn(proposal, feedback) if feedback else None
            yield Step(index, proposal, feedback, learned, truth)

    `past` holds the steps of an interrupted run of the same stream: they are learned again from the record
    (nothing is proposed or judged twice) and only what comes after them is yielded.
    """
    return Turns(stream, learner, judge, past).steps(schedule or Each())


def replay(lessons: Iterable[Step], learner: Learner) -> int:
    """Teach a learner what a trace holds (`trace.lessons()`, or plain steps); returns the number of lessons."""
    taught = 0
    for step in lessons:
        if step.feedback is not None:
            learner.learn(step.proposal, step.feedback)
            taught += 1
    return taught


class Turn:
    """One segment on its way through the loop; what the record already holds is not done again."""

    def __init__(self, turns: Turns, index: int, segment: Segment, truth: Truth | None) -> None:
        self._turns, self.index, self.segment, self.truth = turns, index, segment, truth
        self._recorded = turns.recorded(index, segment)
        self.proposal: Proposal | None = None
        self.feedback: Feedback | None = None
        self.learned: Learned | None = None

    def propose(self) -> None:
        self.proposal = self._recorded.proposal if self._recorded else self._turns.learner.propose(self.segment)

    def judge(self) -> None:
        shown = self.proposal or Proposal(self.segment, text="")
        self.feedback = self._recorded.feedback if self._recorded else self._turns.judge(shown, self.truth)
        if isinstance(self._turns.judge, ObservingJudge):
            self._turns.judge.observe(Step(self.index, shown, self.feedback))

    def learn(self) -> None:
        if self.feedback is not None:
            self.learned = self._turns.learn(self.index, self.proposal or Proposal(self.segment, ""), self.feedback)

    def step(self) -> Step:
        assert self.proposal is not None, "a schedule must propose before it lets a turn go"
        return Step(self.index, self.proposal, self.feedback, self.learned, self.truth)


class Turns:
    """The stream as turns, with the record of an earlier try (`past`) standing in for learner and judge.

    `lessons` counts how far the learner has come: a learner restored from a snapshot starts there.
    """

    def __init__(
        self, stream: Stream, learner: Learner, judge: Judge, past: Sequence[Step] = (), lessons: int = 0
    ) -> None:
        self._stream, self.learner, self.judge, self._past, self.lessons = stream, learner, judge, past, lessons

    def steps(self, schedule: Schedule) -> Iterator[Step]:
        seen = -1
        for turn in schedule.order(self._turns()):
            seen = turn.index
            if turn.index >= len(self._past):
                yield turn.step()
        if seen + 1 < len(self._past):
            raise TraceError(f"the trace holds {len(self._past)} steps, the stream only {seen + 1} segments")

    def _turns(self) -> Iterator[Turn]:
        return (Turn(self, i, segment, truth) for i, (segment, truth) in enumerate(self._stream))

    def recorded(self, index: int, segment: Segment) -> Step | None:
        if index >= len(self._past):
            return None
        step = self._past[index]
        if step.proposal.segment != segment:
            raise TraceError(f"step {index} of the trace is of another stream (segment {step.proposal.segment.id!r})")
        return step

    def learn(self, index: int, proposal: Proposal, feedback: Feedback) -> Learned | None:
        if index < self.lessons:
            return self._past[index].learned
        learned = self.learner.learn(proposal, feedback)
        self.lessons = index + 1
        return learned


class Schedule(Protocol):
    """When to learn. `order` takes each turn through propose, judge and learn, and lets it go when it is done.

    Turns must learn in the order of the stream.
    """

    def order(self, turns: Iterator[Turn]) -> Iterator[Turn]: ...


@dataclass(frozen=True)
class Each:
    """Learn from every segment before the next is proposed."""

    def order(self, turns: Iterator[Turn]) -> Iterator[Turn]:
        for turn in turns:
            turn.propose()
            turn.judge()
            turn.learn()
            yield turn


@dataclass(frozen=True)
class Delay:
    """Judged at once, learned `k` segments later, as when a translator works ahead of the engine."""

    k: int

    def order(self, turns: Iterator[Turn]) -> Iterator[Turn]:
        waiting: deque[Turn] = deque()
        for turn in turns:
            turn.propose()
            turn.judge()
            waiting.append(turn)
            if len(waiting) > self.k:
                yield self._taught(waiting.popleft())
        for turn in waiting:
            yield self._taught(turn)

    @staticmethod
    def _taught(turn: Turn) -> Turn:
        turn.learn()
        return turn


@dataclass(frozen=True)
class Blocks:
    """Learn at the end of every block of about `words` source words (the 2012 protocol).

    `unfair` learns each block before translating it, to show what memorising looks like.
    """

    words: int
    unfair: bool = False

    def order(self, turns: Iterator[Turn]) -> Iterator[Turn]:
        for block in by_words(turns, self.words, lambda turn: turn.segment.source):
            yield from self._unfairly(block) if self.unfair else self._fairly(block)

    @staticmethod
    def _fairly(block: list[Turn]) -> Iterator[Turn]:
        for turn in block:
            turn.propose()
            turn.judge()
        for turn in block:
            turn.learn()
            yield turn

    @staticmethod
    def _unfairly(block: list[Turn]) -> Iterator[Turn]:
        for turn in block:
            turn.judge()
            turn.learn()
        for turn in block:
            turn.propose()
        yield from block
