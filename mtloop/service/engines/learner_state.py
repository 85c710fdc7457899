"""The learner of a project: a snapshot, and the lessons after it, learned in order.

Two learners with the same digest are equal, whichever snapshots and processes they come from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from typing import Protocol

from mtloop.core.protocols import Learner
from mtloop.core.types import Learned, PostEdit
from mtloop.service.project_log.event_log import EventLog, LoggedLesson
from mtloop.service.telemetry import LOGGER
from mtloop.translation.lesson_choice import TranslatedUnit
from mtloop.translation.unit_translation import ProtectsText, learn_unit

SNAPSHOT_EVERY = 25  # lessons
FAILED = Learned(rejected="error")
_EXHAUSTED = ("out of memory", "enough memory", "allocate", "bad_alloc", "bad allocation", "start new thread")


class LessonFailed(Exception):
    """A lesson raised an error, and would do so again. The learner may be half changed, so it is of no use any more."""

    def __init__(self, lesson: LoggedLesson) -> None:
        super().__init__(f"lesson {lesson.number} failed")
        self.lesson = lesson


class LessonInterrupted(Exception):
    """A lesson was not learned, and may be learned later: the machine lacks memory, a file could not be written.

    The learner may be half changed, so it is of no use any more.
    """

    def __init__(self, lesson: LoggedLesson) -> None:
        super().__init__(f"lesson {lesson.number} was interrupted")


def may_pass(error: BaseException) -> bool:
    """Whether an error is not the fault of the lesson: it may be learned without one a moment later.

    >>> may_pass(MemoryError()), may_pass(RuntimeError("can't allocate memory")), may_pass(ValueError("no number"))
    (True, True, False)
    """
    if isinstance(error, RuntimeError):
        return any(words in str(error).lower() for words in _EXHAUSTED)  # torch gives no other sign of it
    return isinstance(error, MemoryError | OSError | CancelledError) or not isinstance(error, Exception)


@dataclass(frozen=True)
class LoadedSnapshot:
    """What a snapshot holds beside the learner: why lessons were rejected, by their place. None: it does not say."""

    rejected: Mapping[int, str] | None


class SnapshotStore(Protocol):
    """Keeps snapshots by the digest of their learner."""

    def digests(self) -> Mapping[str, int]:
        """The digests of all snapshots, with the number of lessons in each."""
        ...

    def load(self, digest: str, learner: Learner) -> LoadedSnapshot | None:
        """Restore a learner. None: the snapshot is gone."""
        ...

    def save(self, state: LearnerState) -> None:
        """Save a learner, and in the same step the results of lessons that are not stored yet."""
        ...

    def delete(self, digests: Sequence[str]) -> None: ...


@dataclass
class LearnerState:
    """A learner that knows the first lessons of a log. `numbers` are those of their events.

    `corrections` are the events of the lessons that the learner itself counts: neither ratings nor lessons that were
    passed over. Its lesson 0 is the first of them.

    `failing` are the digests of lessons that raised an error before. They are passed over, which `passed` notes and the
    digest of the learner shows. Whether a lesson fails follows from the lessons before it, as its digest does.

    `results` are those of lessons since the last snapshot, by event number. They are stored together with the next one:
    a lesson that a snapshot knows is never learned again. `rejected` are the reasons of all lessons that were rejected,
    by their place. None: they are not known, for the snapshot is of an earlier version.
    """

    make: Callable[[], Learner]
    learner: Learner
    digest: str
    numbers: list[int] = field(default_factory=list)
    corrections: list[int] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    failing: Set[str] = frozenset()
    results: dict[int, Learned] = field(default_factory=dict)
    rejected: dict[int, str] | None = field(default_factory=dict)

    @classmethod
    def new(cls, make: Callable[[], Learner], log: EventLog) -> LearnerState:
        """A learner without lessons."""
        return cls(make, make(), log.digest_after(0))

    @property
    def count(self) -> int:
        """The number of lessons that the learner knows."""
        return len(self.numbers)

    def digest_after(self, log: EventLog, count: int) -> str:
        """The digest of a learner that knows the first lessons of a log, but those that fail."""
        passed = [one.digest for one in log.lessons[:count] if one.digest in self.failing] if self.failing else []
        return with_gaps(log.digest_after(count), passed)

    def is_prefix_of(self, log: EventLog) -> bool:
        """Whether the learner only has to learn more to know the lessons of a log."""
        return self.count <= len(log.lessons) and self.digest_after(log, self.count) == self.digest

    def knows(self, log: EventLog) -> bool:
        """Whether the learner knows exactly the lessons of a log."""
        return self.count == len(log.lessons) and self.is_prefix_of(log)

    def catch_up(self, log: EventLog, snapshots: SnapshotStore) -> dict[int, Learned]:
        """Learn what the learner lacks, and return the results by event number.

        Restore a snapshot if that is nearer, or if the learner knows a lesson too many.
        """
        if not self.is_prefix_of(log) or len(log.lessons) - self.count >= SNAPSHOT_EVERY:
            self.restore(log, snapshots)
        self.follow(log)
        return {lesson.number: self.learn(lesson, snapshots, log) for lesson in log.lessons[self.count :]}

    def follow(self, log: EventLog) -> None:
        """Take over the event numbers of a log whose first lessons the learner knows.

        They differ if a lesson was taken back, and an equal one was confirmed later.
        """
        numbers = [lesson.number for lesson in log.lessons[: self.count]]
        if numbers == self.numbers:
            return
        moved = [place for place, number in enumerate(numbers) if number != self.numbers[place]]
        found = {place: self.results.pop(self.numbers[place], None) for place in moved}
        for place in moved:
            self.results[numbers[place]] = found[place] or Learned(rejected=(self.rejected or {}).get(place))
        self._name_lessons(log, self.count)

    def learn(
        self, lesson: LoggedLesson, snapshots: SnapshotStore, log: EventLog, learn: Callable[[], Learned] | None = None
    ) -> Learned:
        """Learn the next lesson, and save a snapshot from time to time. `learn` takes the place of `learn_lesson`.

        Raise LessonFailed or LessonInterrupted if that is not possible. Then the learner has no digest any more.
        """
        fails = lesson.digest in self.failing
        learned = FAILED if fails else self._learned(lesson, learn or partial(learn_lesson, self.learner, lesson))
        self.count_lesson(lesson)
        self.digest = with_gaps(lesson.digest, self.passed)
        self.results[lesson.number] = learned
        if learned.rejected is not None and self.rejected is not None:
            self.rejected[self.count - 1] = learned.rejected
        if self.count % SNAPSHOT_EVERY == 0:
            self._try_to_save(snapshots, log)
        return learned

    def count_lesson(self, lesson: LoggedLesson) -> None:
        """Note that the learner knows a lesson, or has passed it over."""
        self.numbers.append(lesson.number)
        if lesson.digest in self.failing:
            self.passed.append(lesson.digest)
        elif isinstance(lesson.feedback, PostEdit):
            self.corrections.append(lesson.number)

    def _learned(self, lesson: LoggedLesson, learn: Callable[[], Learned]) -> Learned:
        try:
            return learn()
        except BaseException as error:
            self.digest = ""
            raise (LessonInterrupted if may_pass(error) else LessonFailed)(lesson) from error

    def _try_to_save(self, snapshots: SnapshotStore, log: EventLog) -> None:
        """Save the learner. A snapshot only saves time, so an error is no reason to stop."""
        try:
            self.save(snapshots, log)
        except Exception as error:
            LOGGER.warning("snapshot not saved", extra={"fields": {"reason": type(error).__name__}})

    def save(self, snapshots: SnapshotStore, log: EventLog) -> None:
        """Save the learner, and delete the snapshots that are not needed any more."""
        snapshots.save(self)
        self.results.clear()
        snapshots.delete(superfluous(self._usable(log, snapshots.digests()), self.count))

    def _usable(self, log: EventLog, counts: Mapping[str, int]) -> dict[str, int | None]:
        """The number of lessons of each snapshot; None if the log does not lead to it any more.

        A snapshot with more lessons is left out: an engine that has read more of the log made it, or one that knows
        already which of the later lessons fail.
        """
        known = {digest: count for digest, count in counts.items() if count <= min(self.count, len(log.lessons))}
        return {digest: count if self.digest_after(log, count) == digest else None for digest, count in known.items()}

    def correct(self, stored: Mapping[int, str]) -> None:
        """Note the results that are stored otherwise: those of another learner, such as that of another method.

        `stored` are the reasons of rejected lessons, by event number.
        """
        for place, number in enumerate(self.numbers if self.rejected is not None else ()):
            reason = (self.rejected or {}).get(place)
            if number not in self.results and stored.get(number) != reason:
                self.results[number] = Learned(rejected=reason)

    def restore(self, log: EventLog, snapshots: SnapshotStore) -> None:
        """Restore the newest usable snapshot, unless this learner knows more already."""
        known = snapshots.digests()
        least = self.count if self.is_prefix_of(log) else -1
        for digest, count in sorted(known.items(), key=lambda item: item[1], reverse=True):
            if least < count <= len(log.lessons) and self.digest_after(log, count) == digest:
                learner = self.make() if self.numbers else self.learner
                if (loaded := snapshots.load(digest, learner)) is not None:
                    self._become(learner, log, count, loaded.rejected)
                    return
                if not self.numbers:
                    self.learner = self.make()  # the other one may be half loaded
        if least < 0:
            self._become(self.make(), log, 0, {})

    def _become(self, learner: Learner, log: EventLog, count: int, rejected: Mapping[int, str] | None) -> None:
        self.learner, self.digest = learner, self.digest_after(log, count)
        self.results.clear()
        self.rejected = None if rejected is None else dict(rejected)
        self._name_lessons(log, count)

    def _name_lessons(self, log: EventLog, count: int) -> None:
        self.numbers, self.corrections, self.passed = [], [], []
        for lesson in log.lessons[:count]:
            self.count_lesson(lesson)


def with_gaps(digest: str, passed: Sequence[str]) -> str:
    """The digest of a learner that has passed lessons over: another one than that of a learner that knows them all.

    >>> with_gaps("0a", []), with_gaps("0a", ["01"]) == with_gaps("0a", ["02"])
    ('0a', False)
    """
    return blake2b(" ".join([digest, *passed]).encode(), digest_size=16).hexdigest() if passed else digest


def learn_lesson(learner: Learner, lesson: LoggedLesson) -> Learned:
    """Learn one lesson: of a correction, what the learner sees when it translates. A rating is that of its proposal."""
    if isinstance(lesson.feedback, PostEdit) and not isinstance(learner, ProtectsText):
        return learn_unit(learner, TranslatedUnit(lesson.proposal.segment, lesson.feedback.text))
    return learner.learn(lesson.proposal, lesson.feedback)


def superfluous(counts: Mapping[str, int | None], now: int) -> list[str]:
    """The snapshots to delete: of all whose distance from now has the same power of two, the oldest stays.

    So the number of snapshots grows with the logarithm of the number of lessons, and undoing an old lesson never has to
    begin much earlier than the lesson. Those without a number of lessons are deleted.

    >>> superfluous({"a": 25, "b": 50, "c": 75, "d": 100, "e": None}, 100)
    ['e', 'b']
    """
    return [digest for digest, count in counts.items() if count is None] + list(_crowded(counts, now))


def _crowded(counts: Mapping[str, int | None], now: int) -> Iterator[str]:
    kept: set[int] = set()
    for count, digest in sorted((count, digest) for digest, count in counts.items() if count is not None):
        distance = (max(0, now - count) + SNAPSHOT_EVERY - 1) // SNAPSHOT_EVERY
        if distance.bit_length() in kept:
            yield digest
        kept.add(distance.bit_length())
