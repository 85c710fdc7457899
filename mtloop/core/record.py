"""The loop with its trace on disk: a run that is killed at any moment and started again writes the same trace.

The snapshots of the learner for `run.jsonl` are in the folder `run.state/`. Each snapshot is a subfolder, named after
the number of lessons in it. It is written as `unfinished` and then renamed, so a numbered folder is complete.
"""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

from mtloop.core.errors import InputError, MtloopError
from mtloop.core.loop import Each, LoopRun, Schedule
from mtloop.core.protocols import Judge, Learner, Stateful, Stream
from mtloop.core.trace import Header, TraceWriter
from mtloop.core.types import Feedback, Learned, Proposal, Segment, Step

_DIGITS = 9  # in the name of a snapshot, so that an engine's own folders are not taken for snapshots
MAX_SNAPSHOTS = 2  # the older one is the fallback if a crash lost the end of the trace


def record(
    path: str | Path,
    header: Header,
    stream: Stream,
    learner: Learner,
    judge: Judge,
    *,
    schedule: Schedule | None = None,
    snapshot_every: int = 100,
    stop_after: int | None = None,
) -> Iterator[Step]:
    """Run the loop and write each step to the trace at `path` before yielding it; resume an unfinished trace.

    All steps are yielded, the recorded ones first, so that a progress display covers the whole run. A learner that is
    `Stateful` is saved every `snapshot_every` steps; any other learner learns the whole record again when the run is
    resumed. The run stops after `stop_after` steps in total and saves the learner, so that a resumed run learns nothing
    twice (None: run to the end).
    """
    with TraceWriter(path, header, exclusive=True) as trace:
        snapshots = Snapshots(Path(path))
        if not trace.past:
            snapshots.clear()  # left by an earlier run with the same file name
        yield from trace.past
        if stop_after is not None and len(trace.past) >= stop_after:
            return
        schedule = schedule or Each()
        restored = snapshots.restore(learner, lessons_before_next(trace.past, schedule))
        loop = LoopRun(stream, learner, judge, trace.past, restored)
        for step in loop.steps(schedule):
            trace.write(step)
            yield step
            if (step.index + 1) % snapshot_every == 0 or step.index + 1 == stop_after:
                snapshots.save(learner, loop.lessons)
            if step.index + 1 == stop_after:
                return


def lessons_before_next(past: Sequence[Step], schedule: Schedule) -> int:
    """Return the number of lessons that the learner had when it proposed the first segment after the record.

    A snapshot with more lessons must not be used: under `Delay` and `Blocks`, the next proposals were made before the
    last recorded lessons were learned. The number is found by a dry run of the schedule over the record.
    """
    counter = _LessonCounter()
    stream = [*((step.proposal.segment, None) for step in past), (Segment("", ""), None)]
    counter.loop = LoopRun(stream, counter, lambda proposal, truth: None, past)
    deque(counter.loop.steps(schedule), maxlen=0)
    return min(counter.lessons, len(past))


class _LessonCounter:
    """A learner that learns nothing and notes the number of lessons before its only proposal."""

    loop: LoopRun
    lessons = 0

    def propose(self, segment: Segment) -> Proposal:
        self.lessons = self.loop.lessons
        return Proposal(segment, text="")

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        return Learned()


class Snapshots:
    """The saved states of the learner of one run."""

    def __init__(self, trace: Path) -> None:
        self.folder = trace.with_name(trace.stem + ".state")

    def clear(self) -> None:
        """Delete all snapshots."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def save(self, learner: Learner, lessons: int) -> None:
        """Save a `Stateful` learner atomically, then delete all but the newest MAX_SNAPSHOTS snapshots."""
        if not isinstance(learner, Stateful):
            return
        unfinished = self.folder / "unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        learner.save(unfinished)
        shutil.rmtree(self._path(lessons), ignore_errors=True)
        unfinished.rename(self._path(lessons))
        for old in self._saved_lessons()[:-MAX_SNAPSHOTS]:
            shutil.rmtree(self._path(old))

    def restore(self, learner: Learner, max_lessons: int) -> int:
        """Load the newest snapshot with at most `max_lessons` lessons; return its number of lessons (0: none)."""
        usable = [lessons for lessons in self._saved_lessons() if lessons <= max_lessons]
        if not usable or not isinstance(learner, Stateful):
            return 0
        try:
            learner.load(self._path(usable[-1]))
        except MtloopError as error:
            remedy = f"delete the folder {self.folder} to learn the recorded lessons again"
            raise InputError(f"{error}; {remedy}") from error
        return usable[-1]

    def discard_after(self, lessons: int) -> None:
        """Delete the snapshots with more lessons: one of those lessons is about to be retracted."""
        unfinished = self.folder / "unfinished"
        for saved in self._saved_lessons():
            if saved > lessons:
                shutil.rmtree(unfinished, ignore_errors=True)
                self._path(saved).rename(unfinished)  # a numbered folder is complete, also after a kill
        shutil.rmtree(unfinished, ignore_errors=True)

    def _path(self, lessons: int) -> Path:
        return self.folder / f"{lessons:0{_DIGITS}d}"

    def _saved_lessons(self) -> list[int]:
        return [int(snapshot.name) for snapshot in _snapshots_in(self.folder)]


def newest_snapshot(folder: Path) -> Path | None:
    """Return the newest snapshot in the `.state` folder of a run; None if the folder holds no snapshots."""
    return next(reversed(_snapshots_in(folder)), None)


def _snapshots_in(folder: Path) -> list[Path]:
    """The complete snapshots, the newest last."""
    numbered = [child for child in folder.glob("*") if child.name.isdigit() and len(child.name) >= _DIGITS]
    return sorted(numbered, key=lambda snapshot: int(snapshot.name))
