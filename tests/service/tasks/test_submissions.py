"""Several workers on one database, and the cache of each of them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, TypeVar

from helpers.postgres import both_databases
from helpers.shared_task import REFERENCES, SOURCES, TaskServer, pending, start, submit, write_data

from mtloop.service import Settings
from mtloop.service.accounts.keys import hash_key
from mtloop.service.problems import WRONG_ORDER
from mtloop.service.storage import Storage
from mtloop.service.tasks.creation import TaskFile, create_task
from mtloop.service.tasks.models import RunProgress, TaskSentence
from mtloop.service.tasks.store import TaskStore
from mtloop.service.tasks.submissions import (
    PendingSentence,
    RewardedSubmission,
    SentenceRequest,
    Submissions,
    TranslationRequest,
)

T = TypeVar("T")
TIMES = 40


def expect(kind: type[T], found: object) -> T:
    assert isinstance(found, kind), found
    return found


class TwoWorkers:
    """Two workers and a run of a task."""

    def __init__(self, first: Storage, second: Storage) -> None:
        self.storages, self.stores = (first, second), (first.tasks, second.tasks)
        self.submissions = (Submissions(first.tasks), Submissions(second.tasks))

    async def open(self, folder: Path) -> None:
        storage, first = self.storages[0], self.stores[0]
        await storage.migrate()
        participant = await storage.accounts.add_participant("me", hash_key("secret"))
        await create_task(first, TaskFile("tiny", kind="mock", **write_data(folder, SOURCES * 3, REFERENCES * 3)))
        task = await first.task("tiny")
        assert task is not None
        run, known = await first.add_run(task, participant, ""), await storage.accounts.key_owner(hash_key("secret"))
        assert run is not None
        assert known is not None
        self.run, self.request = run, SentenceRequest(run, task, known.version)

    async def translation(self, text: str = "So.") -> TranslationRequest:
        """A translation of the pending sentence, not submitted yet."""
        pending = expect(PendingSentence, await self.submissions[0].next(self.request))
        return TranslationRequest(self.run, self.request.task, self.request.version, pending.id, text)


async def with_two_workers(settings: Settings, folder: Path, work: Any) -> None:
    workers = TwoWorkers(Storage.connect(settings.url), Storage.connect(settings.url))
    try:
        await workers.open(folder)
        await work(workers)
    finally:
        for storage in workers.storages:
            await storage.close()


@both_databases
def test_the_same_translation_submitted_to_two_workers_gets_one_reward(settings: Settings, tmp_path: Path) -> None:
    """A client may time out and submit the same translation again."""

    async def work(workers: TwoWorkers) -> None:
        for _ in range(TIMES):
            translation = await workers.translation()
            both = await asyncio.gather(*(each.submit(translation) for each in workers.submissions))
            one, other = (expect(RewardedSubmission, found) for found in both)
            assert one == other
        progress, _ = await workers.stores[0].progress([workers.run.id])
        assert progress[workers.run.id].position == TIMES

    asyncio.run(with_two_workers(settings, tmp_path, work))


@both_databases
def test_a_pass_started_during_a_submission(settings: Settings, tmp_path: Path) -> None:
    """The translation counts for the old pass, or is refused as out of order in the new pass."""

    async def work(workers: TwoWorkers) -> None:
        for number in range(2, TIMES):
            translation = await workers.translation()
            started, found = await asyncio.gather(
                workers.stores[1].start_pass(workers.run, 0, None), workers.submissions[0].submit(translation)
            )
            assert expect(RunProgress, started).pass_number == number
            assert isinstance(found, RewardedSubmission) or found is WRONG_ORDER
        both = await asyncio.gather(*(store.start_pass(workers.run, 0, None) for store in workers.stores))
        assert sorted(expect(RunProgress, one).pass_number for one in both) == [TIMES, TIMES + 1]

    asyncio.run(with_two_workers(settings, tmp_path, work))


@both_databases
def test_a_new_task_with_the_name_and_id_of_a_deleted_task(task_server: TaskServer) -> None:
    task_server.task(**write_data(task_server.folder / "old", ["An old one."] * 9, ["Ein alter."] * 9))
    with task_server.serve(task_server.participant()) as client:
        run = start(client)
        submit(client, run, pending(client, run)["id"], "Ein alter.")
        task_server.with_storage(lambda storage: storage.tasks.delete_task("tiny"))
        task_server.task(**write_data(task_server.folder / "new", ["A new one."] * 9, ["Ein neuer."] * 9))
        run = start(client)
        sentence = pending(client, run)
        assert sentence["source"] == "A new one."
        assert submit(client, run, sentence["id"], "Ein neuer.").json()["reward"] == 1


class SlowStore:
    """A store that returns sentences only after `released` is set."""

    def __init__(self, store: TaskStore) -> None:
        self._store, self.requested, self.released = store, asyncio.Event(), asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def sentences(self, ids: Any) -> dict[int, TaskSentence]:
        self.requested.set()
        await self.released.wait()
        return await self._store.sentences(ids)


def test_the_cache_is_cleared_during_a_submission(lite: TaskServer, tmp_path: Path) -> None:
    """Another request may find that the cache is stale while this one waits for the database."""

    async def work(workers: TwoWorkers) -> None:
        slow = SlowStore(workers.stores[1])
        slow.released.set()
        submissions = Submissions(slow)  # type: ignore[arg-type]
        pending = expect(PendingSentence, await submissions.next(workers.request))
        slow.requested.clear(), slow.released.clear()
        request = workers.request
        translation = TranslationRequest(workers.run, request.task, request.version, pending.id, "So.")
        submitted = asyncio.create_task(submissions.submit(translation))
        await slow.requested.wait()
        submissions.clear_cache()
        slow.released.set()
        assert expect(RewardedSubmission, await submitted).id == pending.id

    asyncio.run(with_two_workers(lite.settings, tmp_path, work))


def test_a_task_is_deleted_while_a_run_is_open(lite: TaskServer, tmp_path: Path) -> None:
    async def work(workers: TwoWorkers) -> None:
        translation = await workers.translation()
        await workers.stores[0].delete_task("tiny")
        for submissions in workers.submissions:
            assert getattr(await submissions.submit(translation), "name", "") == "unknown-run"
        assert getattr(await workers.stores[1].start_pass(workers.run, 0, None), "name", "") == "unknown-run"

    asyncio.run(with_two_workers(lite.settings, tmp_path, work))
