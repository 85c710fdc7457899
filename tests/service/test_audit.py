"""The audit log: every act of an organiser, in the transaction of the act, and it can only grow."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from helpers.postgres import both_databases
from helpers.rated_campaigns import create
from helpers.shared_task import TaskServer, start, write_data
from starlette.testclient import TestClient

from mtloop.service import Settings
from mtloop.service.accounts.keys import hash_key
from mtloop.service.administration import Administration
from mtloop.service.audit.models import Actor
from mtloop.service.project_log.event_log import Configured, GlossaryChanged
from mtloop.service.tasks.creation import TaskFile


def acts(client: TestClient) -> list[tuple[str, str, str, str]]:
    entries = client.get("/v1/audit").json()["entries"]
    return [(one["actor"], one["via"], one["action"], one["subject"]) for one in reversed(entries)]


@both_databases
def test_who_did_what(task_server: TaskServer) -> None:
    task_server.task()
    task_server.participant("team")
    key = task_server.participant("boss", organiser=True)
    with task_server.serve(key) as client:
        assert client.patch("/v1/tasks/tiny", json={"stopped": True}).status_code == 204
        client.post("/login", data={"key": key})
        assert client.post("/organiser/tasks/tiny", data={"change": "resume"}).status_code == 200
        me = getpass.getuser()
        assert acts(client) == [
            (me, "command", "task.create", "tiny"),
            (me, "command", "participant.add", "team"),
            (me, "command", "participant.add", "boss"),
            ("boss", "api", "task.change", "tiny"),
            ("boss", "page", "task.change", "tiny"),
        ]
        newest, *_ = client.get("/v1/audit", params={"limit": 1}).json()["entries"]
        assert newest["detail"] == {"stopped": False}
        assert key not in client.get("/v1/audit").text


@both_databases
def test_changes_of_a_project(task_server: TaskServer) -> None:
    """With a key, and on a page. What changes nothing leaves no entry, and no text of a glossary is in the log."""
    key, path = task_server.participant("boss", organiser=True), "/v1/projects/manual"
    create_project(task_server, "manual")
    with task_server.serve(key) as client:
        assert client.patch(path, json={"review": True}).status_code == 200
        assert client.patch(path, json={"review": True}).status_code == 200
        assert client.patch(path, json={"review": False, "glossary": {"file": "Datei"}}).status_code == 200
        client.post("/login", data={"key": key})
        del client.headers["x-api-key"]
        page = {"x-mtloop-page": "1"}
        for _ in range(2):
            body = {"terms": {"drawer": "Schublade"}}
            assert client.patch(f"{path}/glossary", json=body, headers=page).status_code == 204
        assert client.delete(path, headers=page).status_code == 204
        entries = client.get("/v1/audit").json()["entries"]
    plain = {"method": "baseline", "settings": {}}
    assert [(one["actor"], one["via"], one["action"], one["detail"]) for one in reversed(entries)][2:] == [
        ("boss", "api", "project.change", plain | {"review": True}),
        ("boss", "api", "project.change", plain | {"review": False, "terms": 1}),
        ("boss", "page", "project.change", {"terms": 2}),
        ("boss", "page", "project.delete", {}),
    ]
    assert {one["subject"] for one in entries[:4]} == {"manual"}


def create_project(server: TaskServer, name: str) -> None:
    configured = Configured("en-de", "baseline")
    server.with_storage(lambda storage: storage.projects.create(name, ("en", "de"), configured))


@both_databases
def test_acts_on_pages_of_campaigns(task_server: TaskServer) -> None:
    key = task_server.participant("boss", organiser=True)
    with task_server.serve(key) as client:
        client.post("/login", data={"key": key})
        del client.headers["x-api-key"]
        client.headers["x-mtloop-page"] = "1"
        create(client)
        assert client.patch("/v1/campaigns/menu", json={"stopped": True}).status_code == 200
        assert client.get("/v1/campaigns/menu/export?format=jsonl").status_code == 200
        assert {(via, action) for _, via, action, _ in acts(client)} == {
            ("command", "participant.add"),
            ("page", "campaign.create"),
            ("page", "campaign.change"),
            ("page", "campaign.export"),
        }


@both_databases
def test_who_reads_the_ratings_of_a_campaign(task_server: TaskServer) -> None:
    """They hold references and what people did."""
    key = task_server.participant("boss", organiser=True)
    with task_server.serve(key) as client:
        create(client)
        for path in ("/ratings?after=7", "/export?format=jsonl", "/status", "/raters"):
            assert client.get(f"/v1/campaigns/menu{path}").status_code == 200
        found = {one["action"]: one["detail"] for one in client.get("/v1/audit").json()["entries"]}
        assert found["campaign.ratings"] == {"after": 7}
        assert found["campaign.export"] == {"format": "jsonl"}
        assert len(found) == 4, "and the participant and the campaign were made"
        assert ("boss", "api", "campaign.export", "menu") in acts(client)


def test_acts_of_the_command_line(tmp_path: Path) -> None:
    service = Administration(Settings(folder=tmp_path / "d"))
    service.create_task(TaskFile("tiny", "mock", **write_data(tmp_path)))
    key = service.add_participant("me", expires="90d")
    with TaskServer(service.settings, tmp_path).serve(key) as client:
        run = start(client)
    service.write_trace(run, tmp_path / "run.jsonl")
    service.renew_keys("me", "2090-12-31")
    service.rotate_key("me")
    service.revoke_keys("me")
    service.change_task("tiny", stopped=True)
    service.delete_task("tiny")
    found = [(entry.action, entry.subject, dict(entry.detail)) for entry in reversed(service.audit(100))]
    assert [(action, subject) for action, subject, _ in found] == [
        ("task.create", "tiny"),
        ("participant.add", "me"),
        ("trace.export", run),
        ("participant.renew", "me"),
        ("participant.rotate", "me"),
        ("participant.revoke", "me"),
        ("task.change", "tiny"),
        ("task.delete", "tiny"),
    ]
    assert found[3][2] == {"keys": 1, "expires": "2090-12-31T23:59:59Z"}


@both_databases
def test_what_changes_nothing_leaves_no_entry(task_server: TaskServer) -> None:
    task_server.task("mock")
    task_server.task("train", "training")
    task_server.participant()
    acts: list[Callable[[Any], Any]] = [
        lambda storage: storage.accounts.renew_keys("me", None),  # it never expires already
        lambda storage: storage.accounts.revoke_keys("me"),
        lambda storage: storage.accounts.revoke_keys("me"),
        lambda storage: storage.accounts.renew_keys("me", 9e9),
        lambda storage: storage.tasks.change_task("mock", results_open=True),
        lambda storage: storage.tasks.change_task("mock", results_open=False),
        lambda storage: storage.tasks.change_task("train", results_open=True, stopped=False),
        lambda storage: storage.tasks.change_task("train", results_open=True),
        lambda storage: storage.tasks.change_task("train", stopped=False),
    ]
    for act in acts:
        task_server.with_storage(act)
    entries = task_server.with_storage(lambda storage: storage.audit.entries(100))
    assert [(one.action, one.subject, one.detail) for one in reversed(entries)][3:] == [
        ("participant.revoke", "me", {"keys": 1}),
        ("task.change", "train", {"results_open": True}),
    ]


def test_an_allowed_overlap_is_in_the_log(lite: TaskServer) -> None:
    lite.task("one", allow_overlap=False)
    lite.task("two", allow_overlap=True)
    entries = lite.with_storage(lambda storage: storage.audit.entries(100))
    assert [(one.subject, one.detail) for one in reversed(entries)] == [
        ("one", {"kind": "mock", "allow_overlap": False}),
        ("two", {"kind": "mock", "allow_overlap": True}),
    ]


@both_databases
def test_an_act_that_fails_leaves_no_entry_and_no_act_is_without_one(
    task_server: TaskServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_server.task()
    with pytest.raises(Exception, match="no participant 'you'"):
        task_server.with_storage(lambda storage: storage.accounts.revoke_keys("you"))

    async def fail(*_: object) -> None:
        raise RuntimeError("the entry cannot be written")

    create_project(task_server, "manual")
    for module in ("accounts", "tasks", "project_log"):
        monkeypatch.setattr(f"mtloop.service.{module}.store.record", fail)
    for act in (
        lambda storage: storage.accounts.add_participant("me", hash_key("x")),
        lambda storage: storage.tasks.delete_task("tiny"),
        change_review,
        change_glossary,
    ):
        with pytest.raises(RuntimeError, match="the entry cannot be written"):
            task_server.with_storage(act)
    assert task_server.with_storage(lambda storage: storage.participant_list()) == []
    assert [one.name for one in task_server.with_storage(lambda storage: storage.tasks.task_list())] == ["tiny"]
    project = task_server.with_storage(lambda storage: storage.projects.find("manual"))
    assert (project.number, project.review) == (1, False)
    assert len(task_server.with_storage(lambda storage: storage.audit.entries(100))) == 2


async def change_review(storage: Any) -> None:
    project = await storage.projects.find("manual")
    await storage.projects.change(project, [Configured("en-de", "baseline", review=True)])


async def change_glossary(storage: Any) -> None:
    project = await storage.projects.find("manual")
    await storage.projects.change_glossary(project.id, lambda old: GlossaryChanged({"file": "Datei"}))


@both_databases
@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE audit SET actor = 'nobody'",
        "DELETE FROM audit",
        "TRUNCATE audit",
        "REPLACE INTO audit SELECT id, time, 'nobody', via, action, subject, detail FROM audit",
    ],
)
def test_the_log_can_only_grow(task_server: TaskServer, sql: str) -> None:
    task_server.participant()

    async def change(storage: Any) -> None:
        async with storage.database.writing() as connection:
            await connection.execute(sa.text(sql))

    # SQLite has no TRUNCATE, PostgreSQL has no REPLACE
    with pytest.raises(sa.exc.DBAPIError, match=r'the audit log can only grow|near "TRUNCATE"|at or near "REPLACE"'):
        task_server.with_storage(change)
    assert len(task_server.with_storage(lambda storage: storage.audit.entries(100))) == 1


@both_databases
def test_the_log_is_read_in_pages_by_organisers_only(task_server: TaskServer) -> None:
    async def fill(storage: Any) -> None:
        for number in range(25):
            await storage.audit.record(Actor("boss", "api"), "task.change", f"task{number}", {})

    key = task_server.participant("boss", organiser=True)
    task_server.with_storage(fill)
    other = task_server.participant("team")
    with task_server.serve(key) as client:
        subjects: list[str] = []
        page: dict[str, Any] = {"next": None}
        while not subjects or page["next"] is not None:
            after = {} if page["next"] is None else {"after": page["next"]}
            page = client.get("/v1/audit", params={"limit": 9} | after).json()
            assert len(page["entries"]) <= 9
            subjects += [entry["subject"] for entry in page["entries"]]
        assert subjects == ["team", *(f"task{number}" for number in reversed(range(25))), "boss"]
        for wrong in ({"limit": 0}, {"limit": 501}, {"after": 0}, {"after": 2**70}, {"limit": "x"}):
            assert client.get("/v1/audit", params=wrong).status_code == 422
        assert client.get("/v1/audit", headers={"x-api-key": other}).status_code == 404
        assert client.get("/v1/audit", headers={"x-api-key": "x"}).status_code == 401
