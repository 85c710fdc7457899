"""Whatever happens to a project, its answers are those of a learner that learned its log from the beginning."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import weakref
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import sqlalchemy as sa
from helpers.few_threads import few_threads
from helpers.learner_files import saved_state
from helpers.raw_events import append_events
from helpers.tiny_marian import demo_pairs, write_tiny
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtloop.core.errors import InputError
from mtloop.core.protocols import Learner
from mtloop.core.serialisation import decode
from mtloop.core.types import Learned, PostEdit, Proposal, Reward, Segment
from mtloop.nmt.adaptive import AdaptiveNMT
from mtloop.service import Settings
from mtloop.service.engines import answers_of_learners, engine_threads, hosted_project, learner_state
from mtloop.service.engines.answers_of_learners import TranslationCall, rates
from mtloop.service.engines.base_models import BaseModels
from mtloop.service.engines.engine_server import hosted_projects
from mtloop.service.engines.engine_threads import EngineThreads
from mtloop.service.engines.hosted_project import HostedProject, SharedByProjects, set_terms
from mtloop.service.engines.hosted_projects import HostedProjects
from mtloop.service.engines.learner_state import LessonInterrupted, learn_lesson
from mtloop.service.engines.snapshots import SnapshotCache
from mtloop.service.project_log.correction_store import CorrectionFilter
from mtloop.service.project_log.event_log import (
    Configured,
    Confirmed,
    Event,
    EventLog,
    GlossaryChanged,
    LoggedLesson,
    Rated,
    Redone,
    Reviewed,
    Undone,
)
from mtloop.service.project_log.store import ProjectStore
from mtloop.service.project_log.tables import project_proposals
from mtloop.service.storage import Storage
from mtloop.text.text_unit import TextUnit
from mtloop.translation.translator import UsesTerms

PAIRS = list(demo_pairs())[:6]
REJECTED = ("Delete the files.", " ")  # a learner learns nothing from an empty translation
PARTED = [  # in HTML
    ("<p>Open the file.</p><p>Close it now.</p>", "<p>Öffnen Sie die Datei.</p><p>Schließen Sie sie.</p>"),
    ("Click <b>Save</b> &amp; close.", "Klicken Sie <b>Speichern</b> &amp; schließen."),
    ("Delete {count} rows.", "{count} Zeilen löschen."),
]
ASKED = [source for source, _ in PAIRS[:3]]
NUMBERS = st.integers(2, 9)
NAMES = count()
LORA = "lora+memory+copy"
METHODS: list[tuple[str, dict[str, int]]] = [
    (LORA, {}),
    ("full", {}),
    ("bias", {}),
    ("memory", {}),
    ("nmt-el", {}),
    ("nmt-el", {"seed": 2}),
    ("nmt-el-recall", {}),
    ("nmt-reinforce", {}),
]


@dataclass(frozen=True)
class Rate:
    """Translate a source, and rate the proposal, if the method of the project learns from ratings."""

    source: str
    value: float


@dataclass(frozen=True)
class RateAgain:
    """Rate the proposal of an earlier rating once more. It counts if the other one was taken back."""

    number: int
    value: float


Action: TypeAlias = Sequence[Event] | Rate | RateAgain  # a step of a project's life


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("tiny")
    write_tiny(folder)
    return str(folder)


def actions(model: str) -> st.SearchStrategy[list[Action]]:
    pairs, names = st.sampled_from([*PAIRS, REJECTED]), st.sampled_from(["", "x"])
    confirmed = st.builds(lambda pair, name: Confirmed(*pair, external_id=name), pairs, names)
    others = st.one_of(
        st.builds(lambda pair: Confirmed(*pair, waits=True), pairs),
        st.builds(Undone, NUMBERS),
        st.builds(Redone, NUMBERS),
        st.builds(Reviewed, NUMBERS, st.booleans()),
        configurations(model),
        st.builds(GlossaryChanged, st.sampled_from([{}, {"database": "Datenbank"}])),
    )
    imported = st.lists(st.builds(lambda pair: Confirmed(*pair, imported=True), pairs), min_size=3, max_size=4)
    values = st.sampled_from([0.0, 0.4, 1.0])
    rated = st.builds(Rate, st.sampled_from(ASKED), values) | st.builds(RateAgain, NUMBERS, values)
    one = st.one_of(confirmed, others).map(lambda event: [event])
    return st.lists(st.one_of(one, rated, rated, imported), min_size=1, max_size=9)


def configurations(model: str) -> st.SearchStrategy[Configured]:
    return st.sampled_from(METHODS).map(lambda chosen: Configured(model, *chosen))


def alone(log: EventLog, models: BaseModels, rejected: dict[int, str] | None = None) -> Learner:
    """A new learner that learned the lessons of a log in this thread. A method for ratings learns from all of them.

    The reasons for which it rejected corrections are put into `rejected`.
    """
    assert log.configured is not None
    maker = models.maker(log.configured)
    learner = maker.make()
    for lesson in log.lessons:
        learned = learn_lesson(learner, lesson)
        assert learned.rejected is None or not (isinstance(lesson.feedback, Reward) and rates(learner))
        if rejected is not None and learned.rejected is not None and isinstance(lesson.feedback, PostEdit):
            rejected[lesson.number] = learned.rejected
    if isinstance(learner, UsesTerms):
        set_terms(learner, log.glossary, maker)
    return learner


async def served(storage: Storage, project_id: int, project: HostedProject, number: int) -> list[Proposal]:
    """What a project translates, after it has been rebuilt; with the segments that it drew for."""
    await project.save(number)  # it waits for a learner that is being rebuilt
    answers = [await project.translate(number, TranslationCall([source])) for source in ASKED]
    assert {answer["state"] for answer in answers} == {number}
    translations = [answer["translations"][0] for answer in answers]
    drawn = [await kept(storage, project_id, one["proposal"]) if "proposal" in one else None for one in translations]
    return [
        found or Proposal(Segment("", source, {"syntax": "plain"}), one["translation"])
        for source, one, found in zip(ASKED, translations, drawn, strict=True)
    ]


async def kept(storage: Storage, project_id: int, token: str) -> Proposal:
    """A proposal that can be rated."""
    async with storage.database.writing() as connection:
        mine = sa.and_(project_proposals.c.project_id == project_id, project_proposals.c.token == token)
        body = (await connection.execute(sa.select(project_proposals.c.body).where(mine))).scalar_one()
    return decode(Proposal, body)


def check_equal(found: Sequence[Proposal], learner: Learner) -> None:
    """Compare the texts; of what was drawn also the tokens, their probability and the seed."""
    for one in found:
        own = learner.propose(one.segment)
        assert own.text == one.text
        if "draw" in one.memo:
            assert own == one


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), kills=st.sets(st.integers(1, 9)))
def test_answers_follow_from_the_log(
    tmp_path_factory: pytest.TempPathFactory, model: str, data: st.DataObject, kills: set[int]
) -> None:
    first, chosen = data.draw(configurations(model)), data.draw(actions(model))
    live_once(tmp_path_factory.mktemp("db"), first, chosen, kills)


@pytest.mark.slow
@pytest.mark.parametrize("method", sorted({name for name, _ in METHODS}))
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), kills=st.sets(st.integers(1, 9)))
def test_answers_of_each_method_follow_from_the_log(
    tmp_path_factory: pytest.TempPathFactory, model: str, method: str, data: st.DataObject, kills: set[int]
) -> None:
    """Every project begins with this method."""
    live_once(tmp_path_factory.mktemp("db"), Configured(model, method), data.draw(actions(model)), kills)


def live_once(folder: Path, first: Configured, chosen: Sequence[Action], kills: set[int]) -> None:
    """Let a project live, with snapshots and rebuilds in between, and compare it with a learner in this process."""
    with pytest.MonkeyPatch.context() as patch, few_threads(2) as threads:
        patch.setattr(learner_state, "SNAPSHOT_EVERY", 2)
        patch.setattr(hosted_project, "MAX_AT_ONCE", 2)
        asyncio.run(live(folder, first, chosen, kills, threads))


async def live(
    folder: Path, first: Configured, chosen: Sequence[Action], kills: set[int], threads: EngineThreads
) -> None:
    async with opened(folder) as storage:
        models = BaseModels()
        shared = SharedByProjects(storage.projects, models, SnapshotCache(1 << 24), threads)
        made = await storage.projects.create(f"p{next(NAMES)}", ("en", "de"), first)
        project, log = HostedProject(made.id, shared), await log_of(storage, made.id)
        for step, action in enumerate(chosen, start=1):
            await act(storage, made.id, project, log, action)
            log = await log_of(storage, made.id)
            if step in kills:
                await project.give_up()  # a rebuild that goes on would hold a connection when the database is closed
                project = HostedProject(made.id, shared)  # the other one is gone, with all that it did not save
            await project.translate(log.number, TranslationCall(ASKED[:1]))
        rejected = dict[int, str]()
        found, at_home = await served(storage, made.id, project, log.number), alone(log, models, rejected)
        check_equal(found, at_home)
        assert await rejections(storage, made.id) == rejected
        check_same_state(project, at_home)
        await project.close()


async def rejections(storage: Storage, project_id: int) -> dict[int, str | None]:
    """The corrections that the learner rejected, with the reasons."""
    chosen = CorrectionFilter(state="rejected")
    return {one.number: one.rejected for one in await storage.corrections.page(project_id, chosen, 1000)}


def check_same_state(project: HostedProject, at_home: Learner) -> None:
    """What both save is equal to the last bit: weights, memory, counters."""
    assert project._host is not None
    assert saved_state(project._host.learner) == saved_state(at_home)


async def act(storage: Storage, project_id: int, project: HostedProject, log: EventLog, action: Action) -> None:
    if isinstance(action, RateAgain):
        if isinstance(known := log.event(action.number), Rated):
            await storage.projects.append_rating(project_id, replace(known, value=action.value), None)
    elif not isinstance(action, Rate):
        await append_events(storage, project_id, action)
    elif log.configured is not None and log.configured.method.startswith("nmt-"):
        answer = await project.translate(log.number, TranslationCall([action.source]))
        if token := answer["translations"][0].get("proposal"):  # else the learner of another method still translates
            await rate(storage, project_id, token, action.value)


async def rate(storage: Storage, project_id: int, token: str, value: float) -> int:
    number = await storage.projects.append_rating(project_id, Rated(Proposal(Segment("", ""), ""), value, token), None)
    assert number is not None
    return number


async def log_of(storage: Storage, project_id: int) -> EventLog:
    log = EventLog()
    while events := await storage.projects.events_after(project_id, log.number):
        for number, event in events:
            log.append(number, event)
    return log


def test_a_call_that_was_given_up_is_dropped(tmp_path: Path, model: str) -> None:
    asyncio.run(_give_up(tmp_path, model))


async def _give_up(folder: Path, model: str) -> None:
    storage = Storage.connect(Settings(folder=folder).url)
    await storage.migrate()
    made = await storage.projects.create("p", ("en", "de"), Configured(model, "memory"))
    with few_threads(1) as threads:
        shared = SharedByProjects(storage.projects, BaseModels(), SnapshotCache(0), threads)
        project = HostedProject(made.id, shared)
        calls = [asyncio.create_task(project.translate(1, TranslationCall([source]))) for source in ASKED]
        await asyncio.sleep(0)
        calls[1].cancel()
        results = await asyncio.gather(*calls, return_exceptions=True)
        assert isinstance(results[1], asyncio.CancelledError)
        assert all(isinstance(results[place], dict) for place in (0, 2))
        assert project.calls == 0
    await storage.close()


def test_nobody_waits_for_the_lesson_of_another_project(
    tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On two cores. Three projects learn an import, and six a confirmation. Others catch up, translate and confirm."""
    go_on, quick = threading.Event(), PAIRS[1]
    imported = [Confirmed(f"{source} {n}", target, imported=True) for source, target in PAIRS for n in range(6)]
    slow = [imported] * 3 + [[Confirmed(*PAIRS[0])]] * 6

    def learn_slowly(learner: Learner, lesson: LoggedLesson) -> Learned:
        assert lesson.proposal.segment.source == quick[0] or go_on.wait(60)
        return learn_lesson(learner, lesson)

    async def work(storage: Storage, projects: HostedProjects) -> None:
        made = [await created(storage, model, f"p{index}") for index in range(len(slow) + 2)]
        for one, events in zip(made, [*slow, [Confirmed(*quick)]], strict=False):
            await append_events(storage, one, events)

        async def learn(project_id: int, number: int) -> int:
            async with projects.use(project_id) as project:
                return int((await project.learn(number, proof=False))["state"])

        async def translate(project_id: int, number: int) -> dict[str, Any]:
            async with projects.use(project_id) as project:
                return await asyncio.wait_for(project.translate(number, TranslationCall(quick[:1])), 30)

        numbers = [len(events) + 1 for events in slow]
        learning = [asyncio.create_task(learn(*one)) for one in zip(made, numbers, strict=False)]
        try:
            await asyncio.sleep(0.2)
            behind, new = await translate(made[-2], 2), await translate(made[-1], 1)
            assert [(one["state"], one["translations"][0]["repeated"]) for one in (behind, new)] == [
                (2, True),
                (1, False),
            ]
            await append_events(storage, made[-1], [Confirmed(*quick)])
            assert await asyncio.wait_for(learn(made[-1], 2), 30) == 2
            assert not any(one.done() for one in learning)
        finally:
            go_on.set()
        assert await asyncio.gather(*learning) == numbers

    monkeypatch.setattr(engine_threads, "CORES", 2)
    monkeypatch.setattr(learner_state, "learn_lesson", learn_slowly)
    run_server(tmp_path, work)


def run_server(folder: Path, work: Any, **chosen: int) -> None:
    """Run a test with a database and the projects of an engine, made as the engine process makes them."""

    async def run() -> None:
        async with opened(folder) as storage:
            projects, threads = hosted_projects(storage.database, Settings(folder=folder, **chosen))
            try:
                await work(storage, projects)
            finally:
                await projects.close()
                await threads.close()

    asyncio.run(run())


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Storage]:
    storage = Storage.connect(Settings(folder=folder).url)
    await storage.migrate()
    try:
        yield storage
    finally:
        await storage.close()


async def created(storage: Storage, model: str, name: str = "p", method: str = "memory") -> int:
    return (await storage.projects.create(name, ("en", "de"), Configured(model, method))).id


def test_a_few_lessons_are_waited_for_and_many_are_not(tmp_path: Path, model: str) -> None:
    """The next translation knows what was confirmed. A long backlog is learned in the background, as an import is."""
    few = [Confirmed(*pair) for pair in PAIRS]
    many = [Confirmed(f"{source} {n}", target) for source, target in PAIRS for n in range(6)]

    async def work(storage: Storage, shared: SharedByProjects) -> None:
        one = await created(storage, model)
        await append_events(storage, one, few)
        answer = await HostedProject(one, shared).translate(len(few) + 1, TranslationCall([few[-1].source]))
        assert answer["translations"][0]["translation"] == few[-1].translation
        assert (answer["state"], answer["rebuilding"]) == (len(few) + 1, False)
        for name, imported in (("confirmed", False), ("imported", True)):
            other = await created(storage, model, name)
            await append_events(storage, other, [replace(event, imported=imported) for event in many])
            project, last = HostedProject(other, shared), len(many) + 1
            answer = await project.translate(last, TranslationCall([many[-1].source]))
            assert (answer["state"], answer["rebuilding"]) == (0, True)
            assert (await project.learn(last, proof=False))["learned"]["rejected"] is None
            answer = await project.translate(last, TranslationCall([many[-1].source]))
            assert answer["translations"][0]["translation"] == many[-1].translation
            await project.close()

    run_engine(tmp_path, work)


def run_engine(folder: Path, work: Any, cache_bytes: int = 0) -> None:
    """Run a test with a database and what the projects of an engine share."""

    async def run() -> None:
        async with opened(folder) as storage:
            with few_threads(2) as threads:
                cache = SnapshotCache(cache_bytes)
                await work(storage, SharedByProjects(storage.projects, BaseModels(), cache, threads))

    asyncio.run(run())


def test_a_lesson_that_fails_during_a_rebuild_shifts_no_other(
    tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The corrections of the outgoing learner are those that it counted itself; none is tried twice."""
    go_on, tried = threading.Event(), list[int]()

    def learn_slowly(learner: Learner, lesson: LoggedLesson) -> Learned:
        assert go_on.wait(60)
        return learn_lesson(learner, lesson)

    def fail_once(learner: Learner, lesson: LoggedLesson) -> Learned:
        tried.append(lesson.number)
        if len(tried) == 1:
            raise ValueError
        return learn_lesson(learner, lesson)

    async def work(storage: Storage, shared: SharedByProjects) -> None:
        one = await created(storage, model)
        many = [Confirmed(f"{source} {n}", target, imported=True) for source, target in PAIRS for n in range(6)]
        await append_events(storage, one, [*many, Confirmed(*PAIRS[0]), Confirmed(*PAIRS[1])])
        project, last = HostedProject(one, shared), len(many) + 3
        try:
            for _ in range(2):
                await project.translate(last, TranslationCall([PAIRS[1][0]]))
            assert project._host is not None
            assert (tried, project._host.state.corrections) == ([last - 1, last], [last])
        finally:
            go_on.set()
        await project.close()

    monkeypatch.setattr(learner_state, "learn_lesson", learn_slowly)
    monkeypatch.setattr(hosted_project, "learn_lesson", fail_once)
    run_engine(tmp_path, work)


def test_a_confirmation_does_not_wait_for_an_import(
    tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is stored, so its answer comes at once. What was learned is not known before the import is learned."""
    go_on = threading.Event()

    def learn_slowly(learner: Learner, lesson: LoggedLesson) -> Learned:
        assert go_on.wait(60)
        return learn_lesson(learner, lesson)

    async def work(storage: Storage, shared: SharedByProjects) -> None:
        one = await created(storage, model)
        many = [Confirmed(f"{source} {n}", target, imported=True) for source, target in PAIRS for n in range(6)]
        await append_events(storage, one, many)
        project, last = HostedProject(one, shared), len(many) + 2
        await append_events(storage, one, [Confirmed(*PAIRS[0])])
        try:
            answer = await asyncio.wait_for(project.learn(last, proof=True, wait=False), 30)
        finally:
            go_on.set()
        assert answer == {"learned": None, "proof": None, "state": last, "rebuilding": True}
        answer = await project.learn(last, proof=True)
        assert answer["rebuilding"] is False
        assert answer["learned"]["rejected"] is None
        assert (await project.learn(last, proof=True, wait=False)) == answer
        await project.close()

    monkeypatch.setattr(learner_state, "learn_lesson", learn_slowly)
    run_engine(tmp_path, work)


def test_a_lesson_that_fails_is_passed_over(tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(learner: Learner, lesson: LoggedLesson) -> Learned:
        learned = learn_lesson(learner, lesson)
        if lesson.number == 3:
            raise ArithmeticError("half changed")
        return learned

    async def work(storage: Storage, shared: SharedByProjects) -> None:
        one = await created(storage, model)
        await append_events(storage, one, [Confirmed(*pair) for pair in PAIRS[:3]])
        project = HostedProject(one, shared)
        assert (await project.learn(3, proof=False))["learned"]["rejected"] == "error"
        assert (await project.learn(4, proof=True))["learned"]["rejected"] is None
        answers = [
            (await project.translate(4, TranslationCall([source])))["translations"][0] for source, _ in PAIRS[:3]
        ]
        assert [answer["repeated"] for answer in answers] == [True, False, True]
        assert [answers[place]["corrections"][0]["number"] for place in (0, 2)] == [2, 4]
        assert (await storage.projects.learned(one, 3) or {})["rejected"] == "error"
        await project.close()

    monkeypatch.setattr(learner_state, "learn_lesson", fail)
    run_engine(tmp_path, work)


def test_a_learner_with_a_gap_has_another_digest(tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So its snapshot is not taken for that of a learner that knows all lessons."""
    fails = True

    def fail(learner: Learner, lesson: LoggedLesson) -> Learned:
        if fails and lesson.number == 3:
            raise ArithmeticError("this lesson")
        return learn_lesson(learner, lesson)

    async def work(storage: Storage, shared: SharedByProjects) -> None:
        nonlocal fails
        one = await created(storage, model, method=LORA)
        await append_events(storage, one, [Confirmed(*pair) for pair in PAIRS[:3]])
        with_gap = HostedProject(one, shared)
        gap = (await with_gap.save(4))["digest"]
        await with_gap.close()
        again = HostedProject(one, shared)
        assert (await again.save(4))["digest"] == gap
        fails = False
        healed = HostedProject(one, shared)
        digest, log = (await healed.save(4))["digest"], await log_of(storage, one)
        assert digest == log.digest != gap
        check_equal(await served(storage, one, healed, 4), alone(log, shared.models))

    monkeypatch.setattr(learner_state, "learn_lesson", fail)
    run_engine(tmp_path, work, cache_bytes=1 << 24)


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), OSError("disk")]
)
@pytest.mark.parametrize("proof", [True, False])
def test_a_lesson_that_lacked_memory_is_learned_by_the_next_call(
    tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch, error: Exception, proof: bool
) -> None:
    errors = [error]

    def learn(learner: Learner, lesson: LoggedLesson) -> Learned:
        learned = learn_lesson(learner, lesson)
        if lesson.number == 3 and errors:
            raise errors.pop()
        return learned

    async def work(storage: Storage, shared: SharedByProjects) -> None:
        one = await created(storage, model, method=LORA)
        await append_events(storage, one, [Confirmed(*pair) for pair in PAIRS[:2]])
        project = HostedProject(one, shared)
        with pytest.raises(LessonInterrupted):
            await project.learn(3, proof=proof)
        assert (await project.learn(3, proof=False))["learned"]["rejected"] is None
        log = await log_of(storage, one)
        assert (await project.save(3))["digest"] == log.digest
        check_equal(await served(storage, one, project, 3), alone(log, shared.models))

    for module in (learner_state, answers_of_learners):
        monkeypatch.setattr(module, "learn_lesson", learn)
    run_engine(tmp_path, work)


def test_a_project_that_leaves_the_memory_frees_its_learner(tmp_path: Path, model: str) -> None:
    async def work() -> None:
        async with opened(tmp_path) as storage:
            with few_threads(2) as threads:
                shared = SharedByProjects(storage.projects, BaseModels(), SnapshotCache(0), threads)
                project = HostedProject(await created(storage, model), shared)
                await project.translate(1, TranslationCall(ASKED[:1]))
                assert project._host is not None
                learner = weakref.ref(project._host.learner)
                gc.disable()
                try:
                    await project.close()
                    for _ in range(200):  # a thread may still hold it for a moment
                        if learner() is None:
                            break
                        await asyncio.sleep(0.02)
                    assert learner() is None  # without the garbage collector
                finally:
                    gc.enable()

    asyncio.run(work())


@pytest.mark.parametrize("method", [LORA, "full", "bias", "memory"])
def test_the_bytes_of_a_learner_are_those_in_memory(tmp_path: Path, model: str, method: str) -> None:
    """Those of its delta, of the weights that are composed for translating, and of its memory; not the base model."""

    async def work(storage: Storage, shared: SharedByProjects) -> None:
        one, last = await created(storage, model, method=method), len(PAIRS) + 1
        await append_events(storage, one, [Confirmed(*pair) for pair in PAIRS])
        learner = alone(await log_of(storage, one), shared.models)
        assert isinstance(learner, AdaptiveNMT)
        own, base = learner.model.weights, learner.base.weights
        weights = {own[name].data_ptr(): own[name].nbytes for name in own if own[name] is not base[name]}
        copied = sum(weights[place] for place in weights if place not in {base[name].data_ptr() for name in base})
        delta = 0 if method == "full" else sum(one.nbytes for one in learner.scope.tensors().values())
        states = 0 if learner.memory is None else sum(one.nbytes for one in learner.memory.tensors().values())
        assert (copied > 0) == (method in (LORA, "full"))
        for _ in range(2):  # taught, and from a snapshot
            project = HostedProject(one, shared)
            assert project.bytes_ == 0
            await project.learn(last, proof=False)
            assert copied + delta + states <= project.bytes_ <= 1.5 * (copied + delta) + 100_000  # room of the memory
            await project.close()
            assert project.bytes_ == 0

    run_engine(tmp_path, work)


@pytest.mark.parametrize(("room", "stay"), [(0.5, 1), (2.2, 2), (9, 4)])
def test_learners_keep_to_a_budget_in_bytes(tmp_path: Path, model: str, room: float, stay: int) -> None:
    """The least recently used leave, and come back with all that they learned. The last one stays."""

    async def measured(storage: Storage, projects: HostedProjects) -> None:
        sizes.append((await taught(storage, projects))[-1])

    async def taught(storage: Storage, projects: HostedProjects) -> list[int]:
        made = [await created(storage, model, f"p{next(NAMES)}", LORA) for _ in PAIRS[:4]]
        found = list[int]()
        for one, pair in zip(made, PAIRS, strict=False):
            await append_events(storage, one, [Confirmed(*pair)])
            async with projects.use(one) as project:
                await project.learn(2, proof=False)
                found.append(project.bytes_)
        return [*made, *found[-1:]]

    async def work(storage: Storage, projects: HostedProjects) -> None:
        *made, size = await taught(storage, projects)
        assert (len(projects), size > 100_000) == (stay, True)
        for one, (source, target) in zip(made, PAIRS, strict=False):
            async with projects.use(one) as project:
                (answer,) = (await project.translate(2, TranslationCall([source])))["translations"]
                assert answer["translation"] == target
            assert len(projects) == stay

    sizes = list[int]()
    run_server(tmp_path, measured)
    run_server(tmp_path, work, engine_learner_bytes=int(room * sizes[0]))


def test_a_project_that_is_rebuilt_stays_in_memory(tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for the rebuilding of its learner, which would begin again."""
    may_learn, many = threading.Event(), [Confirmed(f"{n}", f"{n}", imported=True) for n in range(40)]

    def learn(learner: Learner, lesson: LoggedLesson) -> Learned:
        may_learn.wait(60)
        return learn_lesson(learner, lesson)

    async def work(storage: Storage, projects: HostedProjects) -> None:
        one, other = [await created(storage, model, name) for name in ("p", "q")]
        await append_events(storage, one, many)
        async with projects.use(one) as rebuilt:
            assert (await rebuilt.translate(len(many) + 1, TranslationCall(ASKED[:1])))["rebuilding"]
        async with projects.use(other) as project:
            await project.translate(1, TranslationCall(ASKED[:1]))
        async with projects.use(one) as found:
            assert found is rebuilt
        may_learn.set()
        await rebuilt.learn(len(many) + 1, proof=False)
        async with projects.use(other):
            pass
        assert len(projects) == 1

    monkeypatch.setattr(learner_state, "learn_lesson", learn)
    run_server(tmp_path, work, engine_learners=1)


def test_rejections_that_cannot_be_stored_are_not_tried_by_each_call(
    tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A locked database would let each call wait. A later call stores them."""
    tried, stores = list[int](), ProjectStore.set_learned

    async def fails(self: ProjectStore, project: int, results: Any) -> None:
        tried.append(project)
        if len(tried) == 1:
            raise OSError("locked")
        await stores(self, project, results)

    async def work(storage: Storage, shared: SharedByProjects) -> None:
        one = await created(storage, model)
        await append_events(storage, one, [Confirmed(*REJECTED)])
        project = HostedProject(one, shared)
        for _ in range(3):
            await project.translate(2, TranslationCall(ASKED[:1]))
        assert (len(tried), await rejections(storage, one)) == (1, {})
        monkeypatch.setattr(hosted_project, "monotonic", lambda: time.monotonic() + hosted_project.RETRY_SECONDS)
        await project.translate(2, TranslationCall(ASKED[:1]))
        assert (len(tried), await rejections(storage, one)) == (2, {2: "empty"})

    monkeypatch.setattr(ProjectStore, "set_learned", fails)
    run_engine(tmp_path, work)


def test_a_deleted_project_learns_no_more(tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    learned: list[int] = []

    def note(learner: Learner, lesson: LoggedLesson) -> Learned:
        learned.append(lesson.number)
        time.sleep(0.02)
        return learn_lesson(learner, lesson)

    async def work() -> None:
        async with opened(tmp_path) as storage:
            with few_threads(2) as threads:
                cache = SnapshotCache(1 << 24)
                shared = SharedByProjects(storage.projects, BaseModels(), cache, threads)
                one = await created(storage, model)
                many = [
                    Confirmed(f"{source} {n}", target, imported=True) for source, target in PAIRS for n in range(20)
                ]
                await append_events(storage, one, many)
                hosted = HostedProjects(shared, 2)
                async with hosted.use(one) as project:
                    await project.translate(len(many) + 1, TranslationCall(ASKED[:1]))
                await storage.projects.delete("p")
                hosted.forget(one)
                await hosted.close()
                assert len(learned) < len(many)
                assert len(cache) == 0

    monkeypatch.setattr(learner_state, "learn_lesson", note)
    asyncio.run(work())


def test_ratings_are_learned_again_after_a_kill(tmp_path: Path, model: str) -> None:
    async def work(storage: Storage, shared: SharedByProjects) -> None:
        one = await created(storage, model, method="nmt-reinforce")
        project = HostedProject(one, shared)
        for step, (source, _) in enumerate(PAIRS):
            answer = await project.translate(step + 1, TranslationCall([source]))
            assert await rate(storage, one, answer["translations"][0]["proposal"], (step % 3) / 2) == step + 2
            if step == 3:
                project = HostedProject(one, shared)
        log = await log_of(storage, one)
        assert len(log.lessons) == len(PAIRS)
        check_equal(await served(storage, one, project, log.number), alone(log, shared.models))

    run_engine(tmp_path, work)


def test_a_killed_engine_loses_no_rejection(tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lesson that a snapshot knows is never learned again, so its result is stored together with the snapshot."""
    monkeypatch.setattr(learner_state, "SNAPSHOT_EVERY", 2)

    async def work(storage: Storage, shared: SharedByProjects) -> None:
        one = await created(storage, model, method=LORA)
        project = HostedProject(one, shared)
        for number, pair in enumerate([REJECTED, PAIRS[0], PAIRS[1], PAIRS[2], REJECTED], start=2):
            await append_events(storage, one, [Confirmed(*pair, external_id=str(number))])
            await project.learn(number, proof=False)
        again = HostedProject(one, shared)  # the other one is gone, with all that it did not save
        await again.translate(6, TranslationCall(ASKED[:1]))
        await again.save(6)
        assert await rejections(storage, one) == {2: "empty", 6: "empty"}
        assert await storage.corrections.stored_results(one, 2, 6) == 5

    run_engine(tmp_path, work)


def test_results_are_those_of_the_method_whose_snapshot_is_loaded(
    tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another method wrote its results over the first ones, and was ended before it knew all lessons."""
    monkeypatch.setattr(learner_state, "SNAPSHOT_EVERY", 2)
    lacking = ("Delete {count} files.", "Dateien löschen.")  # weights cannot learn it, and a memory can

    async def work(storage: Storage, shared: SharedByProjects) -> None:
        one = await created(storage, model, method="lora")
        await append_events(storage, one, [Confirmed(*pair) for pair in [lacking, *PAIRS[:3]]])
        first = HostedProject(one, shared)
        await first.save(5)
        await first.close()
        assert await rejections(storage, one) == {2: "placeholders"}
        await storage.projects.set_learned(one, {2: {"rejected": None}, 3: {"rejected": "improbable"}})
        again = HostedProject(one, shared)
        await again.save(5)
        assert await rejections(storage, one) == {2: "placeholders"}

    run_engine(tmp_path, work)


def test_the_proposals_of_a_call_are_stored_together(
    tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each commit takes a while, and all other writers wait for it."""
    stored, add_proposals = list[int](), ProjectStore.add_proposals

    async def noted(self: ProjectStore, project_id: int, proposals: Sequence[Proposal]) -> list[str]:
        stored.append(len(proposals))
        return await add_proposals(self, project_id, proposals)

    monkeypatch.setattr(ProjectStore, "add_proposals", noted)

    async def work(storage: Storage, shared: SharedByProjects) -> None:
        made = await created(storage, model, method="nmt-el")
        answers = (await HostedProject(made, shared).translate(1, TranslationCall(ASKED)))["translations"]
        for source, answer in zip(ASKED, answers, strict=True):
            proposal = await kept(storage, made, answer["proposal"])
            assert (proposal.segment.source, proposal.text) == (source, answer["translation"])

    run_engine(tmp_path, work)
    assert stored == [len(ASKED)]


def test_terms_are_read_in_a_thread(tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many terms take a while, and all projects of an engine have one event loop."""
    readers = list[threading.Thread]()

    def noted(*arguments: Any) -> None:
        readers.append(threading.current_thread())
        set_terms(*arguments)

    monkeypatch.setattr(hosted_project, "set_terms", noted)

    async def work(storage: Storage, shared: SharedByProjects) -> None:
        made = await created(storage, model)
        await append_events(storage, made, [GlossaryChanged({"database": "Datenbank"})])
        project = HostedProject(made, shared)
        for _ in range(2):
            await project.translate(2, TranslationCall(ASKED[:1]))

    run_engine(tmp_path, work)
    assert len(readers) == 1
    assert threading.current_thread() not in readers


def test_one_text_twice_is_drawn_twice_and_both_ratings_count(tmp_path: Path, model: str) -> None:
    async def work(storage: Storage, shared: SharedByProjects) -> None:
        one = await created(storage, model, method="nmt-el")
        project = HostedProject(one, shared)
        answers = [await project.translate(1, TranslationCall([ASKED[0]])) for _ in range(2)]
        answers.append(await project.translate(1, TranslationCall(ASKED[:1] * 2)))
        tokens = [found["proposal"] for answer in answers for found in answer["translations"]]
        drawn = [await kept(storage, one, token) for token in tokens]
        assert len({proposal.memo["draw"] for proposal in drawn}) == len(drawn) == 4
        for place, token in enumerate(tokens):
            number = await rate(storage, one, token, 1.0)
            assert number == place + 2
            assert (await project.learn(number, proof=False))["learned"]["updates"] == 1

    run_engine(tmp_path, work)


@pytest.mark.parametrize(
    ("method", "fields", "reason"),
    [
        ("nmt-el", {"prefix": "Das"}, "draws whole translations; leave out `prefix`"),
        ("nmt-el", {"candidates": 2}, "gives one translation of a text; leave out `candidates`"),
        (LORA, {"prefix": "Das", "candidates": 2}, "a prefix has one completion"),
    ],
)
def test_a_call_that_a_method_cannot_answer_is_refused_before_anything_is_drawn(
    tmp_path: Path, model: str, method: str, fields: dict[str, Any], reason: str
) -> None:
    async def work(storage: Storage, shared: SharedByProjects) -> None:
        one = await created(storage, model, method=method)
        project = HostedProject(one, shared)
        with pytest.raises(InputError, match=reason):
            await project.translate(1, TranslationCall(ASKED[:1], **fields))
        assert await storage.projects.take_proposal_numbers(one, 1) == 1
        assert (await project.translate(1, TranslationCall(ASKED[:1])))["translations"]

    run_engine(tmp_path, work)


LONG = " ".join(f"{source} <b>{number}</b> {{name}}." for number, (source, _) in enumerate(demo_pairs()[:50]))


@pytest.mark.parametrize("syntax", ["plain", "html"])
@pytest.mark.parametrize("method", [LORA, "memory"])
def test_a_long_text_in_turns_is_translated_as_at_once(tmp_path: Path, model: str, method: str, syntax: str) -> None:
    async def work(storage: Storage, shared: SharedByProjects) -> None:
        one = await created(storage, model, method=method)
        await append_events(storage, one, [Confirmed(*pair) for pair in PAIRS])
        project, learner = HostedProject(one, shared), alone(await log_of(storage, one), shared.models)
        texts = [PAIRS[0][0], LONG, PAIRS[5][0]]
        answers = (await project.translate(len(PAIRS) + 1, TranslationCall(texts, syntax)))["translations"]
        whole = [learner.propose(Segment("", text, {"syntax": syntax})).text for text in texts]
        assert [answer["translation"] for answer in answers] == whole
        assert [answer["repeated"] for answer in answers] == [True, False, True]
        assert list(answers[1]["protected"]) == list(TextUnit.of(LONG, syntax).protected)
        numbers = [one["number"] for one in answers[1]["corrections"]]
        assert len(set(numbers)) == len(numbers) > 0
        await append_events(storage, one, [Confirmed(LONG[:3000], "Lang. " * 500)])
        (again,) = (await project.translate(len(PAIRS) + 2, TranslationCall([LONG[:3000]])))["translations"]
        assert (again["repeated"], again["translation"]) == (True, "Lang. " * 500)

    run_engine(tmp_path, work)


def test_candidates_of_a_long_text(tmp_path: Path, model: str) -> None:
    async def work(storage: Storage, shared: SharedByProjects) -> None:
        project = HostedProject(await created(storage, model), shared)
        (answer,) = (await project.translate(1, TranslationCall([LONG[:3000]], candidates=3)))["translations"]
        assert answer["candidates"][0] == answer["translation"]
        assert len(set(answer["candidates"])) == len(answer["candidates"]) == 3

    run_engine(tmp_path, work)


def test_others_have_their_turn_while_a_long_text_is_translated(
    tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text of five thousand characters has several turns. Its answer names the state of the first."""
    order, began, go_on = list[str](), threading.Event(), threading.Event()

    def noted(name: str, work: Any) -> Any:
        def call(*arguments: Any) -> Any:
            order.append(name)
            return work(*arguments)

        return call

    def translate_piece(*arguments: Any) -> Any:
        began.set()
        assert go_on.wait(60)
        return answers_of_learners.translate_piece(*arguments)

    monkeypatch.setattr(hosted_project, "translate_piece", noted("piece", translate_piece))
    monkeypatch.setattr(hosted_project, "translate", noted("text", answers_of_learners.translate))
    monkeypatch.setattr(learner_state, "learn_lesson", noted("lesson", learn_lesson))

    async def work(storage: Storage, shared: SharedByProjects) -> None:
        one = await created(storage, model)
        project = HostedProject(one, shared)
        long = asyncio.create_task(project.translate(1, TranslationCall([LONG])))
        try:
            assert await asyncio.to_thread(began.wait, 60)
            await append_events(storage, one, [Confirmed(*PAIRS[0])])
            others = [
                asyncio.create_task(call)
                for call in (project.translate(1, TranslationCall(ASKED[:1])), project.learn(2, proof=False))
            ]
            await asyncio.sleep(0)  # they wait for their turn
        finally:
            go_on.set()
        assert [one["state"] for one in await asyncio.gather(long, *others)] == [1, 1, 2]
        assert order[:2] == ["piece", "text"]
        assert order.index("lesson") < len(order) - 1
        assert order[-1] == "piece"

    run_engine(tmp_path, work)


@pytest.mark.parametrize(
    ("method", "text", "fields", "reason"),
    [
        ("nmt-el", "Save it. " * 1200, {}, "text has 10,800 characters; at most 10,000"),
        (LORA, "Save it. " * 1200, {"prefix": "Das"}, "text has 10,800 characters; at most 10,000"),
        (LORA, "{name} and " * 1200, {}, "placeholders or tags, or a message has .* at most 10,000"),
    ],
)
def test_what_cannot_be_cut_has_a_limit(
    tmp_path: Path, model: str, method: str, text: str, fields: dict[str, Any], reason: str
) -> None:
    async def work(storage: Storage, shared: SharedByProjects) -> None:
        project = HostedProject(await created(storage, model, method=method), shared)
        with pytest.raises(InputError, match=reason):
            await project.translate(1, TranslationCall([text], **fields))

    run_engine(tmp_path, work)


def test_the_base_model_translates_while_the_learner_is_free(
    tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()

    def slow_base(learner: Learner, call: TranslationCall, numbers: Any, visible: Any = None) -> Any:
        if numbers == ():
            assert go_on.wait(60)
        return answers_of_learners.translate(learner, call, numbers, visible)

    monkeypatch.setattr(hosted_project, "translate", slow_base)

    async def work(storage: Storage, shared: SharedByProjects) -> None:
        project = HostedProject(await created(storage, model), shared)
        base = asyncio.create_task(project.base_translations(1, TranslationCall(ASKED)))
        try:
            found = [await project.translate(1, TranslationCall([source])) for source in ASKED]
        finally:
            go_on.set()
        assert await base == [one["translations"][0]["translation"] for one in found]

    run_engine(tmp_path, work)


@pytest.mark.parametrize("method", ["memory", LORA])
def test_a_proof_shows_similar_sources_whose_translation_changed(tmp_path: Path, method: str) -> None:
    """The embedded model takes a word of the second correction over into the translation of the first source."""
    pairs = [
        ("Select a record.", "Wählen Sie einen Satz aus."),
        ("Delete a record.", "Löschen Sie einen Datensatz."),
        ("The weather is fine today.", "Heute ist schönes Wetter."),
    ]

    async def work(storage: Storage, shared: SharedByProjects) -> None:
        one = await created(storage, "en-de", method=method)
        project, changed = HostedProject(one, shared), list[Any]()
        for pair in pairs:
            (number,) = await append_events(storage, one, [Confirmed(*pair)]) or []
            changed.append((await project.learn(number, proof=True))["proof"]["changed"])
        (found,) = changed[1]
        assert found["source"] == "Select a record."
        assert "Datensatz" not in found["before"]
        assert "Datensatz" in found["after"]
        assert changed[0] == changed[2] == []

    run_engine(tmp_path, work)


def test_a_proof_without_a_memory_shows_similar_sources(tmp_path: Path) -> None:
    """Weights know no corrections, so the sources are those of the project that share most words."""
    pairs = [
        ("Close the window.", "Schließen Sie das Fenster."),
        ("Select a record.", "Wählen Sie einen Satz aus."),
        ("<b>Select</b> a record.", "<b>Wählen</b> Sie einen Satz aus."),
        ("Delete a record.", "Löschen Sie einen Datensatz."),
    ]

    async def work(storage: Storage, shared: SharedByProjects) -> None:
        settings = {"learning_rate": 0.05, "max_updates": 3}
        one = (await storage.projects.create("p", ("en", "de"), Configured("en-de", "lora", settings))).id
        project, changed = HostedProject(one, shared), list[Any]()
        for pair in pairs:
            syntax = "html" if "<" in pair[0] else "plain"
            (number,) = await append_events(storage, one, [Confirmed(*pair, syntax=syntax)]) or []
            changed.append((await project.learn(number, proof=True))["proof"]["changed"])
        assert changed[0] == []
        assert "Select a record." in [found["source"] for found in changed[3]]
        assert {found["source"] for found in changed[3]} <= {source for source, _ in pairs[:2]}
        assert all(found["before"] != found["after"] for found in changed[3])

    run_engine(tmp_path, work)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (PARTED[0][0], {2: PARTED[0][1].split()}),
        ("<i>Open the file.</i>", {2: ["Öffnen", "Sie", "die", "Datei."]}),
        ("<b>Click</b> Save &amp; close.", {3: ["Klicken", "Sie", "Speichern", "&", "schließen."]}),
        ("Close it now. Delete {n} rows.", {2: ["Schließen", "Sie", "sie."], 4: ["Zeilen", "löschen."]}),
    ],
)
def test_each_repeated_sentence_has_the_words_of_its_correction(
    tmp_path: Path, model: str, text: str, words: dict[int, list[str]]
) -> None:
    async def work(storage: Storage, shared: SharedByProjects) -> None:
        one = await created(storage, model)
        await append_events(storage, one, [Confirmed(*pair, syntax="html") for pair in PARTED])
        (answer,) = (await HostedProject(one, shared).translate(4, TranslationCall([text], "html")))["translations"]
        assert answer["repeated"]
        found = dict[int, list[str]]()
        for correction in answer["corrections"]:
            found.setdefault(correction["number"], []).extend(correction["words"])
        assert found == words

    run_engine(tmp_path, work)


def test_an_engine_counts_what_it_does(tmp_path: Path, model: str) -> None:
    async def work(storage: Storage, shared: SharedByProjects) -> None:
        projects, one = HostedProjects(shared, 1), await created(storage, model)
        await append_events(storage, one, [Confirmed(*pair) for pair in PAIRS[:3]])
        async with projects.use(one) as project:
            await project.learn(4, proof=False)
            await append_events(storage, one, [Undone(2)])
            await project.save(5)
        found = projects.figures()
        assert found["lesson_seconds"] > 0
        assert found["snapshot_bytes"] == shared.cache.bytes_ > 0
        counts = {name: found[name] for name in ("projects", "snapshots", "lessons", "loads", "rebuilds")}
        assert counts == {"projects": 1, "snapshots": 1, "lessons": 5, "loads": 2, "rebuilds": 1}

    run_engine(tmp_path, work, cache_bytes=1 << 24)


def test_a_snapshot_names_the_precision(tmp_path: Path, model: str) -> None:
    """In bfloat16 the last bits are others."""

    async def work(storage: Storage, shared: SharedByProjects) -> None:
        platforms = list[str]()
        for precision in ("float32", "bfloat16"):
            configured = Configured(model, "lora", {"precision": precision})
            one = (await storage.projects.create(precision, ("en", "de"), configured)).id
            await append_events(storage, one, [Confirmed(*PAIRS[0])])
            await HostedProject(one, shared).save(2)
            platforms += [info.platform for info in (await storage.projects.snapshots(one)).values()]
        assert platforms[1] == f"{platforms[0]} bfloat16"

    run_engine(tmp_path, work)
