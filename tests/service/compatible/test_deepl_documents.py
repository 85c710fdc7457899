"""Documents of the DeepL API: they are translated in the background, for whoever has their key."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from fastapi import Request
from helpers.deepl_calls import DeeplCalls, DeeplServer
from helpers.project_server import wait_until

from mtloop.service import state
from mtloop.service.compatible import deepl_documents, deepl_protocol, file_translation
from mtloop.service.compatible.request_fields import RequestFields
from mtloop.service.problems import INTERNAL_ERROR, ProblemError
from mtloop.service.project_log.project_access import AuthorisedProject

PO = b'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "Open the drawer."\nmsgstr ""\n'
PAIR = {"source_lang": "EN", "target_lang": "DE"}


@pytest.fixture(scope="module")
def owner(deepl_server: DeeplServer) -> DeeplCalls:
    return deepl_server.project("documents")


def send(owner: DeeplCalls, content: bytes = PO, name: str = "app.po", **fields: str) -> dict[str, str]:
    response = owner.call("POST", "/v2/document", files={"file": (name, content)}, data=PAIR | fields)
    assert response.status_code == 200, response.text
    return dict(response.json())


def status_of(owner: DeeplCalls, handle: dict[str, str]) -> Any:
    return owner.post(f"/v2/document/{handle['document_id']}", document_key=handle["document_key"])


def done(owner: DeeplCalls, handle: dict[str, str]) -> Any:
    """The status of a document, once it is translated or has failed."""
    for _ in range(300):
        found = status_of(owner, handle)
        if found["status"] in ("done", "error"):
            return found
        time.sleep(0.1)
    raise AssertionError("the document was not translated within 30 seconds")


def load(owner: DeeplCalls, handle: dict[str, str], **options: Any) -> Any:
    options = options or {"json": {"document_key": handle["document_key"]}}
    return owner.call("POST", f"/v2/document/{handle['document_id']}/result", **options)


def test_a_document_is_translated(owner: DeeplCalls) -> None:
    handle = send(owner)
    assert done(owner, handle) == {
        "document_id": handle["document_id"],
        "status": "done",
        "billed_characters": len(PO),
    }
    expected = owner.translate("Open the drawer.")[0]
    loaded = load(owner, handle)
    assert f'msgid "Open the drawer."\nmsgstr "{expected}"' in loaded.text
    assert loaded.headers["content-disposition"] == 'attachment; filename="translated.po"'
    form = load(owner, handle, data={"document_key": handle["document_key"]})  # as the client for Node.js sends it
    assert form.content == loaded.content


def test_a_document_needs_its_key(owner: DeeplCalls, deepl_server: DeeplServer) -> None:
    handle = send(owner)
    done(owner, handle)
    path = f"/v2/document/{handle['document_id']}"
    for wrong in ("", "0" * 64, "ü"):
        assert owner.refused("POST", path, json={"document_key": wrong})[0] == 404
        assert owner.refused("POST", f"{path}/result", json={"document_key": wrong})[0] == 404
    eve = deepl_server.project("eves-documents")
    assert eve.refused("POST", path, json={"document_key": handle["document_key"]})[0] == 404
    assert owner.refused("POST", "/v2/document/unknown", json={"document_key": ""})[0] == 404


def test_a_document_that_is_not_ready(owner: DeeplCalls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deepl_documents, "translated_file", _slowly)
    handle = send(owner)
    wait_until(lambda: status_of(owner, handle)["status"] == "translating")
    assert load(owner, handle).status_code == 503
    monkeypatch.setattr(deepl_documents, "SILENT_SECONDS", 0)  # as if its server had been stopped long ago
    assert status_of(owner, handle) == {
        "document_id": handle["document_id"],
        "status": "error",
        "error_message": deepl_documents.INTERRUPTED,
    }


async def _slowly(*arguments: object) -> bytes:
    await asyncio.sleep(600)
    return b""


def test_a_document_that_cannot_be_translated(owner: DeeplCalls, monkeypatch: pytest.MonkeyPatch) -> None:
    handle = send(owner, b'msgid "a\n')
    failed = done(owner, handle)
    assert failed["status"] == "error"
    assert failed["error_message"].startswith("file")
    assert load(owner, handle).status_code == 400

    async def fail(*arguments: object) -> bytes:
        raise ProblemError(INTERNAL_ERROR)

    monkeypatch.setattr(deepl_documents, "translated_file", fail)
    assert done(owner, send(owner))["error_message"] == INTERNAL_ERROR.detail


def test_too_many_documents(owner: DeeplCalls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deepl_protocol, "MAX_WAITING", 0)
    assert owner.refused("POST", "/v2/document", files={"file": ("app.po", PO)}, data=PAIR)[0] == 429


@pytest.mark.parametrize(
    ("name", "fields", "status"),
    [
        ("app.xyz", {}, 400),
        ("app", {}, 400),
        ("app.po", {"target_lang": ""}, 400),
        ("app.po", {"target_lang": "JA"}, 400),
        ("app.po", {"formality": "more"}, 400),
        ("app.po", {"output_format": "docx"}, 400),
        ("app.po", {"glossary_id": "0" * 32}, 404),
        ("app.po", {"translation_memory_id": "0" * 32}, 404),
    ],
)
def test_bad_documents(owner: DeeplCalls, name: str, fields: dict[str, str], status: int) -> None:
    body = {"files": {"file": (name, PO)}, "data": PAIR | fields}
    assert owner.refused("POST", "/v2/document", **body)[0] == status


def test_only_the_beginning_of_a_document_says_its_language(owner: DeeplCalls, monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole file would take long to decode, in the event loop; and a file of an unknown format is not read at all."""
    looked_at: list[str] = []
    project_of = deepl_documents.project_of

    async def recorded(request: Request, fields: RequestFields, texts: Sequence[str]) -> AuthorisedProject:
        looked_at.extend(texts)
        return await project_of(request, fields, texts)

    monkeypatch.setattr(deepl_documents, "project_of", recorded)
    content = "ä" * 30_000
    assert owner.refused("POST", "/v2/document", files={"file": ("a.pdf", content)}, data=PAIR)[0] == 400
    assert looked_at == []
    send(owner, content.encode(), "a.txt")
    assert looked_at == [content[: file_translation.DETECTED_BYTES // 2]]


def test_a_request_without_a_file(owner: DeeplCalls) -> None:
    assert owner.refused("POST", "/v2/document", data=PAIR) == (400, "file: expected a file in a multipart form")
    too_large = owner.call("POST", "/v2/document", files={"file": ("a.txt", b"x" * 100_001)}, data=PAIR)
    assert too_large.status_code == 413


def test_a_name_beside_the_file(owner: DeeplCalls) -> None:
    handle = send(owner, b"Open the drawer.\n", "upload", filename="folder/notes.txt")
    assert done(owner, handle)["status"] == "done"
    assert load(owner, handle).text == owner.translate("Open the drawer.")[0] + "\n"


def test_a_document_is_gone_after_a_day(owner: DeeplCalls, monkeypatch: pytest.MonkeyPatch) -> None:
    handle = send(owner)
    done(owner, handle)
    monkeypatch.setattr(deepl_documents, "FILE_SECONDS", -1)
    assert load(owner, handle).status_code == 404
    path = f"/v2/document/{handle['document_id']}"
    assert owner.refused("POST", path, json={"document_key": handle["document_key"]})[0] == 404


def test_a_wrong_key_is_refused_before_the_document_is_read(owner: DeeplCalls) -> None:
    body = {"files": {"file": ("a.txt", b"x" * 100_001)}, "data": PAIR}
    assert replace(owner, key="wrong").refused("POST", "/v2/document", **body)[0] == 403
    assert owner.refused("POST", "/v2/document", **body)[0] == 413


def test_too_many_documents_at_the_same_time(owner: DeeplCalls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "MAX_UPLOADS", 0)
    assert owner.refused("POST", "/v2/document", files={"file": ("app.po", PO)}, data=PAIR)[0] == 429


def test_a_name_with_nul(owner: DeeplCalls) -> None:
    part = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a\x00.po"\r\n\r\na\r\n--x--\r\n'
    kind = {"content-type": "multipart/form-data; boundary=x"}
    answer = owner.refused("POST", "/v2/document", content=part, headers=kind)
    assert answer == (400, "file name: NUL is not allowed")
