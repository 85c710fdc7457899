"""A deleted project leaves nothing behind but its name in the audit log."""

from __future__ import annotations

import time
from typing import Any

import pytest
import sqlalchemy as sa
from helpers.document_calls import DocumentServer
from helpers.postgres import both_databases
from helpers.raw_events import append_events
from helpers.shared_task import TaskServer
from starlette.testclient import TestClient

from mtloop.core.types import Proposal, Segment
from mtloop.metrics import collateral
from mtloop.metrics.collateral import neighbours
from mtloop.service.audit.models import Actor
from mtloop.service.database import metadata
from mtloop.service.documents import failed_texts
from mtloop.service.documents.models import NewDocument, NewUnit
from mtloop.service.project_log.client_store import StoredFile, StoredUpload
from mtloop.service.project_log.event_log import Configured, Confirmed, GlossaryChanged
from mtloop.service.project_log.models import SnapshotInfo
from mtloop.service.settings import FILE
from mtloop.service.storage import Storage

SECRET = "zyzzogeton"  # in everything that belongs to the project


async def fill(storage: Storage) -> None:
    """A project with a member, events of several kinds, an open proposal, a snapshot, and what other tools keep."""
    ann = (await storage.accounts.participant_list())[0]["id"]
    made = await storage.projects.create("manual", ("en", "de"), Configured("en-de", "memory"), owner=ann)
    confirmed = [Confirmed(f"{SECRET} {number}", f"der {SECRET} " * 20) for number in range(200)]
    await append_events(storage, made.id, [*confirmed, GlossaryChanged({SECRET: SECRET})], ann)
    await storage.projects.add_proposals(made.id, [Proposal(Segment("", SECRET), SECRET)])
    data = SECRET.encode() * 10_000
    await storage.projects.write_snapshot(made.id, "0" * 32, SnapshotInfo(200, "torch"), data)
    await storage.clients.add_memory(made.id, SECRET, SECRET, None)
    now = time.time()
    await storage.clients.add_file(StoredFile("0" * 32, made.id, "0" * 64, SECRET, "done", 9, data, "", now))
    await storage.clients.add_upload(
        StoredUpload("0" * 32, "0" * 64, made.id, ann, SECRET, "done", None, None, SECRET, now, now)
    )
    await storage.clients.set_webhook(made, SECRET, ann, Actor("ann", "api"))
    await storage.clients.add_delivery(made.id, SECRET, 60)
    unit = NewUnit(SECRET, SECRET, SECRET, context={"note": SECRET})
    await storage.documents.add(made, NewDocument("0" * 32, SECRET, "po", data, [unit] * 50), ann)


async def counts(storage: Storage) -> dict[str, int]:
    """The number of rows of each table of projects."""
    tables = [table for table in metadata.sorted_tables if table.name.startswith(("project", "document"))]
    async with storage.database.reading() as connection:
        return {
            one.name: (await connection.execute(sa.select(sa.func.count()).select_from(one))).scalar_one()
            for one in tables
        }


@both_databases
def test_all_rows_of_a_project_are_deleted(task_server: TaskServer) -> None:
    task_server.participant("ann")
    task_server.with_storage(fill)
    assert all(task_server.with_storage(counts).values())
    task_server.with_storage(lambda storage: storage.projects.delete("manual"))
    assert not any(task_server.with_storage(counts).values())


def test_the_sqlite_file_does_not_hold_its_texts(lite: TaskServer) -> None:
    lite.participant("ann")
    lite.with_storage(fill)
    files = [lite.settings.folder / FILE, lite.settings.folder / f"{FILE}-wal"]
    assert SECRET.encode() in files[0].read_bytes()

    async def delete(storage: Storage) -> list[int]:
        """Where the text is, while the service runs: before the project is deleted, and then."""
        await storage.projects.set_learned(1, {2: {SECRET: SECRET}})
        before = [one.read_bytes().count(SECRET.encode()) for one in files]
        await storage.projects.delete("manual")
        return [*before, *(one.read_bytes().count(SECRET.encode()) for one in files)]

    in_file, in_log, *left = lite.with_storage(delete)
    assert (in_file > 0, in_log > 0, left) == (True, True, [0, 0])


def test_the_worker_forgets_the_texts_of_what_is_deleted(lite: TaskServer) -> None:
    with lite.serve() as client:
        server = DocumentServer.create(lite, client)
        files = server.client.app.state.document_files  # type: ignore[attr-defined]
        for delete in ("document", "project"):
            document = server.upload(f"{SECRET}\n".encode(), "a.txt")
            assert document.confirm(0, f"der {SECRET}").status_code == 200
            assert neighbours([SECRET, f"{SECRET} 2"]) is not None
            assert files._kept._items
            assert failed_texts._failed.cache_info().currsize
            path = document.path if delete == "document" else ""
            assert server.call("DELETE", path, "olga").status_code == 204
            assert not files._kept._items
            assert not failed_texts._failed.cache_info().currsize
        assert not collateral._neighbours.cache_info().currsize


def test_a_deletion_does_not_reach_a_new_project_of_the_same_name(
    ann: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else deletes the project and creates another one, after the request was authorised."""
    assert ann.post("/v1/projects", json={"name": "manual"}).status_code == 201
    application: Any = ann.app
    here = application.state.service
    authorise = here.project_access.project

    async def overtaken(*arguments: Any) -> Any:
        found = await authorise(*arguments)
        await here.storage.projects.delete("manual")
        await here.storage.projects.create("manual", ("en", "de"), found.project.configured, owner=found.participant.id)
        return found

    with monkeypatch.context() as changed:
        changed.setattr(here.project_access, "project", overtaken)
        response = ann.delete("/v1/projects/manual")
    assert (response.status_code, response.json()["type"]) == (404, "urn:mtloop:unknown-project")
    assert ann.get("/v1/projects/manual").status_code == 200


def test_a_deleted_project_leaves_an_engine_that_another_process_started(
    project_home: TaskServer, ann: TestClient
) -> None:
    assert ann.post("/v1/projects", json={"name": "brief"}).status_code == 201
    assert ann.post("/v1/projects/brief/translate", json={"text": "Hello."}).status_code == 200
    application: Any = ann.app
    here, portal = application.state.service, ann.portal
    assert portal is not None
    number = portal.call(here.storage.projects.find, "brief").id

    async def known() -> int | None:
        """How many lessons the learner in the engine knows. None: the engine has no such project."""
        found: int | None = await here.engines.call(number, "progress", first=1, last=9)
        return found

    assert portal.call(known) == 0
    with project_home.serve(str(ann.headers["x-api-key"])) as other:
        assert other.delete("/v1/projects/brief").status_code == 204
    assert portal.call(known) is None
