"""Bad input gets one clear line, and changes nothing."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
import sqlalchemy as sa
from helpers.raw_events import append_events
from helpers.shared_task import TaskServer
from starlette.testclient import TestClient

from mtloop.service.project_log import store
from mtloop.service.project_log.event_log import Confirmed
from mtloop.service.project_log.tables import project_events
from mtloop.service.projects.confirmation_rules import MAX_PER_SECOND, REASONS
from mtloop.service.storage import Storage

SOURCE, TARGET = "Save the file as a new copy.", "Die Datei als neue Kopie speichern."


@pytest.fixture(scope="module")
def client(ann: TestClient) -> TestClient:
    assert ann.post("/v1/projects", json={"name": "manual"}).status_code == 201
    return ann


def problem(client: TestClient, path: str, body: Any, status: int) -> str:
    response = client.post(f"/v1/projects{path}", json=body)
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    detail = str(response.json()["detail"])
    assert "\n" not in detail
    return detail


def test_an_unknown_pair_names_those_there_are(client: TestClient) -> None:
    detail = problem(client, "", {"name": "other", "source_language": "fr", "target_language": "it"}, 422)
    assert detail == "no model for fr -> it; there are: en -> de"


@pytest.mark.parametrize(
    "body",
    [
        {"method": "exec:rm -rf /"},
        {"method": "engine.py:Engine"},
        {"method": "os:system"},
        {"method": "http://example.org/project"},
        {"model": "/etc"},
        {"model": "Helsinki-NLP/opus-mt-en-de"},
        {"model": "http://example.org/model"},
    ],
)
def test_what_the_operator_does_not_allow_is_refused(client: TestClient, body: dict[str, str]) -> None:
    problem(client, "", {"name": "other", **body}, 403)
    assert client.get("/v1/projects/other").status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {"method": "lorra"},
        {"settings": {"no_such": 1}},
        {"settings": {"learning_rate": "much"}},
        {"name": "a b"},
        {"name": ""},
        {"name": "x" * 81},
        {"unknown": 1},
    ],
)
def test_a_wrong_project_is_refused(client: TestClient, body: dict[str, Any]) -> None:
    problem(client, "", {"name": "other"} | body, 422)


def test_a_name_is_taken_once(client: TestClient) -> None:
    problem(client, "", {"name": "manual"}, 409)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"text": ""}, 422),
        ({"text": " \n"}, 422),
        ({"text": []}, 422),
        ({"text": ["a", ""]}, 422),
        ({"text": "a\x00b"}, 422),
        ({"text": "x" * 100_001}, 413),
        ({"text": "x " * 1_000_000}, 413),
        ({"text": "x " * 4_000_000}, 413),
        ({"text": ["x"] * 102}, 422),
        ({"text": "a", "format": "docx"}, 422),
        ({"text": "a", "candidates": 0}, 422),
        ({"text": ["a", "b"], "prefix": "A"}, 422),
        ({"texts": "a"}, 422),
        ({}, 422),
    ],
)
def test_texts_that_cannot_be_translated(client: TestClient, body: dict[str, Any], status: int) -> None:
    problem(client, "/manual/translate", body, status)


def test_a_text_that_is_too_long_gets_the_limit(client: TestClient) -> None:
    detail = problem(client, "/manual/translate", {"text": ["x" * 90_000, "y" * 90_000]}, 413)
    assert detail == "text: 180,000 characters; at most 100,000 in one request"
    body = {"source": "x" * 60_000, "translation": "y" * 60_000}
    assert problem(client, "/manual/confirm", body, 413).startswith("text: 120,000 characters")


def test_a_text_of_a_hundred_thousand_characters(client: TestClient) -> None:
    """As long as allowed. It has no words, so that nothing is computed."""
    text = "12 " * 33_333 + "1"
    answer = client.post("/v1/projects/manual/translate", json={"text": text})
    assert (len(text), answer.status_code) == (100_000, 200)
    assert answer.json()["translations"][0]["translation"] == text


@pytest.mark.parametrize("field", ["source", "translation", "proposal", "document", "external_id"])
@pytest.mark.parametrize("bad", ["\\u0000", "\\ud800"])
def test_what_a_database_cannot_store_is_not_confirmed(client: TestClient, field: str, bad: str) -> None:
    before = client.get("/v1/projects/manual").json()["state"]
    raw = json.dumps({"source": SOURCE, "translation": TARGET} | {field: "BAD"}).replace("BAD", bad)
    headers = {"content-type": "application/json"}
    response = client.post("/v1/projects/manual/confirm", content=raw, headers=headers)
    assert (response.status_code, response.json()["type"]) == (422, "urn:mtloop:invalid-request")
    assert client.get("/v1/projects/manual").json()["state"] == before


@pytest.mark.parametrize("raw", [b'{"text": "\\ud800"}', b'{"text": "a', b"\xff\xfe", b"[]"])
def test_bytes_that_are_no_request(client: TestClient, raw: bytes) -> None:
    response = client.post("/v1/projects/manual/translate", content=raw, headers={"content-type": "application/json"})
    assert response.status_code == 422, response.text


@pytest.mark.parametrize(
    ("source", "translation", "reason"),
    [
        (SOURCE, "", "empty"),
        (SOURCE, SOURCE, "copied"),
        (SOURCE, "Save the file to a new place now.", "wrong language"),
        (SOURCE, "Enregistrez le document sous un nouveau nom.", "wrong language"),
        ("Yes.", "Ja, aber " + "ganz sicher " * 20, "length"),
        (SOURCE * 500, TARGET * 500, "too long"),
    ],
)
def test_what_may_not_be_learned_is_kept_with_its_reason(
    client: TestClient, source: str, translation: str, reason: str
) -> None:
    body = {"source": source, "translation": translation}
    answer = client.post("/v1/projects/manual/confirm", json=body).json()
    assert answer["refused"] == REASONS[reason]
    assert answer.get("learned") is None


def test_a_flood_is_stored_and_not_learned(client: TestClient, project_home: TaskServer) -> None:
    assert client.post("/v1/projects", json={"name": "flood"}).status_code == 201

    async def fill(storage: Storage) -> None:
        """One confirmation less than a project takes in a second."""
        found = await storage.projects.find("flood")
        assert found is not None
        events = [Confirmed(f"Drawer number {n}.", f"Schublade Nummer {n}.") for n in range(MAX_PER_SECOND - 1)]
        await append_events(storage, found.id, events)

    async def keep_new(storage: Storage) -> None:
        """Let all events of the database seem to be new, however slow this machine is."""
        async with storage.database.writing() as connection:
            await connection.execute(sa.update(project_events).values(time=time.time() + 600))

    def confirm(number: int) -> dict[str, Any]:
        texts = {"source": f"Shelf number {number}.", "translation": f"Regal Nummer {number}."}
        return dict(client.post("/v1/projects/flood/confirm", json=texts | {"wait": "durable"}).json())

    project_home.with_storage(fill)
    project_home.with_storage(keep_new)
    last = confirm(1)
    project_home.with_storage(keep_new)
    too_many = confirm(2)
    assert (last["new"], last["refused"]) == (True, None)
    assert (too_many["new"], too_many["refused"]) == (True, REASONS["too many"])
    assert confirm(1)["refused"] is None  # the same confirmation is none of the flood
    shown = client.get("/v1/projects/flood/corrections?state=refused").json()["corrections"]
    assert [row["number"] for row in shown] == [too_many["number"]]


@pytest.mark.parametrize("number", ["0", "1", "99", "-1", str(2**70), "x"])
def test_undo_of_what_is_no_correction(client: TestClient, number: str) -> None:
    response = client.post(f"/v1/projects/manual/corrections/{number}/undo")
    assert response.status_code in (404, 422), response.text


def test_a_deleted_project_is_gone(client: TestClient) -> None:
    assert client.post("/v1/projects", json={"name": "brief"}).status_code == 201
    assert client.post("/v1/projects/brief/translate", json={"text": "Hello."}).status_code == 200
    assert client.delete("/v1/projects/brief").status_code == 204
    problem(client, "/brief/confirm", {"source": SOURCE, "translation": TARGET}, 404)
    problem(client, "/brief/translate", {"text": "Hello."}, 404)
    assert client.post("/v1/projects", json={"name": "brief"}).status_code == 201
    answer = client.post("/v1/projects/brief/translate", json={"text": "Hello."})
    assert answer.json()["state"] == 1


def test_a_project_that_is_deleted_during_a_request(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    async def gone(*_: object) -> None:
        return None

    assert client.post("/v1/projects", json={"name": "going"}).status_code == 201
    monkeypatch.setattr(store, "take_numbers", gone)
    response = client.put("/v1/projects/going/members/ann", json={"role": "confirm"})
    assert (response.status_code, response.json()["type"]) == (404, "urn:mtloop:unknown-project")


def test_ratings_are_for_methods_that_learn_from_them(client: TestClient) -> None:
    problem(client, "/manual/rate", {"proposal": "0" * 32, "value": 0.5}, 409)
    assert client.post("/v1/projects", json={"name": "rated", "method": "nmt-reinforce"}).status_code == 201
    problem(client, "/rated/confirm", {"source": SOURCE, "translation": TARGET}, 409)
    problem(client, "/rated/rate", {"proposal": "0" * 32, "value": 0.5}, 404)
    shown = client.post("/v1/projects/rated/translate", json={"text": "Hello."}).json()["translations"][0]
    rating = {"proposal": shown["proposal"], "value": 0.5}
    for wrong in (2, -1, "x", None):
        problem(client, "/rated/rate", rating | {"value": wrong}, 422)
    answer = client.post("/v1/projects/rated/rate", json=rating).json()
    assert answer["learned"]["rejected"] is None
    assert client.post("/v1/projects/rated/rate", json=rating).json()["number"] == answer["number"]  # the same is one
    problem(client, "/rated/rate", rating | {"value": 0.25}, 404)  # another one is too late


def test_a_method_without_a_model_is_a_project_too(client: TestClient) -> None:
    body = {"name": "copies", "method": "copy-source", "source_language": "en", "target_language": "de"}
    assert client.post("/v1/projects", json=body).json()["model"] == ""
    answer = client.post("/v1/projects/copies/translate", json={"text": "Hello."}).json()
    assert answer["translations"][0]["translation"] == "Hello."
    problem(client, "/copies/confirm", {"source": SOURCE, "translation": TARGET}, 409)
