"""Several workers at one database, and what one of them remembers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, TypeVar

from helpers.shared_task import REFERENCES, SOURCES, Hall, pending, start, submit, write_data

from mtloop.service import Settings
from mtloop.service.accounts.keys import hash_key
from mtloop.service.problems import WRONG_ORDER
from mtloop.service.tasks.creation import TaskFile, create_task
from mtloop.service.tasks.models import RunProgress, TaskSentence
from mtloop.service.tasks.store import Store
from mtloop.service.tasks.submissions import Asked, Given, HandedIn, SubmissionResult, Submissions

T = TypeVar("T")
TIMES = 40


def expect(kind: type[T], found: object) -> T:
    assert isinstance(found, kind), found
    return found


class Office:
    """Two workers and a run of a task."""

    def __init__(self, first: Store, second: Store) -> None:
        self.stores, self.desks = (first, second), (Submissions(first), Submissions(second))

    async def open(self, folder: Path) -> None:
        first = self.stores[0]
        await first.migrate()
        participant = await first.add_participant("me", hash_key("secret"))
        await create_task(first, TaskFile("tiny", kind="mock", **write_data(folder, SOURCES * 3, REFERENCES * 3)))
        task = await first.task("tiny")
        assert task is not None
        run, known = await first.add_run(task, participant, ""), await first.participant(hash_key("secret"))
        assert run is not None
        assert known is not None
        self.run, self.asked = run, Asked(run, task, known[1])

    async def handed(self, translation: str = "So.") -> HandedIn:
        given = expect(Given, await self.desks[0].next(self.asked))
        return HandedIn(self.run, self.asked.task, self.asked.epoch, given.id, translation)


async def in_office(settings: Settings, folder: Path, work: Any) -> None:
    office = Office(Store.connect(settings.url), Store.connect(settings.url))
    try:
        await office.open(folder)
        await work(office)
    finally:
        for store in office.stores:
            await store.close()


def test_the_same_translation_through_two_workers_at_once_is_one_reward(settings: Settings, tmp_path: Path) -> None:
    """As when a client gives up waiting and tries again."""

    async def work(office: Office) -> None:
        for _ in range(TIMES):
            handed = await office.handed()
            both = await asyncio.gather(*(desk.submit(handed) for desk in office.desks))
            one, other = (expect(SubmissionResult, found) for found in both)
            assert one == other
        standings, _ = await office.stores[0].standings([office.run.id])
        assert standings[office.run.id].position == TIMES

    asyncio.run(in_office(settings, tmp_path, work))


def test_a_pass_that_begins_beside_a_translation(settings: Settings, tmp_path: Path) -> None:
    """One comes first: the translation counts for the old pass, or is out of order in the new one."""

    async def work(office: Office) -> None:
        for lap in range(2, TIMES):
            handed = await office.handed()
            begun, found = await asyncio.gather(
                office.stores[1].start_lap(office.run, 0, None), office.desks[0].submit(handed)
            )
            assert expect(RunProgress, begun).lap == lap
            assert isinstance(found, SubmissionResult) or found is WRONG_ORDER
        begun = await asyncio.gather(*(store.start_lap(office.run, 0, None) for store in office.stores))
        assert sorted(expect(RunProgress, one).lap for one in begun) == [TIMES, TIMES + 1]

    asyncio.run(in_office(settings, tmp_path, work))


def test_a_task_that_takes_the_name_and_the_number_of_another(hall: Hall) -> None:
    hall.task(**write_data(hall.folder / "old", ["An old one."] * 9, ["Ein alter."] * 9))
    with hall.serve(hall.participant()) as client:
        run = start(client)
        submit(client, run, pending(client, run)["id"], "Ein alter.")
        hall.with_store(lambda store: store.delete_task("tiny"))
        hall.task(**write_data(hall.folder / "new", ["A new one."] * 9, ["Ein neuer."] * 9))
        run = start(client)
        given = pending(client, run)
        assert given["source"] == "A new one."
        assert submit(client, run, given["id"], "Ein neuer.").json()["reward"] == 1


class Slow:
    """A store that answers after everybody else."""

    def __init__(self, store: Store) -> None:
        self._store, self.asked, self.answer = store, asyncio.Event(), asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def sentences(self, ids: Any) -> dict[int, TaskSentence]:
        self.asked.set()
        await self.answer.wait()
        return await self._store.sentences(ids)


def test_what_is_forgotten_while_it_is_used(lite: Hall, tmp_path: Path) -> None:
    """Another request may find that the epoch is over, while this one waits for the database."""

    async def work(office: Office) -> None:
        slow = Slow(office.stores[1])
        slow.answer.set()
        desk = Submissions(slow)  # type: ignore[arg-type]
        given = expect(Given, await desk.next(office.asked))
        slow.asked.clear(), slow.answer.clear()
        handed = HandedIn(office.run, office.asked.task, office.asked.epoch, given.id, "So.")
        submitted = asyncio.create_task(desk.submit(handed))
        await slow.asked.wait()
        desk.forget()
        slow.answer.set()
        assert expect(SubmissionResult, await submitted).id == given.id

    asyncio.run(in_office(lite.settings, tmp_path, work))


def test_a_task_that_is_deleted_under_a_run(lite: Hall, tmp_path: Path) -> None:
    async def work(office: Office) -> None:
        handed = await office.handed()
        await office.stores[0].delete_task("tiny")
        for desk in office.desks:
            assert getattr(await desk.submit(handed), "name", "") == "unknown-run"
        assert getattr(await office.stores[1].start_lap(office.run, 0, None), "name", "") == "unknown-run"

    asyncio.run(in_office(lite.settings, tmp_path, work))
