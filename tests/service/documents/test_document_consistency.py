"""The log and the units never disagree: after an error, after a kill, with many people at once."""

from __future__ import annotations

import random
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa
from helpers.document_calls import DocumentServer
from helpers.free_ports import free_port
from helpers.postgres import both_databases
from helpers.project_server import project_server, send, wait_until
from helpers.shared_task import TaskServer

from mtloop.service import Settings
from mtloop.service.documents import store as document_store
from mtloop.service.documents.tables import document_units, project_documents
from mtloop.service.storage import Storage

LINES = [f"Open drawer number {n} of the cabinet." for n in range(20)]
CONTENT = "".join(f"{line}\n" for line in LINES).encode()


@both_databases
def test_an_error_leaves_neither_event_nor_unit(documents: DocumentServer, monkeypatch: pytest.MonkeyPatch) -> None:
    document = documents.upload(CONTENT, "a.txt")
    before = document.units()

    async def fail(*arguments: Any) -> None:
        raise RuntimeError("the process dies here")

    with monkeypatch.context() as broken:
        broken.setattr(document_store, "_set_correction", fail)
        assert document.confirm(0, "Öffnen Sie Schublade 0.").status_code == 500
    assert document.units() == before
    assert documents.call("GET", "/corrections").json()["corrections"] == []
    assert document.confirm(0, "Öffnen Sie Schublade 0.", 0).status_code == 200


@both_databases
def test_of_many_who_confirm_the_same_version_one_wins(documents: DocumentServer) -> None:
    document = documents.upload(CONTENT, "a.txt")

    def work(number: int) -> int:
        who = ("ann", "ben")[number % 2]
        return int(document.confirm(3, f"Öffnen Sie Schublade {number}.", 0, who).status_code)

    with ThreadPoolExecutor(6) as people:
        statuses = list(people.map(work, range(6)))
    assert sorted(statuses) == [200, *[409] * 5]
    unit = document.unit(3)
    (correction,) = documents.call("GET", "/corrections").json()["corrections"]
    assert (unit["correction"], unit["target"]) == (correction["number"], correction["translation"])
    assert unit["target"] == f"Öffnen Sie Schublade {statuses.index(200)}."


@both_databases
def test_drafts_confirmations_and_deletions_do_not_lock_each_other(documents: DocumentServer) -> None:
    document = documents.upload(CONTENT, "a.txt")

    def work(number: int) -> set[int]:
        index, who, found = number % 4, ("ann", "ben")[number % 2], set[int]()
        for turn in range(4):
            found.add(document.draft(index, f"Schublade {number} {turn}", who=who).status_code)
            found.add(document.confirm(index, f"Schublade {number} {turn}.", who=who, force=True).status_code)
            found.add(document.undo(index, who=who).status_code)
        return found

    with ThreadPoolExecutor(8) as people:
        found = set[int]().union(*people.map(work, range(8)))
    assert found <= {200, 409}
    check_agreement(documents.home)
    assert documents.call("DELETE", "", "olga").status_code == 204
    assert rows(documents.home) == ([], [])


def rows(home: TaskServer) -> tuple[list[Any], list[Any]]:
    """All documents and all units of a database."""

    async def read(storage: Storage) -> tuple[list[Any], list[Any]]:
        found = [await storage.database.rows(sa.select(*table.c)) for table in (project_documents, document_units)]
        return list(found[0]), list(found[1])

    return home.with_storage(read)


def check_agreement(home: TaskServer) -> dict[tuple[int, int], str]:
    """Every unit has the newest confirmation of its external id that nobody undid. Return the texts by unit."""

    async def read(storage: Storage) -> dict[tuple[int, int], str]:
        (project, _), *_ = await storage.projects.list_for(None)
        events = []
        while part := await storage.projects.events_after(project.id, events[-1][0] if events else 0):
            events += part
        tokens = {row.id: row.token for row in await storage.database.rows(sa.select(*project_documents.c))}
        standing: dict[str, dict[int, str]] = {}
        for number, event in events:
            if (name := getattr(event, "external_id", "")) != "":
                standing.setdefault(name, {})[number] = event.translation  # type: ignore[union-attr]
            for texts in standing.values():
                texts.pop(getattr(event, "of", 0), None)
        texts = {}
        for unit in await storage.database.rows(sa.select(*document_units.c)):
            live = standing.get(f"{tokens[unit.document_id]}:{unit.place}", {})
            assert unit.correction == max(live, default=None)
            if live:
                texts[unit.document_id, unit.place] = live[max(live)]
        return texts

    return home.with_storage(read)


@pytest.mark.slow
@both_databases
def test_a_killed_server_loses_nothing_that_was_confirmed(settings: Settings, tmp_path: Path, tiny_model: str) -> None:
    chosen = {"models": tiny_model, "workers": 2, "port": free_port(), "engine_linger": 1.0, "rate": 0}
    settings = settings.model_copy(update=chosen)
    home = TaskServer(settings, tmp_path)
    key, done, chance = home.participant("ann"), threading.Event(), random.Random(1)
    confirmed: dict[int, list[str]] = {}
    with project_server(settings, tmp_path / "log.jsonl") as server:
        with httpx2.Client(base_url=f"{server.url}/v1", headers={"x-api-key": key}, timeout=60) as client:
            body = {"name": "manual", "source_language": "en", "target_language": "de", "method": "memory"}
            assert client.post("/projects", json=body).status_code == 201
            made = client.post("/projects/manual/documents?name=a.txt", content=CONTENT).json()
            path = f"/projects/manual/documents/{made['document']}"

            def work() -> None:
                turn = 0
                while not done.is_set():
                    index, turn = turn % len(LINES), turn + 1
                    unit = send(client, "GET", f"{path}/units?after={index - 1}&limit=1").json()["units"][0]
                    text = f"Öffnen Sie Schublade {index}, Fassung {turn}."
                    body = {"text": text, "version": unit["version"], "force": True}
                    answer = send(client, "POST", f"{path}/units/{index}/confirm", json=body).json()
                    assert answer["unit"]["target"] == text
                    confirmed.setdefault(index, []).append(text)

            person = threading.Thread(target=work)
            person.start()
            for _ in range(6):
                known = sum(map(len, list(confirmed.values())))
                wait_until(lambda known=known: sum(map(len, list(confirmed.values()))) > known, 120)  # type: ignore[misc]
                time.sleep(chance.uniform(0, 0.5))
                server.kill_one("web", chance)
            done.set()
            person.join()
            wait_until(lambda: client.get(f"{path}/units").status_code == 200)
            shown = client.get(f"{path}/units").json()["units"]
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(60)
    assert len(confirmed) >= 6
    assert {unit["index"]: unit["target"] for unit in shown if unit["correction"]} == {
        index: texts[-1] for index, texts in confirmed.items()
    }
    assert sorted(check_agreement(home).values()) == sorted(texts[-1] for texts in confirmed.values())
