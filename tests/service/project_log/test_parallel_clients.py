"""Several clients of a project at the same time: limits hold, nobody gets an error, nobody waits for ever."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable

import pytest
import sqlalchemy as sa
from helpers.postgres import both_databases
from helpers.shared_task import TaskServer

from mtloop.service.audit.models import Actor
from mtloop.service.documents import store as document_store
from mtloop.service.documents.models import NewDocument, NewUnit, TooManyDocuments
from mtloop.service.project_log import client_store
from mtloop.service.project_log.client_store import FILE_SECONDS, StoredFile
from mtloop.service.project_log.event_log import Configured
from mtloop.service.project_log.models import TooManyFiles, TooManyMemories, TranslationProject
from mtloop.service.project_log.tables import project_files
from mtloop.service.storage import Storage

AT_ONCE, ROUNDS = 4, 10


async def project_of(storage: Storage, name: str = "manual") -> TranslationProject:
    return await storage.projects.create(name, ("en", "de"), Configured("none", "memory"))


async def at_once(*calls: Awaitable[object]) -> Counter[str]:
    """Await all calls together, and count what came of them."""
    results = await asyncio.gather(*calls, return_exceptions=True)
    return Counter(type(one).__name__ for one in results)


@both_databases
def test_memories_with_the_same_external_id_are_one(task_server: TaskServer) -> None:
    async def work(storage: Storage) -> None:
        project = await project_of(storage)
        for turn in range(ROUNDS):
            calls = (storage.clients.add_memory(project.id, "m", "", f"e{turn}") for _ in range(AT_ONCE))
            assert await at_once(*calls) == {"TranslationMemory": AT_ONCE}
        assert len(await storage.clients.memories(project.id)) == ROUNDS

    task_server.with_storage(work)


@both_databases
def test_webhooks_that_are_set_at_once_replace_each_other(task_server: TaskServer) -> None:
    task_server.participant("ann")

    async def work(storage: Storage) -> None:
        project, ann = await project_of(storage), await storage.accounts.find_participant("ann")
        assert ann is not None
        for _ in range(ROUNDS):
            calls = (storage.clients.set_webhook(project, "s", ann.id, Actor("ann", "api")) for _ in range(AT_ONCE))
            assert await at_once(*calls) == {"NoneType": AT_ONCE}
        assert await storage.clients.webhook(project.id) is not None

    task_server.with_storage(work)


@both_databases
def test_limits_hold_for_clients_that_come_at_once(task_server: TaskServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_store, "MAX_DOCUMENTS", 3)
    monkeypatch.setattr(client_store, "MAX_MEMORIES", 3)

    async def work(storage: Storage) -> None:
        project = await project_of(storage)
        memories = (storage.clients.add_memory(project.id, f"m{n}") for n in range(8))
        assert await at_once(*memories) == {"TranslationMemory": 3, TooManyMemories.__name__: 5}
        documents = (storage.documents.add(project, document(n), None) for n in range(8))
        assert await at_once(*documents) == {"StoredDocument": 3, TooManyDocuments.__name__: 5}
        files = (storage.clients.add_file(file(project, n, b"x" * 10), 35) for n in range(8))
        assert await at_once(*files) == {"bool": 3, TooManyFiles.__name__: 5}

    task_server.with_storage(work)


def document(number: int, content: bytes = b"x") -> NewDocument:
    return NewDocument(f"{number:032x}", "a.txt", "txt", content, [NewUnit("1", "Save")] * 50)


def file(project: TranslationProject, number: int, result: bytes | None, created: float | None = None) -> StoredFile:
    token = f"{project.id:016x}{number:016x}"
    return StoredFile(token, project.id, "", "a.txt", "done", 4, result, "", created or time.time())


@both_databases
def test_documents_and_files_have_a_budget_of_bytes(task_server: TaskServer) -> None:
    async def work(storage: Storage) -> None:
        project = await project_of(storage)
        await storage.documents.add(project, document(1, b"x" * 60), None, 100)
        with pytest.raises(TooManyDocuments):
            await storage.documents.add(project, document(2, b"x" * 41), None, 100)
        await storage.documents.add(project, document(3, b"x" * 40), None, 100)
        await storage.documents.add(project, document(4, b"x" * 99), None, 0)
        assert await storage.clients.add_file(file(project, 1, None), 10)  # it counts with the size of its source
        assert await storage.clients.add_file(file(project, 2, b"x" * 6), 10)
        with pytest.raises(TooManyFiles):
            await storage.clients.add_file(file(project, 3, b"x"), 10)
        assert await storage.clients.add_file(file(project, 3, b"x" * 1000), 0)

    task_server.with_storage(work)


@both_databases
def test_old_files_of_other_projects_are_deleted_at_the_same_time(task_server: TaskServer) -> None:
    async def work(storage: Storage) -> None:
        made = [await project_of(storage, f"p{n}") for n in range(AT_ONCE)]
        for turn in range(ROUNDS):
            old = [vars(file(one, 100 + n, b"x", time.time() - FILE_SECONDS - 1)) for n in range(20) for one in made]
            async with storage.database.writing() as connection:
                await connection.execute(sa.insert(project_files), old)
            calls = (storage.clients.add_file(file(one, turn, b"x")) for one in made)
            assert await at_once(*calls) == {"bool": AT_ONCE}
            rows = await storage.database.rows(sa.select(project_files.c.token))
            assert len(rows) == (turn + 1) * AT_ONCE

    task_server.with_storage(work)
