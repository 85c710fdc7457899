"""Undo and replacement: the memory forgets at once, and then the project is one that never had the correction."""

from __future__ import annotations

import asyncio
import io
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.few_threads import few_threads
from helpers.raw_events import append_events
from helpers.tiny_marian import demo_pairs, write_tiny

from mtloop.core.protocols import Learner
from mtloop.core.types import Learned, Proposal, Segment
from mtloop.nmt.delta import Delta
from mtloop.service import Settings
from mtloop.service.engines import learner_state
from mtloop.service.engines.answers_of_learners import TranslationCall
from mtloop.service.engines.base_models import BaseModels
from mtloop.service.engines.engine_threads import EngineThreads
from mtloop.service.engines.hosted_project import HostedProject, SharedByProjects
from mtloop.service.engines.hosted_projects import HostedProjects
from mtloop.service.engines.learner_state import learn_lesson
from mtloop.service.engines.snapshots import SnapshotCache
from mtloop.service.project_log.event_log import Configured, Confirmed, Event, LoggedLesson, Rated, Redone, Undone
from mtloop.service.storage import Storage

PAIRS = list(demo_pairs())[:60]
METHOD = "lora+memory+copy"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("tiny")
    write_tiny(folder)
    return str(folder)


@pytest.fixture(scope="module")
def models() -> BaseModels:
    return BaseModels()


@pytest.fixture
def threads() -> Iterator[EngineThreads]:
    with few_threads(4) as pool:
        yield pool


class Place:
    """A database and an engine in this process."""

    def __init__(self, storage: Storage, shared: SharedByProjects, model: str) -> None:
        self.storage, self.shared, self.model = storage, shared, model

    async def project(self, name: str, *events: Event, method: str = METHOD) -> tuple[int, HostedProject]:
        made = await self.storage.projects.create(name, ("en", "de"), Configured(self.model, method))
        if events:
            await append_events(self.storage, made.id, events)
        return made.id, HostedProject(made.id, self.shared)

    async def add(self, project_id: int, *events: Event) -> int:
        numbers = await append_events(self.storage, project_id, events)
        assert numbers
        return numbers[-1]

    async def rate(self, project_id: int, project: HostedProject, number: int, source: str, value: float) -> int:
        """Translate a source, rate its translation, and return the number of the rating."""
        answer = await project.translate(number, TranslationCall([source]))
        token = answer["translations"][0]["proposal"]
        rated = Rated(Proposal(Segment("", ""), ""), value, token)
        return await self.storage.projects.append_rating(project_id, rated, None) or 0


async def in_place(work: Any, folder: Path, model: str, models: BaseModels, threads: EngineThreads) -> None:
    storage = Storage.connect(Settings(folder=folder / "data").url)
    await storage.migrate()
    try:
        shared = SharedByProjects(storage.projects, models, SnapshotCache(1 << 26), threads)
        await work(Place(storage, shared, model))
    finally:
        await storage.close()


async def saved(place: Place, project_id: int, digest: str) -> dict[str, Any]:
    """What a snapshot holds: the bytes of every tensor, and the counters."""
    data = await place.storage.projects.read_snapshot(project_id, digest)
    assert data is not None
    with zipfile.ZipFile(io.BytesIO(data)) as archive, tempfile.TemporaryDirectory() as folder:
        archive.extractall(folder)
        delta = Delta.read(Path(folder) / "delta.safetensors")
    return {"counters": delta.counters} | {name: one.numpy().tobytes() for name, one in delta.tensors.items()}


def confirmations(pairs: list[tuple[str, str]]) -> list[Confirmed]:
    return [Confirmed(source, target) for source, target in pairs]


async def text(project: HostedProject, number: int, source: str) -> tuple[str, bool]:
    found = await project.translate(number, TranslationCall([source]))
    return found["translations"][0]["translation"], found["rebuilding"]


@pytest.mark.slow
def test_undo_from_the_middle_equals_a_project_that_never_had_it(
    tmp_path: Path, model: str, models: BaseModels, threads: EngineThreads
) -> None:
    async def work(place: Place) -> None:
        number, project = await place.project("one", *confirmations(PAIRS))
        await project.learn(len(PAIRS) + 1, proof=False)
        undone = 20 + 2  # the event of the 21st correction: the first event is the settings
        last = await place.add(number, Undone(undone))
        source, target = PAIRS[20]
        at_once, rebuilding = await text(project, last, source)
        assert rebuilding
        assert at_once != target  # the memory has forgotten it already
        others = [await text(project, last, other) for other, _ in PAIRS[:3]]
        assert [one for one, _ in others] == [expected for _, expected in PAIRS[:3]]  # and goes on translating
        state = await project.save(last)
        never_id, never = await place.project("never", *confirmations(PAIRS[:20] + PAIRS[21:]))
        never_state = await never.save(len(PAIRS))
        assert state["digest"] == never_state["digest"]
        assert await saved(place, number, state["digest"]) == await saved(place, never_id, state["digest"])  # every bit
        again = await place.add(number, Redone(undone))
        assert (await text(project, again, "x"))[1]
        assert (await project.learn(again, proof=False))["state"] == again
        assert await text(project, again, source) == (target, False)

    asyncio.run(in_place(work, tmp_path, model, models, threads))


def test_what_is_confirmed_during_a_rebuild_is_known_at_once(
    tmp_path: Path, model: str, models: BaseModels, threads: EngineThreads
) -> None:
    async def work(place: Place) -> None:
        source, target = PAIRS[0]
        first = Confirmed(source, "Falsch.", external_id="7")
        number, project = await place.project("one", first, *confirmations(PAIRS[1:6]))
        assert await text(project, 7, source) == ("Falsch.", False)
        last = await place.add(number, Confirmed(source, target, external_id="7"))
        assert await text(project, last, source) == (target, True)
        await project.learn(last, proof=False)
        assert await text(project, last, source) == (target, False)
        state = await project.save(last)
        _, never = await place.project("never", *confirmations(PAIRS[1:6]), Confirmed(source, target, external_id="7"))
        assert state["digest"] == (await never.save(7))["digest"]

    asyncio.run(in_place(work, tmp_path, model, models, threads))


def test_an_undo_begins_at_the_last_snapshot_before_it(
    tmp_path: Path, model: str, models: BaseModels, threads: EngineThreads
) -> None:
    """Of sixty lessons, the 42nd is undone. Snapshots know 25 and 50 of them."""

    async def work(place: Place) -> None:
        number, project = await place.project("one", *confirmations(PAIRS), method="memory")
        await project.save(len(PAIRS) + 1)
        counts = sorted(one.lessons for one in (await place.storage.projects.snapshots(number)).values())
        assert counts == [25, 50, 60]
        before = place.shared.figures.lessons
        last = await place.add(number, Undone(42 + 1))
        assert (await project.save(last))["lessons"] == len(PAIRS) - 1
        assert place.shared.figures.lessons - before == len(PAIRS) - 1 - 25

    asyncio.run(in_place(work, tmp_path, model, models, threads))


def test_an_undo_neither_stops_nor_changes_another_project(
    tmp_path: Path, model: str, models: BaseModels, threads: EngineThreads, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have the same sources. While one is rebuilt, the other translates, learns, and undoes."""
    rebuilds, go_on = threading.Event(), threading.Event()

    def learn(learner: Learner, lesson: LoggedLesson) -> Learned:
        if rebuilds.is_set() and lesson.proposal.segment.context.get("document") == "one":
            assert go_on.wait(60)
        return learn_lesson(learner, lesson)

    monkeypatch.setattr(learner_state, "learn_lesson", learn)
    own = [Confirmed(source, target, document="one") for source, target in PAIRS[:6]]
    others = [Confirmed(source, f"{target} Anders.") for source, target in PAIRS[:6]]

    async def work(place: Place) -> None:
        one_id, one = await place.project("one", *own)
        other_id, other = await place.project("other", *others[:5])
        await one.learn(7, proof=False)
        await other.learn(6, proof=False)
        rebuilds.set()
        try:
            undone = await place.add(one_id, Undone(3))
            assert (await text(one, undone, PAIRS[0][0])) == (own[0].translation, True)
            for confirmed in others[:5]:
                assert await text(other, 6, confirmed.source) == (confirmed.translation, False)
            await place.add(other_id, others[5])
            assert (await other.learn(7, proof=True))["learned"]["rejected"] is None
            last = await place.add(other_id, Undone(2))
            state = await other.save(last)
            assert (await text(one, undone, PAIRS[0][0]))[1], "the first one is still being rebuilt"
        finally:
            go_on.set()
        never_id, never = await place.project("never", *others[1:])
        assert state["digest"] == (await never.save(6))["digest"]
        assert await saved(place, other_id, state["digest"]) == await saved(place, never_id, state["digest"])
        state = await one.save(undone)
        never_id, never = await place.project("never one", own[0], *own[2:])
        assert state["digest"] == (await never.save(6))["digest"]
        assert await saved(place, one_id, state["digest"]) == await saved(place, never_id, state["digest"])

    asyncio.run(in_place(work, tmp_path, model, models, threads))


def test_a_replaced_correction_is_forgotten(
    tmp_path: Path, model: str, models: BaseModels, threads: EngineThreads
) -> None:
    async def work(place: Place) -> None:
        source, target = PAIRS[0]
        number, project = await place.project(
            "one", Confirmed(source, "Falsch.", external_id="7"), *confirmations(PAIRS[1:4])
        )
        assert (await text(project, 5, source))[0] == "Falsch."
        last = await place.add(number, Confirmed(source, target, external_id="7"))
        stored = await project.learn(last, proof=True, wait=False)
        assert (stored["learned"], stored["rebuilding"]) == (None, True)
        assert (await project.learn(last, proof=True))["learned"]["rejected"] is None
        assert await text(project, last, source) == (target, False)
        _, never = await place.project("never", *confirmations(PAIRS[1:4]), Confirmed(source, target, external_id="7"))
        assert (await project.save(last))["digest"] == (await never.save(5))["digest"]

    asyncio.run(in_place(work, tmp_path, model, models, threads))


@pytest.mark.slow
def test_projects_do_not_know_each_others_corrections(
    tmp_path: Path, model: str, models: BaseModels, threads: EngineThreads
) -> None:
    """Many at once, in threads, with fewer learners in memory than projects."""

    async def work(place: Place) -> None:
        hosted = HostedProjects(place.shared, max_learners=2)
        made = [await place.project(f"p{index}", *confirmations(PAIRS[index::6])) for index in range(6)]

        async def served(project_id: int) -> list[str]:
            async with hosted.use(project_id) as project:
                return [(await text(project, 11, source))[0] for source, _ in PAIRS[:12]]

        results = await asyncio.gather(*(served(project_id) for project_id, _ in made))
        again = [await served(project_id) for project_id, _ in made]  # one after the other, from snapshots
        assert results == again
        for index, texts in enumerate(results):
            learner = models.maker(Configured(model, METHOD)).make()
            for event in confirmations(PAIRS[index::6]):
                learner.learn(*event.lesson())
            alone = [learner.propose(Segment("", source, {"syntax": "plain"})).text for source, _ in PAIRS[:12]]
            assert texts == alone
        await hosted.close()

    asyncio.run(in_place(work, tmp_path, model, models, threads))


@pytest.mark.parametrize("change", [Undone(2), Configured("", "nmt-el", {"seed": 7})])
def test_later_ratings_stay_learned(
    tmp_path: Path, model: str, models: BaseModels, threads: EngineThreads, change: Event
) -> None:
    """Also if an earlier one is undone, and if the draws of today have another seed."""

    async def work(place: Place) -> None:
        number, project = await place.project("one", method="nmt-el")
        last = 1
        for source, _ in PAIRS[:4]:
            last = await place.rate(number, project, last, source, 1.0)
        assert [(await project.learn(one, proof=False))["learned"]["updates"] for one in range(2, 6)] == [1] * 4
        last = await place.add(number, replace(change, model=model) if isinstance(change, Configured) else change)
        state = await project.save(last)
        expected = 3 if isinstance(change, Undone) else 4
        assert state["lessons"] == (await saved(place, number, state["digest"]))["counters"]["updates"] == expected
        results = [await place.storage.projects.learned(number, one) or {} for one in range(3, 6)]
        assert [one["rejected"] for one in results] == [None] * 3

    asyncio.run(in_place(work, tmp_path, model, models, threads))


def test_a_rating_after_an_undo_is_learned_once(
    tmp_path: Path, model: str, models: BaseModels, threads: EngineThreads
) -> None:
    async def work(place: Place) -> None:
        number, project = await place.project("one", method="nmt-el")
        store, (source, _) = place.storage.projects, PAIRS[0]
        first = await place.rate(number, project, 1, source, 1.0)
        rated = (await store.events_after(number, 1))[0][1]
        assert isinstance(rated, Rated)
        undone = await place.add(number, Undone(first))
        assert (await project.save(undone))["lessons"] == 0
        again = await store.append_rating(number, rated, None)
        assert again == undone + 1
        assert (await project.learn(again, proof=False))["learned"]["updates"] == 1
        state = await project.save(again)
        never_id, never = await place.project("never", rated, method="nmt-el")
        assert state["digest"] == (await never.save(2))["digest"]
        assert await saved(place, number, state["digest"]) == await saved(place, never_id, state["digest"])

    asyncio.run(in_place(work, tmp_path, model, models, threads))


def test_ratings_do_not_shift_the_numbers_of_corrections(
    tmp_path: Path, model: str, models: BaseModels, threads: EngineThreads
) -> None:
    """A project that was rated gets another method: its learner counts corrections only."""

    async def work(place: Place) -> None:
        number, project = await place.project("one", method="nmt-el")
        last = 1
        for source, _ in PAIRS[:3]:
            last = await place.rate(number, project, last, source, 1.0)
        (first, _), (second, _) = PAIRS[3:5]
        events = Confirmed(*PAIRS[3], document="a"), Confirmed(*PAIRS[4], document="b")
        last = await place.add(number, Configured(model, METHOD), *events)  # events 5, 6 and 7
        await project.save(last)
        assert [await used(project, last, source) for source in (first, second)] == [(True, 6), (True, 7)]
        assert not (await used(project, last, second, ["a"]))[0]
        assert await used(project, last, second, ["b"]) == (True, 7)
        last = await place.add(number, Undone(2))  # a rating: the memory keeps all
        assert [(await used(project, last, source))[0] for source in (first, second)] == [True, True]
        await project.save(last)
        last = await place.add(number, Undone(6))
        assert [(await used(project, last, source))[0] for source in (first, second)] == [False, True]
        await project.save(last)
        assert [(await used(project, last, source))[0] for source in (first, second)] == [False, True]

    asyncio.run(in_place(work, tmp_path, model, models, threads))


async def used(
    project: HostedProject, number: int, source: str, documents: list[str] | None = None
) -> tuple[bool, int | None]:
    """Whether a translation repeats a correction, and the number of the one with the same source."""
    found = await project.translate(number, TranslationCall([source], documents=documents))
    translation = found["translations"][0]
    exact = [one["number"] for one in translation["corrections"] if one["source"] == source]
    return translation["repeated"], exact[0] if exact else None
