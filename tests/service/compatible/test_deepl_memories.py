"""Translation memories of the DeepL API: an import teaches, and its address is a secret that works once."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from helpers.deepl_calls import DeeplCalls, DeeplServer, tmx
from helpers.queries import queries_of

from mtloop.service import state
from mtloop.service.accounts.keys import hash_key
from mtloop.service.compatible import deepl_memories, deepl_protocol
from mtloop.service.project_log import client_store
from mtloop.service.project_log.client_store import StoredUpload
from mtloop.service.projects import project_calls
from mtloop.service.storage import Storage
from mtloop.service.telemetry import LOGGER

PAIRS = [
    ("Open the drawer of the cabinet.", "Öffnen Sie die Schublade des Schranks."),
    ("Close the window at the top.", "Schließen Sie das Fenster oben."),
    ("Save the file in a new folder.", "Speichern Sie die Datei in einem neuen Ordner."),
]
MEMORIES = "/v3/translation_memories"


@pytest.fixture
def owner(deepl_server: DeeplServer, request: pytest.FixtureRequest) -> DeeplCalls:
    return deepl_server.project(f"memory-{abs(hash(request.node.name))}")


async def uploads_of(storage: Storage, name: str) -> Sequence[StoredUpload]:
    project = await storage.projects.find(name)
    assert project is not None
    return await storage.clients.uploads(project.id)


def test_an_import_teaches(owner: DeeplCalls) -> None:
    other = "The printer has no paper."
    before = owner.translate(PAIRS[0][0], other)
    id = owner.import_tmx(tmx(*PAIRS), display_name="legal")
    after = owner.translate(PAIRS[0][0], other, translation_memory_id=id, translation_memory_threshold=80)
    assert after[0] == PAIRS[0][1] != before[0]
    assert owner.native("/corrections")["corrections"][0]["translation"] == PAIRS[2][1]
    libretranslate = {"q": PAIRS[1][0], "source": "en", "target": "de", "api_key": owner.key}
    assert owner.client.post("/translate", json=libretranslate).json()["translatedText"] == PAIRS[1][1]


def test_the_memories_and_glossaries_of_many_projects_are_one_query_each(owner: DeeplCalls) -> None:
    """Clients ask for them again and again, and a key may open a thousand projects."""
    header = {"x-api-key": owner.key}
    for number in range(3):
        body = {"name": f"{owner.project}-{number}", "source_language": "en", "target_language": "de"}
        assert owner.client.post("/v1/projects", json=body, headers=header).status_code == 201
    for path, table in ((MEMORIES, "project_uploads"), ("/v2/glossaries", "project_events")):
        with queries_of(table) as queries:
            owner.get(path)
        assert len(queries) == 1, queries


def test_what_an_import_looks_like(owner: DeeplCalls) -> None:
    inside = replace(owner, prefix="/deepl")
    begun = inside.begin_import("legal.tmx")
    assert begun["upload_url"].startswith("http://testserver/deepl/v3/")
    job = owner.get(f"{MEMORIES}/jobs/{begun['job_id']}")
    assert (job["operation"], job["parameters"]) == ("import", {"display_name": "legal.tmx"})
    assert job["results"][0]["status"] == "awaiting_input"
    assert owner.get(MEMORIES)["translation_memories"] == []
    assert owner.client.put(begun["upload_url"], content=tmx(*PAIRS)).status_code == 200
    id = owner.job(begun["job_id"])["translation_memory_id"]
    shown = owner.get(f"{MEMORIES}/{id}")
    assert shown["name"] == "legal.tmx"
    assert (shown["source_language"], shown["target_languages"], shown["segment_count"]) == ("en", ["de"], 3)
    assert owner.get(MEMORIES) == {"translation_memories": [shown], "total_count": 1}
    assert owner.get(MEMORIES, params={"page": 1, "page_size": 1})["translation_memories"] == []
    assert owner.refused("GET", MEMORIES, params={"page_size": 26})[0] == 400


def test_an_address_works_once_and_cannot_be_guessed(owner: DeeplCalls, deepl_server: DeeplServer) -> None:
    address = owner.begin_import()["upload_url"]
    token = address.rpartition("/")[2]
    assert len(token) >= 43  # 256 bits
    uploads = deepl_server.home.with_storage(lambda storage: uploads_of(storage, owner.project))
    assert [one.address_hash for one in uploads] == [hash_key(token)]
    assert token not in repr(uploads)
    wrong = owner.client.put(address[:-4] + "aaaa", content=tmx(*PAIRS))
    assert (wrong.status_code, wrong.json().keys()) == (404, {"message"})
    assert owner.client.put(address, content=tmx(*PAIRS)).status_code == 200
    assert owner.client.put(address, content=tmx(*PAIRS)).status_code == 404


def test_an_address_expires(owner: DeeplCalls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deepl_memories, "ADDRESS_SECONDS", -1)
    begun = owner.begin_import()
    assert owner.client.put(begun["upload_url"], content=tmx(*PAIRS)).status_code == 404
    assert owner.job(begun["job_id"])["status"] == "expired"
    assert owner.translate(PAIRS[0][0]) != [PAIRS[0][1]]


def test_an_import_that_was_interrupted_has_failed(owner: DeeplCalls, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = owner.begin_import()
    monkeypatch.setattr(deepl_memories, "COMPLETED", deepl_memories.PROCESSING)
    owner.client.put(begun["upload_url"], content=tmx(*PAIRS))
    monkeypatch.undo()
    shown = owner.get(f"{MEMORIES}/jobs/{begun['job_id']}")["results"][0]
    assert shown["status"] == "processing"
    monkeypatch.setattr(deepl_memories, "PROCESSING_SECONDS", -10_000)
    failed = owner.get(f"{MEMORIES}/jobs/{begun['job_id']}")["results"][0]
    assert (failed["status"], failed["error"]) == ("failed", {"message": deepl_memories.INTERRUPTED})


def test_a_project_has_a_limited_number_of_imports_and_exports(
    owner: DeeplCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_store, "MAX_MEMORIES", 3)
    id = owner.import_tmx(tmx(*PAIRS))
    failed = owner.begin_import()
    owner.client.put(failed["upload_url"], content=b"no XML")
    assert owner.call("POST", f"{MEMORIES}/{id}/export").status_code == 202
    body = {"source_file": {"file_name": "a.tmx", "content_length": 1}}
    for path in (f"{MEMORIES}/import", f"{MEMORIES}/{id}/export"):
        status, message = owner.refused("POST", path, json=body)
        assert (status, "at most 1,000 memories" in message) == (400, True)
    monkeypatch.setattr(deepl_memories, "FAILED_SECONDS", -10_000)  # as if a day were over
    assert owner.begin_import()["job_id"] != failed["job_id"]
    assert owner.refused("GET", f"{MEMORIES}/jobs/{failed['job_id']}")[0] == 404
    assert owner.get(MEMORIES)["total_count"] == 1, "a memory stays until it is deleted"


BOMB = b'<!DOCTYPE tmx [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><tmx version="1.4"><body>&b;</body></tmx>'


@pytest.mark.parametrize("content", [b"", b"no XML", b"<tmx><body>", b"<html/>", b"\xff\xfe\x00", BOMB])
def test_a_file_that_does_not_parse(owner: DeeplCalls, content: bytes) -> None:
    begun = owner.begin_import()
    assert owner.client.put(begun["upload_url"], content=content).status_code == 200
    result = owner.job(begun["job_id"])
    assert result["status"] == "failed"
    assert result["error"]["message"].startswith("file")
    assert owner.get(MEMORIES)["translation_memories"] == []


def test_a_file_that_is_too_large(owner: DeeplCalls) -> None:
    begun = owner.begin_import()
    response = owner.client.put(begun["upload_url"], content=b"x" * 100_001)
    assert (response.status_code, response.json().keys()) == (413, {"message"})
    assert owner.job(begun["job_id"])["status"] == "failed"
    body = {"source_file": {"file_name": "a.tmx", "content_length": 100_001}}
    assert owner.refused("POST", f"{MEMORIES}/import", json=body)[0] == 413


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"source_file": "a.tmx"},
        {"source_file": {"file_name": "a.tmx"}},
        {"source_file": {"file_name": ["a"], "content_length": 9}},
        {"source_file": {"file_name": "a.tmx", "content_length": "many"}},
        {"source_file": {"file_name": "a.tmx", "content_length": 9, "content_type": "image/png"}},
        {"source_file": {"file_name": "a.tmx", "content_length": 9}, "parameters": []},
    ],
)
def test_bad_imports(owner: DeeplCalls, body: Any) -> None:
    assert owner.refused("POST", f"{MEMORIES}/import", json=body)[0] == 400


def test_who_lost_the_role_cannot_upload_any_more(deepl_server: DeeplServer) -> None:
    owner = deepl_server.project("lost-role")
    member = deepl_server.member(owner, "lost-role", "confirm")
    begun = member.begin_import()
    path = "/v1/projects/lost-role/members/confirm-of-lost-role"
    assert owner.client.delete(path, headers={"x-api-key": owner.key}).is_success
    assert owner.client.put(begun["upload_url"], content=tmx(*PAIRS)).status_code == 403
    assert owner.job(begun["job_id"])["status"] == "failed"


def test_too_many_imports_leave_the_address_unused(owner: DeeplCalls, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = owner.begin_import()
    monkeypatch.setattr(deepl_protocol, "MAX_WAITING", 0)
    assert owner.client.put(begun["upload_url"], content=tmx(*PAIRS)).status_code == 429
    monkeypatch.undo()
    assert owner.client.put(begun["upload_url"], content=tmx(*PAIRS)).status_code == 200


def test_too_many_uploads_leave_the_address_unused(owner: DeeplCalls, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = owner.begin_import()
    with monkeypatch.context() as patch:
        patch.setattr(state, "MAX_UPLOADS", 0)
        assert owner.client.put(begun["upload_url"], content=tmx(*PAIRS)).status_code == 429
    assert owner.client.put(begun["upload_url"], content=tmx(*PAIRS)).status_code == 200


def test_an_import_that_stops_knows_what_is_stored(
    owner: DeeplCalls, deepl_server: DeeplServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = owner.begin_import()
    monkeypatch.setattr(project_calls, "ROWS_PER_TRANSACTION", 1)
    monkeypatch.setattr(project_calls, "_has_room", lambda here, project, added: added < 2)
    assert owner.client.put(begun["upload_url"], content=tmx(*PAIRS)).status_code == 200
    result = owner.job(begun["job_id"])
    assert (result["status"], "1 pairs are not" in result["error"]["message"]) == ("failed", True)
    (stored,) = deepl_server.home.with_storage(lambda storage: uploads_of(storage, owner.project))
    assert (stored.first, stored.last) == (2, 3)


def test_segments_come_in_pages(owner: DeeplCalls) -> None:
    path = f"{MEMORIES}/{owner.import_tmx(tmx(*PAIRS))}/segments"
    first = owner.get(path, params={"page_size": 2})
    assert first["segment_count"] == 3
    second = owner.get(path, params={"page_size": 2, "page_cursor": first["next_page_cursor"]})
    assert "next_page_cursor" not in second
    rows = [*first["segments"], *second["segments"]]
    assert [(row["source_text"], row["targets"][0]["target_text"]) for row in rows] == PAIRS[::-1]
    found = owner.get(path, params={"filter_text": "WINDOW"})["segments"]
    assert [row["source_text"] for row in found] == [PAIRS[1][0]]
    assert owner.get(path, params={"filter_text": "WINDOW", "filter_case_sensitive": "true"})["segments"] == []
    for bad in ({"page_size": 0}, {"page_size": 101}, {"page_size": "x"}, {"page_cursor": "-1"}):
        assert owner.refused("GET", path, params=bad)[0] == 400


def test_deleting_a_memory_undoes_its_corrections_only(owner: DeeplCalls) -> None:
    owner.import_tmx(tmx(PAIRS[0]))
    id = owner.import_tmx(tmx(*PAIRS[1:]))
    assert owner.call("DELETE", f"{MEMORIES}/{id}").status_code == 204
    assert [one["state"] for one in owner.native("/corrections")["corrections"]] == ["undone", "undone", "learned"]
    assert owner.refused("GET", f"{MEMORIES}/{id}")[0] == 404
    assert owner.translate(PAIRS[0][0]) == [PAIRS[0][1]]


def test_a_large_memory_is_not_deleted(owner: DeeplCalls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deepl_memories, "MAX_DELETED", 2)
    id = owner.import_tmx(tmx(*PAIRS))
    assert owner.refused("DELETE", f"{MEMORIES}/{id}")[0] == 400
    assert owner.get(f"{MEMORIES}/{id}")["segment_count"] == 3


def test_an_export_gives_the_file_without_a_key(owner: DeeplCalls) -> None:
    owner.import_tmx(tmx(PAIRS[0]))
    id = owner.import_tmx(tmx(*PAIRS[1:]))
    begun = owner.post(f"{MEMORIES}/{id}/export", 202)
    assert begun["parameters"] == {"translation_memory_id": id}
    job = owner.get(f"{MEMORIES}/jobs/{begun['job_id']}")
    assert (job["operation"], job["parameters"]) == ("export", {"translation_memory_id": id})
    address = job["results"][0]["download_url"]
    loaded = owner.client.get(address)
    assert [PAIRS[n][1] in loaded.text for n in range(3)] == [False, True, True]
    assert owner.job(begun["job_id"])["download_url"] != address
    assert owner.client.get(address).status_code == 404
    assert owner.get(MEMORIES)["total_count"] == 2


def test_the_same_file_twice_adds_nothing(owner: DeeplCalls) -> None:
    owner.import_tmx(tmx(*PAIRS))
    again = owner.import_tmx(tmx(*PAIRS))
    assert owner.get(f"{MEMORIES}/{again}")["segment_count"] == 0
    assert owner.get(f"{MEMORIES}/{again}/segments")["segments"] == []
    assert len(owner.native("/corrections")["corrections"]) == 3


def test_another_key_does_not_see_it(owner: DeeplCalls, deepl_server: DeeplServer) -> None:
    begun = owner.begin_import()
    id = owner.import_tmx(tmx(*PAIRS))
    eve = deepl_server.project("eves")
    assert eve.refused("GET", f"{MEMORIES}/{id}")[0] == 404
    assert eve.refused("GET", f"{MEMORIES}/jobs/{begun['job_id']}")[0] == 404
    assert eve.get(MEMORIES)["total_count"] == 0


def test_the_address_is_not_logged(owner: DeeplCalls, log_lines: list[str]) -> None:
    LOGGER.setLevel(logging.INFO)  # another test has restored the level
    begun = owner.begin_import()
    owner.client.put(begun["upload_url"], content=b"no XML")
    assert any("/uploads/{token}" in json.loads(line).get("route", "") for line in log_lines)
    assert begun["upload_url"].rpartition("/")[2] not in "".join(log_lines)
