"""One project in an engine process: its log, its learner, and its queue.

A call first reads the events that it lacks, and learns them. So every engine gives the same answers. Calls of one
project wait for each other, in order; other projects do not wait. After an undo, or if it is far behind, a new learner
is built in the background, and the old one goes on translating.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any, Protocol, TypeVar, runtime_checkable

from mtloop.core.protocols import Learner, WritesDelta
from mtloop.core.types import Learned, PostEdit
from mtloop.service.engines.answers_of_learners import (
    Proof,
    TranslationCall,
    check_call,
    learn_with_proof,
    rates,
    translate,
    translate_piece,
)
from mtloop.service.engines.base_models import BaseModels, LearnerMaker
from mtloop.service.engines.engine_figures import EngineFigures
from mtloop.service.engines.engine_threads import EngineThreads
from mtloop.service.engines.learner_bytes import held_bytes
from mtloop.service.engines.learner_state import (
    SNAPSHOT_EVERY,
    LearnerState,
    LessonFailed,
    LessonInterrupted,
    learn_lesson,
)
from mtloop.service.engines.snapshots import DatabaseSnapshots, SnapshotCache, result_json
from mtloop.service.engines.translation_turns import EngineTurn, join_answers, turns_of
from mtloop.service.project_log.event_log import Configured, Confirmed, EventLog, LoggedLesson
from mtloop.service.project_log.models import ProjectGone
from mtloop.service.project_log.store import ProjectStore
from mtloop.service.telemetry import LOGGER
from mtloop.translation.translator import UsesTerms, as_glossary

T = TypeVar("T")
MAX_AT_ONCE = SNAPSHOT_EVERY  # lessons that a call waits for; more are learned in the background
MAX_SEARCHED = 1000  # corrections among which a proof finds similar ones, for a learner without a memory
IDLE_SECONDS = 5.0  # after this time without a call, a learner with new lessons is saved
RETRY_SECONDS = 5.0  # between two attempts to store rejections: calls wait for each


@runtime_checkable
class ForgetsAtOnce(Protocol):
    """A learner whose memory can drop a lesson before its weights are rebuilt."""

    def forget_in_memory(self, index: int) -> None:
        """Drop a correction, by its place among those that the learner counted."""
        ...


@dataclass(frozen=True)
class SharedByProjects:
    """What all projects of an engine use."""

    store: ProjectStore
    models: BaseModels
    cache: SnapshotCache
    threads: EngineThreads
    figures: EngineFigures = field(default_factory=EngineFigures)
    _loading: dict[str, asyncio.Lock] = field(default_factory=dict)

    async def maker(self, configured: Configured) -> LearnerMaker:
        """What makes the learners of a project. Calls that wait for the same model take one thread together.

        It is none of the pools: a model may have to be loaded, and other projects need the threads meanwhile.
        """
        async with self._loading.setdefault(configured.model, asyncio.Lock()):
            return await asyncio.to_thread(self.models.maker, configured)


@dataclass
class Host:
    """A learner of the project with what made it and where it is saved."""

    maker: LearnerMaker
    snapshots: DatabaseSnapshots
    state: LearnerState
    number: int = 0  # of the newest event that it knows
    terms: Mapping[str, str] | None = None
    held_bytes: int = 0  # of the learner, without the base model; as it was measured last
    _measured_next: int = 0  # after so many lessons

    @property
    def learner(self) -> Learner:
        return self.state.learner

    def measure(self) -> None:
        """Measure the learner: after each of the first lessons, and later when it may have grown by a twentieth."""
        if self.state.count >= self._measured_next:
            self.held_bytes = held_bytes(self.learner, self.maker.model)
            self._measured_next = self.state.count + 1 + self.state.count // 20


class HostedProject:
    """A project. Its methods are called in the event loop; learners compute in threads."""

    def __init__(self, project_id: int, shared: SharedByProjects) -> None:
        self._id, self._shared = project_id, shared
        self._log, self._lock = EventLog(), asyncio.Lock()
        self._host: Host | None = None
        self._building: Host | None = None  # while the learner is rebuilt
        self._rebuild: asyncio.Task[None] | None = None
        self._failing: set[str] = set()  # digests of lessons that raised an error
        self._rejected: dict[int, str] = {}  # why lessons were rejected, by event number, as the database has it
        self._closing = threading.Event()
        self._store_next = 0.0  # when rejections may be stored again, after a failure
        self.calls, self.last_used = 0, monotonic()

    async def translate(self, number: int, call: TranslationCall) -> dict[str, Any]:
        """Translate texts with a learner that knows all events up to this number, and perhaps later ones.

        A long call has several turns.
        """
        async with self._turn(number) as host:
            state, rebuilding = host.number, self._is_rebuilding  # of the learner that translates first
            check_call(host.learner, call)
            turns = await self._in_thread(host.maker, turns_of, host.learner, call)
            answers = [await self._translate_turn(host, turns[0])]
        for turn in turns[1:]:
            async with self._turn(number) as host:
                rebuilding |= self._is_rebuilding
                answers.append(await self._translate_turn(host, turn))
        translations = join_answers(turns, answers, call.candidates)
        return {"translations": translations, "state": state, "rebuilding": rebuilding}

    async def _translate_turn(self, host: Host, turn: EngineTurn) -> list[dict[str, Any]]:
        learner, numbers = host.learner, host.state.corrections
        visible = self._corrections_of(host, turn.call.documents)
        if turn.piece is not None:
            arguments = (learner, turn.call, turn.piece, numbers, visible)
            return [await self._in_thread(host.maker, translate_piece, *arguments)]
        call = await self._named(host, turn.call)
        answers = await self._in_thread(host.maker, translate, learner, call, numbers, visible)
        await self._name_proposals(answers)
        return answers

    async def _name_proposals(self, answers: Sequence[dict[str, Any]]) -> None:
        """Store the proposals among the answers, so that they can be rated, and put their names in their places."""
        rated = [answer for answer in answers if "proposal" in answer]
        tokens = await self._shared.store.add_proposals(self._id, [answer["proposal"] for answer in rated])
        for answer, token in zip(rated, tokens, strict=True):
            answer["proposal"] = token

    async def _named(self, host: Host, call: TranslationCall) -> TranslationCall:
        """A call whose texts have the numbers of their proposals, if they can be rated: each is a draw of its own."""
        if not rates(host.learner):
            return call
        last = await self._shared.store.take_proposal_numbers(self._id, len(call.texts))
        names = [f"{self._id}-{last - after}" for after in reversed(range(len(call.texts)))]
        return replace(call, names=names)

    def _corrections_of(self, host: Host, documents: Sequence[str] | None) -> frozenset[int] | None:
        """The corrections of these documents, as the learner counts them. None: all."""
        if documents is None:
            return None
        chosen, events = set(documents), map(self._log.event, host.state.corrections)
        return frozenset(
            index for index, event in enumerate(events) if isinstance(event, Confirmed) and event.document in chosen
        )

    async def learn(self, number: int, proof: bool, wait: bool = True) -> dict[str, Any]:
        """Learn all events up to this number, and say what became of this one.

        Without `wait`, a learner that is being rebuilt is not waited for: then it is not known yet what it learns.
        """
        found: Proof | None = None
        async with self._turn(number, until=number if proof else None) as host:
            if proof and not self._is_rebuilding:
                found = await self._learn_with_proof(host, number)
        if wait:
            await self._rebuilt()
        async with self._turn(number) as host:
            rebuilding, proven = self._is_rebuilding, None if found is None else found.to_json()
            learned = None if rebuilding else await self._learned(host, number)
            return {"learned": learned, "proof": proven, "state": self._log.number, "rebuilding": rebuilding}

    async def _learned(self, host: Host, number: int) -> Mapping[str, Any] | None:
        if (result := host.state.results.get(number)) is not None:
            return result_json(result)
        stored = await self._shared.store.learned(self._id, number)
        if stored is None and number in host.state.numbers:  # the snapshot learned an equal lesson
            return result_json(Learned())
        return stored

    async def base_translations(self, number: int, call: TranslationCall) -> list[str]:
        """The translations of the frozen base model."""
        async with self._turn(number) as host:
            maker = host.maker
        frozen = await self._in_thread(maker, maker.make)  # the learner of the project is free meanwhile
        answers = await self._in_thread(maker, translate, frozen, call, ())
        return [str(answer["translation"]) for answer in answers]

    @property
    def bytes_(self) -> int:
        """The bytes in memory that the project does not share with others; those of the learner being built too."""
        return sum(host.held_bytes for host in (self._host, self._building) if host is not None)

    @property
    def is_used(self) -> bool:
        """Whether it has to stay in memory: for a call, or for the rebuilding of its learner, which would be lost."""
        return self.calls > 0 or self._is_rebuilding

    def known_lessons(self, first: int, last: int) -> int | None:
        """How many lessons with these numbers the learner knows. None: there is no learner. It does not wait."""
        hosts = [host for host in (self._building, self._host) if host is not None]
        counts = [sum(first <= number <= last for number in list(host.state.numbers)) for host in hosts]
        return max(counts, default=None)

    async def save_delta(self, number: int) -> str | None:
        """Save the learner, and return the digest of its snapshot, which holds the delta. None: it has no deltas."""
        while True:
            await self._rebuilt()
            async with self._turn(number) as host:
                if not isinstance(host.learner, WritesDelta):
                    return None
                if digest := host.state.digest:  # else it is being rebuilt
                    await self._in_thread(host.maker, host.state.save, host.snapshots, self._log.frozen())
                    return digest

    async def save(self, number: int) -> dict[str, Any]:
        """Save the learner now, and say which state it is. A learner that is being rebuilt is waited for."""
        while True:
            async with self._turn(number) as host:
                if not self._is_rebuilding:
                    await self._save(host)
                    return {"digest": host.state.digest, "lessons": host.state.count, "state": host.number}
            await self._rebuilt()

    async def save_if_idle(self) -> None:
        """Save what a kill would have to learn again, when nobody waits."""
        if not self.calls and monotonic() >= self.last_used + IDLE_SECONDS:
            async with self._lock:
                if self._host is not None:
                    await self._save(self._host)

    async def give_up(self) -> None:
        """End what goes on in the background."""
        self._closing.set()
        if self._rebuild is not None:
            await asyncio.wait([self._rebuild])

    async def close(self) -> None:
        """Save everything, before the project leaves the memory. A learner that is being rebuilt is given up."""
        await self.give_up()
        async with self._lock:
            if self._host is not None:
                await self._save(self._host)
            self._host = self._building = None  # its tensors are freed now, not when the garbage is collected

    @asynccontextmanager
    async def _turn(self, number: int, until: int | None = None) -> AsyncIterator[Host]:
        """The turn of a call: it has the learner for itself. With `until`, lessons from this number on are left."""
        self.calls += 1
        try:
            async with self._lock:
                yield await self._prepared(number, until)
                if self._host is not None and not self._is_rebuilding:
                    await self._store_rejections(self._host)
        finally:
            self.calls -= 1
            self.last_used = monotonic()

    async def _prepared(self, number: int, until: int | None) -> Host:
        """The learner, after it has learned what it lacks or begun to be rebuilt."""
        await self._read_log(number)
        host = self._host or await self._restore_host()
        if not host.state.is_prefix_of(self._log):
            self._forget_at_once(host)
        if not self._is_rebuilding:
            if host.state.digest:
                host.state.follow(self._log)
                host = await self._caught_up(host, until)
            if not host.state.digest or self._is_far_behind(host):
                self._rebuild = asyncio.create_task(self._rebuild_host())
                self._rebuild.add_done_callback(_log_error)
            else:
                host.number = self._log.number
        if self._is_rebuilding:
            await self._teach_outgoing(host)
        await self._use_glossary(host)
        return host

    async def _teach_outgoing(self, host: Host) -> None:
        """Let the learner that is being replaced learn what people confirmed last, so that they see it at once.

        Ratings, imports and lessons that were redone wait for the rebuilt learner, which takes its place.
        """
        known = set(host.state.numbers)
        for lesson in self._log.lessons[-MAX_AT_ONCE:]:
            event = self._log.event(lesson.number)
            is_new = lesson.number not in known and lesson.digest not in self._failing
            if is_new and isinstance(event, Confirmed) and not event.imported:
                try:
                    await self._in_thread(
                        host.maker, teach_outgoing, host.state, lesson, threads=self._shared.threads.lessons
                    )
                except Exception:  # the rebuilt learner meets it again, and decides
                    LOGGER.exception("a lesson failed", extra={"fields": {"project": self._id}})

    async def _restore_host(self) -> Host:
        host = self._host = await self._restored(self._log.frozen())
        return host

    async def _caught_up(self, host: Host, until: int | None) -> Host:
        """A learner that knows all lessons, but those from the number `until` on; unless it is far behind.

        After a lesson that fails, it is another one, which passes the lesson over.
        """
        while not self._is_far_behind(host):
            try:
                await self._learn_missing(host, until)
            except LessonFailed:
                host = await self._restore_host()
            else:
                break
        return host

    def _is_far_behind(self, host: Host) -> bool:
        """Whether so much is to be learned that nobody should wait for it."""
        return len(self._log.lessons) - host.state.count > MAX_AT_ONCE

    async def _read_log(self, number: int) -> None:
        while self._log.number < number:
            events = await self._shared.store.events_after(self._id, self._log.number)
            if not events:
                raise ProjectGone
            for one, event in events:
                self._log.append(one, event)
        if self._log.configured is None:
            raise ProjectGone

    async def _learn_in_background(self, host: Host, log: EventLog) -> None:
        """Learn what a learner lacks, lesson by lesson, so that other projects come in between."""
        for lesson in log.lessons[host.state.count :]:
            if self._closing.is_set():
                raise InterruptedError
            await self._learn(host, lesson, None, self._shared.threads.background)

    async def _restored(self, log: EventLog) -> Host:
        """The learner of the newest snapshot of a log."""
        assert log.configured is not None
        maker, loop = await self._shared.maker(log.configured), asyncio.get_running_loop()
        snapshots = DatabaseSnapshots(self._id, self._shared.store, self._shared.cache, maker.platform, loop)
        state = await self._in_thread(maker, LearnerState.new, maker.make, log)
        state.failing = self._failing
        await self._in_thread(maker, state.restore, log, snapshots)
        self._rejected = await self._shared.store.rejections(self._id)
        state.correct(self._rejected)
        self._shared.figures.count_load()
        host = Host(maker, snapshots, state)
        await self._in_thread(maker, host.measure)
        return host

    async def _learn_missing(self, host: Host, until: int | None) -> None:
        for lesson in self._log.lessons[host.state.count :]:
            if until is not None and lesson.number >= until:
                return
            await self._learn(host, lesson)

    async def _learn(
        self,
        host: Host,
        lesson: LoggedLesson,
        learn: Callable[[], Learned] | None = None,
        threads: ThreadPoolExecutor | None = None,
    ) -> None:
        """Learn a lesson. If it raises an error, the learner is of no use any more.

        A lesson that would fail again is noted: the next learner passes it over.
        """
        log = self._log.frozen()

        def work() -> None:
            started = monotonic()
            try:
                host.state.learn(lesson, host.snapshots, log, learn)
                host.measure()
            except (LessonFailed, LessonInterrupted) as error:
                self._drop(host, lesson, error)
                raise
            finally:
                self._shared.figures.count_lesson(monotonic() - started)

        await self._in_thread(host.maker, work, threads=threads or self._shared.threads.lessons)

    def _drop(self, host: Host, lesson: LoggedLesson, error: Exception) -> None:
        LOGGER.exception("a lesson failed", extra={"fields": {"project": self._id, "number": lesson.number}})
        if isinstance(error, LessonFailed):
            self._failing.add(lesson.digest)
        if self._host is host:
            self._host = None

    async def _learn_with_proof(self, host: Host, number: int) -> Proof | None:
        """Learn a correction and prove it. None: another call has learned it already, or it is not learned."""
        following = self._log.lessons[host.state.count :][:1]
        if not following or following[0].number != number or not isinstance(following[0].feedback, PostEdit):
            return None
        lesson, proofs = following[0], list[Proof]()
        known = self._newest_sources(host, str(lesson.proposal.segment.context["syntax"]))

        def learn() -> Learned:
            learned, proof = learn_with_proof(host.learner, lesson, known)
            proofs.append(proof)
            return learned

        with suppress(LessonFailed):  # the next learner passes it over
            await self._learn(host, lesson, learn)
        return proofs[0] if proofs else None

    def _newest_sources(self, host: Host, syntax: str) -> list[str]:
        """Sources of the newest corrections with a syntax, the newest first."""
        events = map(self._log.event, reversed(host.state.corrections[-MAX_SEARCHED:]))
        return [event.source for event in events if isinstance(event, Confirmed) and event.syntax == syntax]

    @property
    def _is_rebuilding(self) -> bool:
        return self._rebuild is not None and not self._rebuild.done()

    async def _rebuilt(self) -> None:
        """Wait until the learner is that of the log."""
        while self._is_rebuilding:
            assert self._rebuild is not None
            await asyncio.shield(self._rebuild)

    def _forget_at_once(self, host: Host) -> None:
        """Drop the corrections that do not count any more from the memory. The weights still know them."""
        live = {lesson.number for lesson in self._log.lessons}
        for index, number in enumerate(host.state.corrections):
            if number not in live and isinstance(host.learner, ForgetsAtOnce):
                host.learner.forget_in_memory(index)
        host.state.digest = ""  # now it is the state of no log: it is neither saved nor taught

    async def _rebuild_host(self) -> None:
        """Build a learner that knows exactly the log, and put it in place of the present one."""
        started = monotonic()
        try:
            host = await self._built()
            number = self._log.number  # it may grow during the next steps
            await self._use_glossary(host)
            await self._store_rejections(host)
            host.number, self._host = number, host
        finally:
            self._building = None
        self._shared.figures.count_rebuild()
        seconds = round(monotonic() - started, 3)
        LOGGER.info("project rebuilt", extra={"fields": {"project": self._id, "seconds": seconds}})

    async def _built(self) -> Host:
        """A learner that knows the log. Events that come meanwhile are learned too."""
        host = await self._restored(self._log.frozen())
        while not host.state.knows(self._log):
            log = self._log.frozen()
            if not host.state.is_prefix_of(log):
                host = await self._restored(log)
            host.state.follow(log)
            self._building = host
            with suppress(LessonFailed):  # then it is not a prefix, and another learner passes the lesson over
                await self._learn_in_background(host, log)
        return host

    async def _use_glossary(self, host: Host) -> None:
        """Let a learner use the present terms. Many of them take a while, so other projects do not wait for it."""
        terms = self._log.glossary
        if isinstance(host.learner, UsesTerms) and host.terms is not terms:
            await self._in_thread(host.maker, set_terms, host.learner, terms, host.maker)
            host.terms = terms

    async def _save(self, host: Host) -> None:
        """Save what was learned since the last snapshot. A learner that is the state of no log is not saved."""
        if host.state.results and host.state.digest:
            await self._in_thread(host.maker, host.state.save, host.snapshots, self._log.frozen())

    async def _store_rejections(self, host: Host) -> None:
        """Store at once which lessons were rejected, and which are so no longer: people look at them.

        The next snapshot stores these results with all others. So after a kill they are learned and stored again.
        """
        results = host.state.results if host.state.digest else {}
        changed = {number: one for number, one in results.items() if one.rejected != self._rejected.get(number)}
        if not changed or monotonic() < self._store_next:
            return
        try:
            stored = {number: result_json(result) for number, result in changed.items()}
            await self._shared.store.set_learned(self._id, stored)
        except Exception as error:  # a later call, or the next snapshot, stores them
            self._store_next = monotonic() + RETRY_SECONDS
            LOGGER.warning("rejections not stored", extra={"fields": {"reason": type(error).__name__}})
        else:
            kept = {number: one for number, one in self._rejected.items() if number not in changed}
            new = {number: one.rejected for number, one in changed.items() if one.rejected is not None}
            self._rejected = kept | new

    async def _in_thread(
        self, maker: LearnerMaker, work: Callable[..., T], *arguments: Any, threads: ThreadPoolExecutor | None = None
    ) -> T:
        def call() -> T:
            maker.prepare_thread()
            return work(*arguments)

        chosen = threads or self._shared.threads.calls
        return await finished(chosen.submit(call))


def _log_error(rebuild: asyncio.Task[None]) -> None:
    """Log why a learner was not rebuilt. The next call tries again."""
    error = None if rebuild.cancelled() else rebuild.exception()
    if error is not None and not isinstance(error, InterruptedError):
        LOGGER.error("a project could not be rebuilt", exc_info=error)


async def finished(work: Future[T]) -> T:
    """The result of work in a thread.

    When the caller is cancelled, work that has not begun is dropped. Else the caller waits for its end: nobody else may
    use the learner.
    """
    ends = asyncio.wrap_future(work)
    try:
        return await asyncio.shield(ends)
    except asyncio.CancelledError:
        work.cancel()  # it does nothing when a thread has begun
        while not ends.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([ends])
        raise


def teach_outgoing(state: LearnerState, lesson: LoggedLesson) -> None:
    """Let a learner that is being replaced learn a lesson. It is the state of no log then: it is not saved."""
    state.digest = ""
    state.numbers.append(lesson.number)  # also if it fails: it is not tried again
    learn_lesson(state.learner, lesson)
    state.corrections.append(lesson.number)  # as the learner counts them


def set_terms(learner: UsesTerms, terms: Mapping[str, str], maker: LearnerMaker) -> None:
    """Let a learner use the terms of a project."""
    from mtloop.nmt.decoding.terms import TermModel

    learner.terms = TermModel(as_glossary(dict(terms), *maker.config.languages)) if terms else None
