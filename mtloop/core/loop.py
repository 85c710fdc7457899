"""The loop: a learner proposes, a judge gives feedback, the learner learns. Each turn is one step of the trace."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from mtloop.core.blocks import split_by_words
from mtloop.core.errors import TraceError
from mtloop.core.protocols import Judge, Learner, ObservingJudge, Stream
from mtloop.core.types import Feedback, Learned, Proposal, Segment, Step, Truth


def run(
    stream: Stream, learner: Learner, judge: Judge, *, schedule: Schedule | None = None, past: Sequence[Step] = ()
) -> Iterator[Step]:
    """Run the loop and yield one step per segment. With the default schedule it is this for-loop:

        for index, (segment, truth) in enumerate(stream):
            proposal = learner.propose(segment)
            feedback = judge(proposal, truth)
            learned = learner.learn(proposal, feedback) if feedback else None
            yield Step(index, proposal, feedback, learned, truth)

    To resume an interrupted run of the same stream, pass its steps as `past`. The learner learns them again from the
    record, without new proposals and new feedback. Only the steps after them are yielded.
    """
    return LoopRun(stream, learner, judge, past).steps(schedule or Each())


def replay(lessons: Iterable[Step], learner: Learner) -> int:
    """Teach a learner the recorded feedback of `trace.lessons()` or of any steps; return the number of lessons."""
    count = 0
    for step in lessons:
        if step.feedback is not None:
            learner.learn(step.proposal, step.feedback)
            count += 1
    return count


class Turn:
    """One segment in the loop. For a recorded segment, the proposal and the feedback come from the record."""

    def __init__(self, loop: LoopRun, index: int, segment: Segment, truth: Truth | None) -> None:
        self._loop, self.index, self.segment, self.truth = loop, index, segment, truth
        self._recorded = loop.recorded(index, segment)
        self.proposal: Proposal | None = None
        self.feedback: Feedback | None = None
        self.learned: Learned | None = None

    def propose(self) -> None:
        self.proposal = self._recorded.proposal if self._recorded else self._loop.learner.propose(self.segment)

    def judge(self) -> None:
        proposal = self.proposal or Proposal(self.segment, text="")
        self.feedback = self._recorded.feedback if self._recorded else self._loop.judge(proposal, self.truth)
        if isinstance(self._loop.judge, ObservingJudge):
            self._loop.judge.observe(Step(self.index, proposal, self.feedback))

    def learn(self) -> None:
        if self.feedback is not None:
            self.learned = self._loop.learn(self.index, self.proposal or Proposal(self.segment, ""), self.feedback)

    def step(self) -> Step:
        assert self.proposal is not None, "a schedule must call propose before it yields a turn"
        return Step(self.index, self.proposal, self.feedback, self.learned, self.truth)


class LoopRun:
    """One run of the loop. The steps of an interrupted run (`past`) replace the learner's and the judge's answers.

    `lessons`: the learner has learned the feedback of all steps before this index (0: a new learner; more: a snapshot).
    """

    def __init__(
        self, stream: Stream, learner: Learner, judge: Judge, past: Sequence[Step] = (), lessons: int = 0
    ) -> None:
        self._stream, self.learner, self.judge, self._past, self.lessons = stream, learner, judge, past, lessons

    def steps(self, schedule: Schedule) -> Iterator[Step]:
        """Yield the steps after `past`. Raise TraceError if the stream is shorter than `past`."""
        last = -1
        for turn in schedule.process(self._turns()):
            last = turn.index
            if turn.index >= len(self._past):
                yield turn.step()
        if last + 1 < len(self._past):
            raise TraceError(
                f"the trace has {len(self._past)} steps, but the stream has only {last + 1} segments; "
                "use the data of the recorded run"
            )

    def _turns(self) -> Iterator[Turn]:
        return (Turn(self, i, segment, truth) for i, (segment, truth) in enumerate(self._stream))

    def recorded(self, index: int, segment: Segment) -> Step | None:
        """Return the recorded step of this index, or None. Raise TraceError if it has another segment."""
        if index >= len(self._past):
            return None
        step = self._past[index]
        if step.proposal.segment != segment:
            raise TraceError(
                f"step {index} of the trace comes from another stream: it has segment {step.proposal.segment.id!r}, "
                f"the stream has {segment.id!r}; use the data of the recorded run"
            )
        return step

    def learn(self, index: int, proposal: Proposal, feedback: Feedback) -> Learned | None:
        """Let the learner learn, except from a step that it has learned before."""
        if index < self.lessons:
            return self._past[index].learned
        learned = self.learner.learn(proposal, feedback)
        self.lessons = index + 1
        return learned


class Schedule(Protocol):
    """Decides when the learner learns.

    `process` calls propose, judge and learn on each turn, in any order that keeps learning in stream order. It yields
    each turn when it is complete.
    """

    def process(self, turns: Iterator[Turn]) -> Iterator[Turn]: ...


@dataclass(frozen=True)
class Each:
    """Learn from every segment before the next one is proposed."""

    def process(self, turns: Iterator[Turn]) -> Iterator[Turn]:
        for turn in turns:
            turn.propose()
            turn.judge()
            turn.learn()
            yield turn


@dataclass(frozen=True)
class Delay:
    """Judge at once and learn `k` segments later, as when a translator works ahead of the engine."""

    k: int

    def process(self, turns: Iterator[Turn]) -> Iterator[Turn]:
        waiting: deque[Turn] = deque()
        for turn in turns:
            turn.propose()
            turn.judge()
            waiting.append(turn)
            if len(waiting) > self.k:
                yield self._learn(waiting.popleft())
        for turn in waiting:
            yield self._learn(turn)

    @staticmethod
    def _learn(turn: Turn) -> Turn:
        turn.learn()
        return turn


@dataclass(frozen=True)
class Blocks:
    """Learn at the end of every block of at least `words` source words (the 2012 protocol).

    `unfair`: learn each block before translating it. This shows the effect of memorisation.
    """

    words: int
    unfair: bool = False

    def process(self, turns: Iterator[Turn]) -> Iterator[Turn]:
        for block in split_by_words(turns, self.words, lambda turn: turn.segment.source):
            yield from self._learn_first(block) if self.unfair else self._propose_first(block)

    @staticmethod
    def _propose_first(block: list[Turn]) -> Iterator[Turn]:
        for turn in block:
            turn.propose()
            turn.judge()
        for turn in block:
            turn.learn()
            yield turn

    @staticmethod
    def _learn_first(block: list[Turn]) -> Iterator[Turn]:
        for turn in block:
            turn.judge()
            turn.learn()
        for turn in block:
            turn.propose()
        yield from block
