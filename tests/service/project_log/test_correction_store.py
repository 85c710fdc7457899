"""The states of corrections in SQL are those of the event log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
import sqlalchemy as sa
from helpers.postgres import both_databases
from helpers.raw_events import append_events
from hypothesis import HealthCheck, given
from hypothesis import settings as run
from hypothesis import strategies as st

from mtloop.core.types import Proposal, Segment
from mtloop.service import Settings
from mtloop.service.audit.models import Actor
from mtloop.service.project_log import correction_store
from mtloop.service.project_log.correction_store import BY_REVIEWER, CorrectionFilter, EqualCorrection
from mtloop.service.project_log.event_log import (
    Configured,
    Confirmed,
    Event,
    EventLog,
    GlossaryChanged,
    Rated,
    Redone,
    Reviewed,
    Undone,
)
from mtloop.service.project_log.models import ProjectGone, Role, SnapshotInfo
from mtloop.service.project_log.tables import project_events, projects
from mtloop.service.storage import Storage

T = TypeVar("T")
ANY = CorrectionFilter()
CONFIGURED = Configured("m", "lora")
SOURCES = st.sampled_from(["Save", "Öffnen Sie 100%", "a_b"])
CONFIRMED = st.builds(
    Confirmed,
    source=SOURCES,
    translation=st.sampled_from(["Speichern", "Sichern"]),
    external_id=st.sampled_from(["", "one", "two"]),
    refused=st.just(""),
    waits=st.booleans(),
)
REFUSED = st.builds(Confirmed, source=SOURCES, translation=st.just("x"), refused=st.just("copied"))
OF = st.integers(2, 12)
EVENTS = st.lists(
    CONFIRMED
    | REFUSED
    | st.builds(Undone, OF)
    | st.builds(Redone, OF)
    | st.tuples(OF, st.booleans())
    | st.just(Rated(Proposal(Segment("", "x"), "y"), 0.5)),
    max_size=12,
)


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory, loop: asyncio.Runner) -> Iterator[Storage]:
    async def opened(folder: Path) -> Storage:
        made = Storage.connect(Settings(folder=folder).url)
        await made.migrate()
        return made

    made = loop.run(opened(tmp_path_factory.mktemp("data") / "service"))
    yield made
    loop.run(made.close())


def as_events(drawn: list[object]) -> list[Event]:
    """The drawn events. A review is about a confirmation that waits: no other can be reviewed."""
    events: list[Event] = []
    for one in drawn:
        if isinstance(one, tuple):
            of, accepted = one
            about = events[of - 2] if 2 <= of < len(events) + 2 else None
            if isinstance(about, Confirmed) and about.waits:
                events.append(Reviewed(of, accepted))
        else:
            events.append(one)  # type: ignore[arg-type]
    return events


def log_of(events: list[Event]) -> EventLog:
    log = EventLog()
    for number, event in enumerate([CONFIGURED, *events], start=1):
        log.append(number, event)
    return log


@run(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=EVENTS)
def test_states_follow_from_the_events(drawn: list[object], storage: Storage, loop: asyncio.Runner) -> None:
    loop.run(check_states(storage, as_events(drawn)))


async def check_states(storage: Storage, events: list[Event]) -> None:
    project = await storage.projects.create("p", ("en", "de"), CONFIGURED)
    try:
        if events:
            await append_events(storage, project.id, events)
        log = log_of(events)
        found = await storage.corrections.page(project.id, ANY, 100)
        assert {one.number: one.event for one in found} == {
            number: event for number, event in enumerate(events, start=2) if isinstance(event, Confirmed)
        }
        assert {one.number for one in found if one.state == "learned"} == {
            one.number for one in found if log.is_live(one.number)
        }
        counted = [one async for part in storage.corrections.counted(project.id) for one in part]
        confirmed = [lesson for lesson in log.lessons if isinstance(log.event(lesson.number), Confirmed)]
        assert [one.number for one in counted] == [lesson.number for lesson in confirmed]  # in the same order
        newest = await storage.corrections.newest_counted(project.id, 2)
        assert [one.number for one in newest] == sorted(one.number for one in counted)[-2:]
        await check_fork(storage, log)
    finally:
        await storage.projects.delete("p")


async def check_fork(storage: Storage, log: EventLog) -> None:
    """The copy has the same lessons in the same order, so the digests of its learner are equal."""
    old = await storage.projects.find("p")
    assert old is not None
    made = await storage.corrections.fork(old, "q", CONFIGURED, Actor("me", "api"), None)
    copied = EventLog()
    for number, event in await storage.projects.events_after(made.id, 0):
        copied.append(number, event)
    assert await storage.projects.snapshots(made.id) == await storage.projects.snapshots(old.id)
    assert copied.glossary == log.glossary
    await storage.projects.delete("q")
    assert copied.number == made.number
    assert copied.digest == log.digest


@both_databases
def test_others_confirm_while_a_project_is_copied(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(correction_store, "ROWS_PER_COPY", 20)

    async def work(storage: Storage, other: int) -> int:
        """Copy a project, and confirm in another one meanwhile. Return how often."""
        old = await storage.projects.create("large", ("en", "de"), CONFIGURED)
        await append_events(storage, old.id, [Confirmed(f"Drawer {n}", f"Schublade {n}") for n in range(300)])
        copying = asyncio.create_task(storage.corrections.fork(old, "q", CONFIGURED, Actor("me", "api"), None))
        count = 0
        while not copying.done():
            shown = {one.name: one.number for one, _ in await storage.projects.list_for(None)}
            assert shown.keys() >= {"large", "p"}
            assert shown.keys() == {"large", "p"} or shown["q"] == 301  # never a part of the copy
            await storage.corrections.add(other, Confirmed(f"Save {count}", f"Speichern {count}"), None)
            count += not copying.done()
        made = await copying
        assert (made.name, made.number) == ("q", 301)
        assert await storage.projects.find("q") == made
        return count

    assert in_project(settings, work) >= 5


@both_databases
def test_a_copy_that_is_given_up_leaves_nothing(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(correction_store, "ROWS_PER_COPY", 2)

    async def work(storage: Storage, project: int) -> None:
        await append_events(storage, project, [Confirmed(f"Drawer {n}", f"Schublade {n}") for n in range(5)])
        old = await storage.projects.find("p")
        assert old is not None
        begun, by = asyncio.Event(), Actor("me", "api")

        async def wait(*_: Any) -> None:
            begun.set()
            await asyncio.sleep(60)

        async def delete(*_: Any) -> int:
            await storage.projects.delete("p")
            return 0

        async def left() -> int:
            query = sa.select(sa.func.count()).select_from(project_events).where(project_events.c.project_id != old.id)
            assert await storage.database.rows(sa.select(projects.c.id).where(projects.c.id != old.id)) == []
            return int((await storage.database.rows(query))[0][0])

        with monkeypatch.context() as slow:
            slow.setattr(storage.corrections, "_reveal", wait)
            copying = asyncio.create_task(storage.corrections.fork(old, "q", CONFIGURED, by, None))
            await begun.wait()
            copying.cancel()
            with pytest.raises(asyncio.CancelledError):
                await copying
        assert await left() == 0
        monkeypatch.setattr(storage.corrections, "_copy_glossary", delete)
        for _ in range(2):  # it is deleted during the copy, and before it
            with pytest.raises(ProjectGone):
                await storage.corrections.fork(old, "q", CONFIGURED, by, None)
            assert await left() == 0

    in_project(settings, work)


@both_databases
def test_a_killed_copy_blocks_no_name_and_is_deleted_later(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        """The process ends here: nothing is tidied up."""

    async def work(storage: Storage, project: int) -> list[str]:
        store, by = storage.corrections, Actor("me", "api")
        await append_events(storage, project, [Confirmed(f"Drawer {n}", f"Schublade {n}") for n in range(9)])
        old = await storage.projects.find("p")
        assert old is not None

        async def die(*_: Any) -> None:
            raise Killed

        async def names() -> list[str]:
            return [row.name for row in await storage.database.rows(sa.select(projects.c.name))]

        with monkeypatch.context() as killed:
            killed.setattr(store, "_reveal", die)
            killed.setattr(store, "_discard", die)
            with pytest.raises(Killed):
                await store.fork(old, "q", CONFIGURED, by, None)
        assert len(await names()) == 2
        assert [one.name for one, _ in await storage.projects.list_for(None)] == ["p"]
        await store.fork(old, "q", CONFIGURED, by, None)
        assert len(await names()) == 3  # the other one may still be at work
        monkeypatch.setattr(correction_store, "STALE_SECONDS", 0)
        await store.fork(old, "r", CONFIGURED, by, None)
        return sorted(await names())

    assert in_project(settings, work) == ["p", "q", "r"]


@both_databases
def test_states_one_by_one(settings: Settings) -> None:
    events: list[Event] = [
        GlossaryChanged({"file": "Datei"}),
        Confirmed("Save", "Save", refused="copied"),  # 3
        Confirmed("Save", "Speichern", waits=True),  # 4
        Confirmed("Open", "Öffnen", waits=True),  # 5
        Reviewed(5, False),
        Confirmed("Close", "Schließen"),  # 7
        Undone(7),
        Confirmed("Print", "Drucken", external_id="1"),  # 9
        Confirmed("Print", "Ausdrucken", external_id="1"),  # 10
    ]

    async def states() -> dict[int, tuple[str, str]]:
        storage = Storage.connect(settings.url)
        await storage.migrate()
        project = await storage.projects.create("p", ("en", "de"), CONFIGURED)
        await append_events(storage, project.id, events)
        found = await storage.corrections.page(project.id, ANY, 100)
        counts = await storage.corrections.state_counts(project.id, 3, 9)
        assert counts == {"refused": 2, "waiting": 1, "undone": 1, "replaced": 1}
        assert await storage.corrections.stored_results(project.id, 3, 10) == 0
        await storage.projects.set_learned(project.id, {9: {"updates": 1}})
        assert await storage.corrections.stored_results(project.id, 3, 10) == 1
        await storage.projects.write_snapshot(project.id, "d", SnapshotInfo(1, "here"), b"x")
        await check_fork(storage, log_of(events))
        await storage.close()
        return {one.number: (one.state, one.refused) for one in found}

    assert asyncio.run(states()) == {
        3: ("refused", "copied"),
        4: ("waiting", ""),
        5: ("refused", "a reviewer refused it"),
        7: ("undone", ""),
        9: ("replaced", ""),
        10: ("learned", ""),
    }


@both_databases
def test_search_and_state_on_both_databases(settings: Settings) -> None:
    events: list[Event] = [
        Confirmed("Open it", "ÖFFNEN 100% _x_", external_id="1"),
        Confirmed("Open it", "Öffnen"),
        Confirmed("Save", "Speichern", waits=True),
        Reviewed(4, True),
        Confirmed("Open it", "öffnen", external_id="1"),
        Undone(3),
    ]

    async def search() -> list[list[int]]:
        storage = Storage.connect(settings.url)
        await storage.migrate()
        project = await storage.projects.create("p", ("en", "de"), CONFIGURED)
        await append_events(storage, project.id, events)
        filters = [
            CorrectionFilter("öffnen"),
            CorrectionFilter("100% _X"),
            CorrectionFilter("save"),
            CorrectionFilter("%"),
            CorrectionFilter("/"),
            CorrectionFilter(state="undone"),
            CorrectionFilter(state="replaced"),
            CorrectionFilter(state="learned", after=6),
            CorrectionFilter(external_id="1"),
        ]
        found = [await storage.corrections.page(project.id, one, 10) for one in filters]
        await storage.close()
        return [[one.number for one in part] for part in found]

    # A PostgreSQL with the locale C, as that of the tests, knows the case of A to Z only.
    by_case = [6] if settings.database else [6, 3, 2]
    assert asyncio.run(search()) == [by_case, [2], [4], [2], [], [3], [2], [4], [6, 2]]


@both_databases
def test_equal_confirmations_are_added_once(settings: Settings) -> None:
    first = [Confirmed("Save", "Speichern"), Confirmed("Open", "Öffnen"), Confirmed("Save", "Speichern")]

    async def add() -> list[list[int] | None]:
        storage = Storage.connect(settings.url)
        await storage.migrate()
        project = await storage.projects.create("p", ("en", "de"), CONFIGURED)

        async def new(events: list[Confirmed], project_id: int = project.id) -> list[int] | None:
            found = await storage.corrections.add_new(project_id, events, None)
            return None if found is None else list(found)

        added = [await new(first), await new([*first, Confirmed("Save", "Sichern")])]
        await append_events(storage, project.id, [Undone(3)])
        added += [await new([Confirmed("Open", "Öffnen")]), await new(first, project.id + 1)]
        await storage.corrections.set_base_translations(project, {2: "a", 3: "b"})
        kept = await storage.corrections.one(project.id, 3)
        assert kept is not None
        assert kept.base_translation == "b"
        await storage.close()
        return added

    assert asyncio.run(add()) == [[2, 3], [4], [6], None]


@both_databases
def test_an_equal_confirmation_has_the_state_of_the_first(settings: Settings) -> None:
    waiting, plain = Confirmed("Save", "Speichern", waits=True), Confirmed("Save", "Speichern")

    async def work(storage: Storage, project: int) -> list[tuple[int, bool, str, str]]:
        seen = []

        async def add(event: Confirmed) -> None:
            added = await storage.corrections.add(project, event, None)
            assert added is not None
            one = added.correction
            seen.append((one.number, added.is_new, one.state, one.refused))

        await add(waiting)
        await add(waiting)
        await storage.corrections.add_about(project, Reviewed(2, False), None)
        await add(waiting)
        await add(plain)  # a reviewer's refusal holds
        await storage.corrections.add_about(project, Reviewed(2, True), None)
        await add(waiting)
        await storage.projects.set_learned(project, {2: {"updates": 0, "rejected": "improbable"}})
        await add(plain)
        other = Confirmed("Open", "Öffnen", waits=True)
        await add(other)
        await add(replace(other, waits=False))  # reviews are over
        await add(Confirmed("Open", "Aufmachen"))
        await storage.corrections.add_about(project, Undone(7), None)
        await add(Confirmed("Open", "Open", refused="copied"))
        await add(replace(other, waits=False))  # what was undone or refused is not in between
        return seen

    assert in_project(settings, work) == [
        (2, True, "waiting", ""),
        (2, False, "waiting", ""),
        (2, False, "refused", BY_REVIEWER),
        (2, False, "refused", BY_REVIEWER),
        (2, False, "learned", ""),
        (2, False, "rejected", ""),
        (5, True, "waiting", ""),
        (6, True, "learned", ""),
        (7, True, "learned", ""),
        (9, True, "refused", "copied"),
        (6, False, "learned", ""),
    ]


@both_databases
def test_equal_corrections_do_not_count_beside_each_other(settings: Settings) -> None:
    save, keep = Confirmed("Save", "Speichern"), Confirmed("Save", "Sichern")

    async def work(storage: Storage, project: int) -> None:
        store = storage.corrections

        async def refused(event: Redone | Reviewed) -> bool:
            before = await storage.projects.last_numbers([project])
            try:
                await store.add_about(project, event, None)
            except EqualCorrection:
                assert await storage.projects.last_numbers([project]) == before
                return True
            return False

        await append_events(storage, project, [save, Undone(2), save])  # 2, 3, 4
        assert await refused(Redone(2))
        await store.add_about(project, Undone(4), None)
        assert not await refused(Redone(2))
        assert not await refused(Redone(2))  # it counts already: a repeated request does no harm
        assert await refused(Redone(4))  # now the later one is too much
        await append_events(storage, project, [keep, save])  # 7, 8
        await store.add_about(project, Undone(8), None)
        assert not await refused(Redone(8))  # something else was confirmed in between
        await append_events(storage, project, [replace(save, waits=True)])  # 11
        assert await refused(Reviewed(11, True))
        assert not await refused(Reviewed(11, False))
        live = [one.number async for part in store.counted(project) for one in part]
        assert live == [2, 7, 8]

    in_project(settings, work)


@both_databases
def test_a_translation_is_confirmed_again_after_another_one_in_another_document(settings: Settings) -> None:
    save, keep = Confirmed("Save", "Speichern"), Confirmed("Save", "Sichern", document="memory/1")

    async def work(storage: Storage, project: int) -> None:
        store = storage.corrections

        async def add(event: Confirmed) -> tuple[int, bool]:
            found = await store.add(project, event, None)
            assert found is not None
            return found.correction.number, found.is_new

        assert [await add(one) for one in (save, save, keep)] == [(2, True), (2, False), (3, True)]
        assert await store.add_new(project, [save, keep], None) == {}  # a file that is imported again
        assert [await add(one) for one in (save, save)] == [(4, True), (4, False)]
        assert [await add(replace(save, document="memory/2"))] == [(5, True)]
        assert [await add(save)] == [(4, False)]  # nobody said anything else meanwhile
        await store.add_about(project, Undone(4), None)
        await store.add_about(project, Redone(4), None)  # not just after its equal
        live = [one.number async for part in store.counted(project) for one in part]
        assert live == [2, 3, 4, 5]
        for number in (3, 4):
            await store.add_about(project, Undone(number), None)
        assert [await add(save)] == [(2, False)]  # what was undone says nothing
        with pytest.raises(EqualCorrection):
            await store.add_about(project, Redone(4), None)

    in_project(settings, work)


@both_databases
def test_a_review_lets_an_earlier_confirmation_count_later(settings: Settings) -> None:
    save, keep = Confirmed("Save", "Speichern"), Confirmed("Save", "Sichern", document="memory/1", waits=True)

    async def work(storage: Storage, project: int) -> None:
        store, new = storage.corrections, []
        await append_events(storage, project, [keep, save])  # 2, 3
        for review in (None, Reviewed(2, True)):
            if review is not None:
                await store.add_about(project, review, None)
            found = await store.add(project, save, None)
            assert found is not None
            new.append(found.is_new)
        assert new == [False, True]

    in_project(settings, work)


def test_segments_with_external_ids_do_not_contradict_each_other(settings: Settings) -> None:
    one, two = Confirmed("Save", "Speichern", external_id="1"), Confirmed("Save", "Sichern", external_id="2")

    async def work(storage: Storage, project: int) -> list[bool]:
        found = [await storage.corrections.add(project, event, None) for event in (one, two, one, two)]
        return [added is not None and added.is_new for added in found]

    assert in_project(settings, work) == [True, True, False, False]


def in_project(settings: Settings, work: Callable[[Storage, int], Coroutine[Any, Any, T]]) -> T:
    """The result of work on the database with a new project."""

    async def done() -> T:
        storage = Storage.connect(settings.url)
        await storage.migrate()
        try:
            project = await storage.projects.create("p", ("en", "de"), CONFIGURED)
            return await work(storage, project.id)
        finally:
            await storage.close()

    return asyncio.run(done())


@both_databases
def test_what_the_learner_rejected(settings: Settings) -> None:
    async def work(storage: Storage, project: int) -> None:
        store = storage.corrections
        events: list[Event] = [
            Confirmed("Save", "Speichern"),
            Confirmed("Open", "Öffnen"),
            Confirmed("Close", "Schließen"),
            Undone(4),
        ]
        await append_events(storage, project, events)
        rejected = {"updates": 0, "rejected": "improbable", "info": {}}
        await storage.projects.set_learned(project, {2: rejected | {"rejected": None}, 3: rejected, 4: rejected})
        found = {one.number: (one.state, one.rejected) for one in await store.page(project, ANY, 10)}
        assert found == {2: ("learned", None), 3: ("rejected", "improbable"), 4: ("undone", None)}
        chosen = await store.page(project, CorrectionFilter(state="rejected"), 10)
        assert [one.number for one in chosen] == [3]
        assert await store.state_counts(project, 1, 9) == {"learned": 1, "rejected": 1, "undone": 1}
        assert [one.number async for part in store.counted(project) for one in part] == [2, 3]
        old = await storage.projects.find("p")
        assert old is not None
        made = await store.fork(old, "q", CONFIGURED, Actor("me", "api"), None)
        assert [one.state for one in await store.page(made.id, ANY, 10)] == ["rejected", "learned"]

    in_project(settings, work)


@both_databases
def test_what_is_added_to_a_deleted_project(settings: Settings) -> None:
    async def work(storage: Storage, project: int) -> None:
        found = await storage.projects.find("p")
        assert found is not None
        proposal = Proposal(Segment("", "x"), "y")
        (token,) = await storage.projects.add_proposals(project, [proposal])
        await storage.projects.delete("p")
        await storage.accounts.add_participant("ann", "0" * 64, False, None)
        with pytest.raises(ProjectGone):
            await storage.projects.add_proposals(project, [proposal])
        with pytest.raises(ProjectGone):
            await storage.projects.set_member(found, "ann", Role.CONFIRM, Actor("me", "api"))
        assert await storage.corrections.add(project, Confirmed("a", "b"), None) is None
        assert await storage.corrections.add_about(project, Undone(2), None) is None
        assert await append_events(storage, project, [Undone(2)]) is None
        assert await storage.projects.append_rating(project, Rated(proposal, 0.5, token), None) is None
        await storage.projects.set_learned(project, {2: {}})
        await storage.projects.write_snapshot(project, "d", SnapshotInfo(1, "here"), b"x")
        await storage.corrections.set_base_translations(found, {2: "x"})

    in_project(settings, work)


@pytest.mark.parametrize("settings", ["postgresql"], indirect=True)
def test_ratings_and_a_deletion_do_not_block_each_other(settings: Settings) -> None:
    """The rating waits for the deletion, which holds the project. It holds nothing that the deletion needs."""

    async def work(storage: Storage, project: int) -> None:
        proposal = Proposal(Segment("", "x"), "y")
        (token,) = await storage.projects.add_proposals(project, [proposal])
        async with storage.database.writing() as connection:
            locked = sa.select(projects.c.id).where(projects.c.id == project).with_for_update()
            await connection.execute(locked)
            rating = asyncio.create_task(storage.projects.append_rating(project, Rated(proposal, 1.0, token), None))
            await asyncio.sleep(0.5)
            await connection.execute(sa.delete(projects).where(projects.c.id == project))
        assert await rating is None

    in_project(settings, work)


@both_databases
def test_a_proposal_is_rated_again_after_an_undo(settings: Settings) -> None:
    """One rating of a proposal counts, whatever was taken back."""

    async def work(storage: Storage, project: int) -> None:
        proposal, about = Proposal(Segment("", "x"), "y", memo={"tokens": [1]}), storage.corrections.add_about
        (token,) = await storage.projects.add_proposals(project, [proposal])

        async def rate(*values: float) -> list[int | None]:
            asked = [Rated(Proposal(Segment("", ""), ""), value, token) for value in values]
            return [await storage.projects.append_rating(project, one, None) for one in asked]

        assert await rate(0.5, 0.5, 1.0) == [2, 2, None]
        assert await about(project, Undone(2), None) == 3
        assert await rate(0.5, 0.5, 1.0) == [4, 4, None]
        with pytest.raises(EqualCorrection):
            await about(project, Redone(2), None)
        assert await about(project, Undone(4), None) == 5
        assert await rate(1.0, 0.5) == [6, None]  # another value
        assert await about(project, Undone(6), None) == 7
        assert await about(project, Redone(2), None) == 8
        with pytest.raises(EqualCorrection):
            await about(project, Redone(6), None)
        assert await rate(0.5, 1.0) == [2, None]
        events = dict(await storage.projects.events_after(project, 1))
        assert events == {
            2: Rated(proposal, 0.5, token),
            3: Undone(2),
            4: Rated(proposal, 0.5, token),
            5: Undone(4),
            6: Rated(proposal, 1.0, token),
            7: Undone(6),
            8: Redone(2),
        }
        assert [lesson.number for lesson in log_of(list(events.values())).lessons] == [2]

    in_project(settings, work)


@both_databases
def test_an_event_that_changes_nothing_is_not_stored(settings: Settings) -> None:
    async def work(storage: Storage, project: int) -> None:
        store = storage.corrections

        async def added(event: Undone | Redone | Reviewed) -> tuple[int | None, int]:
            """The number of the answer, and that of the newest event."""
            return await store.add_about(project, event, None), (await storage.projects.last_numbers([project]))[
                project
            ]

        await append_events(
            storage, project, [Confirmed("Save", "Sichern"), Confirmed("Go", "Los", waits=True)]
        )  # 2, 3
        assert await added(Redone(2)) == (2, 3)  # nobody took it back
        assert [await added(Undone(2)) for _ in range(2)] == [(4, 4), (4, 4)]
        assert [await added(Redone(2)) for _ in range(2)] == [(5, 5), (5, 5)]
        assert [await added(Reviewed(3, True)) for _ in range(2)] == [(6, 6), (6, 6)]
        assert [await added(Reviewed(3, False)) for _ in range(2)] == [(7, 7), (7, 7)]
        assert await added(Undone(2)) == (8, 8)
        assert await store.undo_many(project, [2, 3], None) == 9  # one of them was undone
        assert await store.undo_many(project, [2, 3], None) == 9

    in_project(settings, work)
