"""Units follow what any program confirms under their external id, but only if it is right for them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import pytest
from helpers.document_calls import DocumentServer, WorkedDocument
from helpers.file_samples import po, tmx, tu, xliff1
from helpers.postgres import both_databases

from mtloop.service.compatible.deepl_memories import COMPLETED
from mtloop.service.documents.followed_correction import FollowedCorrection, FollowingUnit
from mtloop.service.documents.models import NewDocument, NewUnit, UnitChanged, UnitKey
from mtloop.service.documents.store import external_id
from mtloop.service.project_log.client_store import StoredUpload
from mtloop.service.project_log.event_log import Confirmed, Undone
from mtloop.service.storage import Storage

LINES = b"Open the file\nClose the file\n"
RACES = 30


@both_databases
def test_an_acknowledged_draft_survives_what_happens_at_the_same_time(documents: DocumentServer) -> None:
    """An undo would write its old text over a draft that it has not seen."""
    lost = documents.home.with_storage(lost_drafts)
    assert lost == []


async def lost_drafts(storage: Storage) -> list[int]:
    """The units whose draft was stored, and is not there after an undo of their correction at the same time."""
    project = await storage.projects.find("manual")
    assert project is not None
    units = [NewUnit(str(n), f"Drawer {n}") for n in range(RACES)]
    document = await storage.documents.add(project, NewDocument("ab" * 16, "a.txt", "txt", b"x", units), None)
    lost = []
    for place in range(RACES):
        event = Confirmed(f"Drawer {place}", f"Lade {place}", external_id=external_id(document.token, place))
        added = await storage.corrections.add(project.id, event, None)
        assert added is not None
        seen = (await storage.documents.units_at(document, [place]))[place]
        assert seen.correction == added.correction.number
        key = UnitKey(document.id, place, seen.version)
        _, drafted = await asyncio.gather(
            storage.corrections.add_about(project.id, Undone(added.correction.number), None),
            storage.documents.set_draft(document, key, f"Schublade {place}", None, "de"),
            return_exceptions=True,
        )
        draft = (await storage.documents.units_at(document, [place]))[place].draft
        assert draft is not None
        if isinstance(drafted, UnitChanged):
            assert draft.text == f"Lade {place}"
        elif draft.text != f"Schublade {place}":
            lost.append(place)
    return lost


def confirmed(document: WorkedDocument, index: int, source: str, translation: str, **body: Any) -> None:
    """Confirm a text under the external id of a unit, as any program may."""
    body |= {"source": source, "translation": translation, "external_id": f"{document.body['document']}:{index}"}
    response = document.server.call("POST", "/confirm", json=body | {"wait": "durable"})
    assert response.status_code == 200, response.text


@both_databases
def test_a_correction_of_another_source_changes_no_unit(documents: DocumentServer) -> None:
    document = documents.upload(LINES, "a.txt")
    before = document.units()
    confirmed(document, 1, "Unrelated sentence here", "Ganz anderer Satz")
    assert document.units() == before
    assert document.confirm(1, "Datei schließen").status_code == 200
    confirmed(document, 1, "Unrelated sentence here", "Noch ein Satz")
    assert document.unit(1)["target"] == "Datei schließen"
    assert document.file() == "Open the file\nDatei schließen\n".encode()


def test_a_locked_unit_follows_nothing(lite_documents: DocumentServer) -> None:
    body = '<trans-unit id="1" translate="no"><source>MTLOOP</source></trans-unit>'
    body += '<trans-unit id="2"><source>Open the file</source></trans-unit>'
    document = lite_documents.upload(xliff1(body), "a.xlf")
    assert [unit["state"] for unit in document.units()] == ["locked", "open"]
    before = document.units()
    confirmed(document, 0, "MTLOOP", "Schleife", format="xml")
    assert document.units() == before
    assert document.file() == xliff1(body)


def test_broken_markup_becomes_a_draft(lite_documents: DocumentServer) -> None:
    content = xliff1('<trans-unit id="1"><source>Open the <g id="1">file</g></source></trans-unit>')
    document = lite_documents.upload(content, "a.xlf")
    source = document.unit(0)["source"]
    confirmed(document, 0, source, '<g id="1">Datei öffnen', format="xml")
    unit = document.unit(0)
    assert (unit["state"], unit["correction"]) == ("open", None)
    assert unit["draft"] == {"text": '<g id="1">Datei öffnen', "participant": "ann"}
    assert any(check["serious"] for check in unit["checks"])
    assert document.file() == content
    good = '<g id="1">Datei</g> öffnen'
    confirmed(document, 0, source, good, format="xml")
    assert (document.unit(0)["state"], document.unit(0)["target"]) == ("confirmed", good)


def test_a_person_insists_on_what_a_program_may_not_confirm(lite_documents: DocumentServer) -> None:
    document = lite_documents.upload(po('msgid "Delete {name} now."\nmsgstr ""\n'), "a.po")
    text = "Löschen."
    confirmed(document, 0, "Delete {name} now.", text)
    assert (document.unit(0)["state"], document.unit(0)["draft"]["text"]) == ("open", text)
    assert document.confirm(0, text).status_code == 422
    response = document.confirm(0, text, force=True)
    assert response.status_code == 200, response.text
    assert (response.json()["unit"]["target"], response.json()["unit"]["draft"]) == (text, None)
    number = response.json()["number"]
    assert document.server.call("POST", f"/corrections/{number}/undo").status_code == 200
    assert document.unit(0)["state"] == "open"
    assert document.server.call("POST", f"/corrections/{number}/redo").status_code == 200
    assert document.unit(0)["correction"] == number


def test_a_text_that_the_file_cannot_hold_is_left_out_and_named(
    lite_documents: DocumentServer,
) -> None:
    lines = [f"Open drawer {n}" for n in range(20)]
    document = lite_documents.upload("".join(f"{line}\n" for line in lines).encode(), "a.txt")
    for index in (2, 5, 9):
        confirmed(document, index, lines[index], f"Schublade {index}\nöffnen")
    assert document.confirm(3, "Schublade 3 öffnen").status_code == 200
    assert document.confirm(2, "Schublade 2\nöffnen").status_code == 422
    response = document.call("GET", "/file", "tom")
    assert (response.status_code, response.headers["x-mtloop-left-out"]) == (200, "2, 5, 9")
    assert response.text.splitlines() == [*lines[:3], "Schublade 3 öffnen", *lines[4:]]
    assert document.undo(2).status_code == document.undo(5).status_code == document.undo(9).status_code == 200
    assert "x-mtloop-left-out" not in document.call("GET", "/file", "tom").headers


@pytest.mark.parametrize("format", ["tmx", "tsv"])
@both_databases
def test_an_export_that_was_edited_comes_back(documents: DocumentServer, format: str) -> None:
    units = '<trans-unit id="1"><source>Save  &amp; <g id="1">quit</g></source></trans-unit>'
    document = documents.upload(xliff1(units), "a.xlf")
    assert document.confirm(0, 'Sichern &amp; <g id="1">aus</g>').status_code == 200
    exported = documents.call("GET", f"/export?format={format}").content
    edited = exported.replace(b"Sichern", b"Speichern")
    assert edited != exported
    headers = {"content-type": "application/octet-stream"}
    response = documents.call("POST", f"/import?format={format}", content=edited, headers=headers)
    assert (response.status_code, response.json()["new"]) == (202, 1), response.text
    assert document.unit(0)["target"] == 'Speichern &amp; <g id="1">aus</g>'
    assert b"Speichern &amp; <g" in document.file()


@both_databases
def test_an_import_of_many_units_follows_each(documents: DocumentServer) -> None:
    document = documents.upload(LINES, "a.txt")
    token = document.body["document"]
    pairs = [("Open the file", "Datei öffnen"), ("Something else", "Etwas anderes")]
    units = [tu(en=source, de=target) for source, target in pairs]
    written = "".join(unit.replace("<tu>", f'<tu tuid="{token}:{n}">') for n, unit in enumerate(units))
    headers = {"content-type": "application/octet-stream"}
    response = documents.call("POST", "/import", content=tmx(written), headers=headers)
    assert response.status_code == 202, response.text
    assert [(unit["state"], unit["target"]) for unit in document.units()] == [
        ("confirmed", "Datei öffnen"),
        ("open", ""),
    ]


SAVE = FollowingUnit("Save & quit", "plain", "open", None)
XML = FollowingUnit("Save &amp; <g/>quit", "xml", "open", None)


@pytest.mark.parametrize(
    ("unit", "event", "expected"),
    [
        (SAVE, Confirmed("Save &  quit\n", "Sichern & Ende"), (7, None)),
        (SAVE, Confirmed("Save and quit", "Sichern & Ende"), (None, None)),
        (SAVE, Confirmed("Save &amp; quit", "Sichern &amp; Ende", syntax="html"), (None, "Sichern & Ende")),
        (SAVE, Confirmed("Save &amp; quit", "Sichern und Ende", syntax="html"), (7, None)),
        (SAVE, Confirmed("Save & quit", "  "), (None, None)),
        (XML, Confirmed("Save &amp; <g/>quit", "Sichern &amp; <g/>Ende", syntax="xml"), (7, None)),
        (XML, Confirmed("Save &amp; <g/>quit", "Sichern & <g/>Ende", syntax="xml"), (None, "Sichern & <g/>Ende")),
        (FollowingUnit("Save", "xml", "open", None), Confirmed("Save", "A & B"), (None, "A &amp; B")),
        (FollowingUnit("Save", "plain", "open", None), Confirmed("Save", "A & B"), (7, None)),
        (FollowingUnit("Save", "plain", "locked", 7), Confirmed("Save", "Sichern"), (None, None)),
    ],
)
def test_what_a_unit_follows(unit: FollowingUnit, event: Confirmed, expected: Sequence[object]) -> None:
    chosen = FollowedCorrection.choose(unit, [(7, event)], "de")
    assert (chosen.number, chosen.draft) == tuple(expected)


@pytest.mark.parametrize("api", ["deepl", "modernmt"])
@both_databases
def test_a_memory_that_is_deleted_opens_its_units(documents: DocumentServer, api: str) -> None:
    """Both APIs take back the corrections of a memory when it is deleted."""
    document = documents.upload(LINES, "a.txt")
    number = documents.home.with_storage(lambda storage: imported(storage, document, api))
    assert document.unit(0)["correction"] == number
    delete = {"deepl": delete_deepl, "modernmt": delete_modernmt}[api]
    delete(documents)
    assert documents.call("GET", f"/corrections/{number}").json()["state"] == "undone"
    unit = document.unit(0)
    assert (unit["state"], unit["correction"], unit["draft"]["text"]) == ("open", None, "Datei öffnen")
    assert document.file() == LINES


async def imported(storage: Storage, document: WorkedDocument, api: str) -> int:
    """A memory with a correction of the first unit; its number."""
    project = await storage.projects.find("manual")
    participant = await storage.accounts.find_participant("ann")
    assert project is not None
    assert participant is not None
    named = ""
    if api == "modernmt":
        memory = await storage.clients.add_memory(project.id, "manual")
        assert memory is not None
        named = memory.document
    id = external_id(document.body["document"], 0)
    event = Confirmed("Open the file", "Datei öffnen", document=named, external_id=id, imported=True)
    (number,) = await storage.corrections.add_new(project.id, [event], participant.id) or {}
    if api == "deepl":
        now = time.time()
        upload = StoredUpload(
            "ab" * 16, "cd" * 32, project.id, participant.id, "m", COMPLETED, number, number, "", now, now
        )
        await storage.clients.add_upload(upload)
    return number


def delete_deepl(server: DocumentServer) -> None:
    headers = {"authorization": f"DeepL-Auth-Key {server.keys['ann']}"}
    (memory,) = server.client.get("/v3/translation_memories", headers=headers).json()["translation_memories"]
    path = f"/v3/translation_memories/{memory['translation_memory_id']}"
    assert server.client.delete(path, headers=headers).status_code == 204


def delete_modernmt(server: DocumentServer) -> None:
    headers = {"mmt-apikey": server.keys["olga"]}
    (memory,) = server.client.get("/modernmt/memories", headers=headers).json()["data"]
    assert server.client.delete(f"/modernmt/memories/{memory['id']}", headers=headers).status_code == 200
