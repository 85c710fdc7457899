"""The loop with a memory on disk: killed at any moment and started again, it ends with the same trace.

Beside `run.jsonl` lies `run.state/`, a folder a snapshot, named after the number of lessons in it. A snapshot
is written under another name and renamed, so one that has its name is whole.
"""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

from mtloop.core.loop import Each, Schedule, Turns
from mtloop.core.protocols import Judge, Learner, Stateful, Stream
from mtloop.core.trace import Header, TraceWriter
from mtloop.core.types import Feedback, Learned, Proposal, Segment, Step

KEPT = 2  # an older one to fall back on, when a crash took the end of the trace with it


def record(
    path: str | Path,
    header: Header,
    stream: Stream,
    learner: Learner,
    judge: Judge,
    *,
    schedule: Schedule | None = None,
    every: int = 100,
    until: int | None = None,
) -> Iterator[Step]:
    """`run`, with each step written to `path` before it is yielded; an unfinished trace there is continued.

    All steps are yielded, the recorded ones first, so a progress display sees the whole run. A learner that can
    `save` leaves a snapshot every `every` steps; one that cannot is taught the record again. `until` stops
    after so many steps in all, with a snapshot: whoever goes on from there learns nothing twice.
    """
    with TraceWriter(path, header, alone=True) as trace:
        snapshots = Snapshots(Path(path))
        if not trace.past:
            snapshots.clear()  # they are of an earlier run under this name
        yield from trace.past
        if until is not None and len(trace.past) >= until:
            return
        schedule = schedule or Each()
        restored = snapshots.restore(learner, lessons_before_next(trace.past, schedule))
        turns = Turns(stream, learner, judge, trace.past, restored)
        for step in turns.steps(schedule):
            trace.write(step)
            yield step
            if (step.index + 1) % every == 0 or step.index + 1 == until:
                snapshots.save(learner, turns.lessons)
            if step.index + 1 == until:
                return


def lessons_before_next(past: Sequence[Step], schedule: Schedule) -> int:
    """How many lessons the learner had when it proposed the first segment that the record lacks.

    A snapshot with more of them knows too much: under `Delay` and `Blocks` the next proposals were made
    before the last recorded lessons were learned. Found by running the schedule over the record alone.
    """
    probe = _Probe()
    stream = [*((step.proposal.segment, None) for step in past), (Segment("", ""), None)]
    probe.turns = Turns(stream, probe, lambda proposal, truth: None, past)
    deque(probe.turns.steps(schedule), maxlen=0)
    return min(probe.lessons, len(past))


class _Probe:
    """Learns nothing, and notes how many lessons came before the one proposal it is asked for."""

    turns: Turns
    lessons = 0

    def propose(self, segment: Segment) -> Proposal:
        self.lessons = self.turns.lessons
        return Proposal(segment, text="")

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        return Learned()


class Snapshots:
    """The states of one run's learner."""

    def __init__(self, trace: Path) -> None:
        self.folder = trace.with_name(trace.stem + ".state")

    def clear(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def save(self, learner: Learner, lessons: int) -> None:
        """Put the learner on disk, whole or not at all, and let the oldest go."""
        if not isinstance(learner, Stateful):
            return
        unfinished = self.folder / "unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        learner.save(unfinished)
        shutil.rmtree(self._of(lessons), ignore_errors=True)
        unfinished.rename(self._of(lessons))
        for number in self._numbers()[:-KEPT]:
            shutil.rmtree(self._of(number))

    def restore(self, learner: Learner, most: int) -> int:
        """Load the newest state of at most so many lessons; returns the number of lessons in it."""
        covered = [number for number in self._numbers() if number <= most]
        if not covered or not isinstance(learner, Stateful):
            return 0
        learner.load(self._of(covered[-1]))
        return covered[-1]

    def _of(self, lessons: int) -> Path:
        return self.folder / f"{lessons:09d}"

    def _numbers(self) -> list[int]:
        return sorted(int(child.name) for child in self.folder.glob("*") if child.name.isdigit())
