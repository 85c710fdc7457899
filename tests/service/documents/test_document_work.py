"""People work on the units of a document: drafts, confirmations, undos, and who sees what."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.document_calls import DocumentServer, WorkedDocument
from helpers.file_samples import po
from helpers.postgres import both_databases
from helpers.shared_task import TaskServer

ENTRIES = """msgid "Open the file."
msgstr ""

msgctxt "menu"
msgid "Save {name} now."
msgstr ""

#, fuzzy
msgid "Close the window."
msgstr "Das Fenster öffnen."

#. shown in the title
msgid "Print"
msgstr "Drucken"

#~ msgid "Old"
#~ msgstr "Alt"
"""
CONTENT = po(ENTRIES, header='"Language: de\\n"\n')


@pytest.fixture
def menu(documents: DocumentServer) -> WorkedDocument:
    return documents.upload(CONTENT)


def kind(response: Any) -> tuple[int, str]:
    return response.status_code, response.json()["type"].removeprefix("urn:mtloop:")


@both_databases
def test_an_upload_shows_what_the_file_holds(menu: WorkedDocument) -> None:
    shown = {name: menu.body[name] for name in ("name", "format", "open", "translated", "confirmed", "participant")}
    assert shown == {
        "name": "menu.po",
        "format": "po",
        "open": 3,
        "translated": 1,
        "confirmed": 0,
        "participant": "ann",
    }
    assert (menu.body["units"], menu.body["locked"]) == (4, 0), "the obsolete message is not among them"
    assert menu.show() == menu.body
    units = {unit["source"]: unit for unit in menu.units()}
    assert units["Close the window."] | {"fuzzy": True, "state": "open"} == units["Close the window."]
    assert units["Print"]["target"] == "Drucken"
    assert units["Print"]["note"] == "shown in the title"
    named = units["Save {name} now."]
    assert [(part["text"], part["kind"], part["id"]) for part in named["parts"]] == [
        ("Save ", "text", None),
        ("{name}", "placeholder", 1),
        (" now.", "text", None),
    ]
    assert menu.server.call("GET", "/corrections").json()["corrections"] == []


def place(document: WorkedDocument, source: str) -> int:
    return next(int(unit["index"]) for unit in document.units() if unit["source"] == source)


@both_databases
def test_a_confirmation_is_in_the_log_and_in_the_unit(menu: WorkedDocument) -> None:
    index = place(menu, "Open the file.")
    response = menu.confirm(index, "Öffnen Sie die Datei.", suggestion="Die Datei öffnen.")
    assert response.status_code == 200, response.text
    answer = response.json()
    assert (answer["new"], answer["refused"], answer["waiting"], answer["learned"]) == (True, None, False, None)
    unit = answer["unit"]
    assert (unit["state"], unit["target"], unit["participant"]) == ("confirmed", "Öffnen Sie die Datei.", "ann")
    assert unit["correction"] == answer["number"]
    assert menu.unit(index) == unit
    stored = menu.server.call("GET", f"/corrections/{answer['number']}").json()
    assert stored["proposal"] == "Die Datei öffnen."
    assert stored["document"] == "menu.po"
    assert stored["external_id"] == f"{menu.body['document']}:{index}"
    assert menu.server.nudged == [answer["number"]]
    assert (menu.show()["open"], menu.show()["confirmed"]) == (2, 1)


@both_databases
def test_a_second_confirmation_replaces_the_first(menu: WorkedDocument) -> None:
    index = place(menu, "Open the file.")
    first = menu.confirm(index, "Datei öffnen.").json()["number"]
    second = menu.confirm(index, "Öffnen Sie die Datei.", who="ben").json()
    assert (second["unit"]["participant"], second["unit"]["correction"]) == ("ben", second["number"])
    states = {one["number"]: one["state"] for one in menu.server.call("GET", "/corrections").json()["corrections"]}
    assert states == {first: "replaced", second["number"]: "learned"}


@both_databases
def test_nobody_overwrites_what_they_have_not_seen(menu: WorkedDocument) -> None:
    index = place(menu, "Open the file.")
    seen = menu.unit(index)["version"]
    assert menu.confirm(index, "Datei öffnen.", seen, "ann").status_code == 200
    assert kind(menu.confirm(index, "Die Datei öffnen.", seen, "ben")) == (409, "unit-changed")
    assert kind(menu.draft(index, "Die Datei", seen, "ben")) == (409, "unit-changed")
    assert kind(menu.undo(index, seen, "ben")) == (409, "unit-changed")
    assert menu.unit(index)["target"] == "Datei öffnen."
    assert len(menu.server.call("GET", "/corrections").json()["corrections"]) == 1


@both_databases
def test_a_request_that_is_repeated_changes_nothing(menu: WorkedDocument) -> None:
    """A client whose connection broke does not know whether its request arrived."""
    index = place(menu, "Open the file.")
    drafts = [menu.draft(index, "Datei", 0).json() for _ in range(2)]
    assert drafts[0] == drafts[1]
    answers = [menu.confirm(index, "Datei öffnen.", drafts[0]["version"]).json() for _ in range(2)]
    assert [one["new"] for one in answers] == [True, False]
    assert answers[0]["number"] == answers[1]["number"]
    assert answers[0]["unit"] == answers[1]["unit"]


@both_databases
def test_an_undo_opens_the_unit_with_its_text_as_a_draft(menu: WorkedDocument) -> None:
    index = place(menu, "Open the file.")
    menu.confirm(index, "Datei auf.")
    number = menu.confirm(index, "Datei öffnen.").json()["number"]
    response = menu.undo(index, who="ben")
    assert response.status_code == 200, response.text
    unit = response.json()["unit"]
    assert (unit["state"], unit["target"], unit["correction"]) == ("open", "", None)
    assert unit["draft"] == {"text": "Datei öffnen.", "participant": "ben"}
    states = {one["state"] for one in menu.server.call("GET", "/corrections").json()["corrections"]}
    assert states == {"undone"}
    assert menu.server.nudged[-1] == number + 2
    assert kind(menu.undo(index)) == (409, "unit-not-confirmed")
    assert menu.file() == CONTENT
    again = menu.confirm(index, "Datei öffnen.").json()
    assert (again["new"], again["unit"]["draft"]) == (True, None)


@both_databases
def test_an_undo_and_a_redo_of_the_correction_change_the_unit(menu: WorkedDocument) -> None:
    index = place(menu, "Open the file.")
    number = menu.confirm(index, "Datei öffnen.").json()["number"]
    assert menu.server.call("POST", f"/corrections/{number}/undo").status_code == 200
    unit = menu.unit(index)
    assert (unit["state"], unit["draft"]["text"]) == ("open", "Datei öffnen.")
    assert menu.server.call("POST", f"/corrections/{number}/redo").status_code == 200
    unit = menu.unit(index)
    assert (unit["state"], unit["target"], unit["correction"]) == ("confirmed", "Datei öffnen.", number)


@both_databases
def test_changes_tell_what_others_did(menu: WorkedDocument) -> None:
    first, second = place(menu, "Open the file."), place(menu, "Close the window.")
    known = menu.call("GET", "/units").json()["change"]

    def news() -> tuple[list[int], int]:
        answer = menu.call("GET", "/changes", "tom", params={"after": known}).json()
        return [unit["index"] for unit in answer["units"]], answer["change"]

    assert news() == ([], known)
    draft = menu.draft(second, "Das Fenster", who="ben").json()
    assert news() == ([second], draft["change"])
    confirmed = menu.confirm(first, "Datei öffnen.").json()["unit"]
    assert news() == ([second, first], confirmed["change"])
    known = confirmed["change"]
    assert news() == ([], known)
    menu.server.call("POST", f"/corrections/{confirmed['correction']}/undo")
    assert news()[0] == [first]


@both_databases
def test_filters_and_search(menu: WorkedDocument) -> None:
    opened, fuzzy = place(menu, "Open the file."), place(menu, "Close the window.")
    named, printed = place(menu, "Save {name} now."), place(menu, "Print")
    menu.confirm(opened, "Die ALTE Datei.")
    menu.draft(named, "Jetzt speichern.")

    def found(**query: Any) -> list[int]:
        return [unit["index"] for unit in menu.units(**query)]

    assert found(filter="open") == sorted([named, fuzzy])
    assert found(filter="confirmed") == [opened]
    assert found(filter="translated") == [printed]
    assert found(filter="changed") == sorted([opened, named])
    assert found(filter="failing") == [named]
    assert menu.unit(named)["checks"][0] == {
        "name": "placeholders",
        "message": "{name} is missing",
        "serious": True,
    }
    assert found(search="alte") == [opened]
    assert found(search="WINDOW") == [fuzzy]
    assert found(search="jetzt") == [named]
    assert found(search="%") == []
    assert menu.call("GET", "/units", params={"filter": "blue"}).status_code == 422
    everything = found()
    pages, after = list[int](), -1
    while after is not None:
        answer = menu.call("GET", "/units", params={"after": after, "limit": 2}).json()
        pages += [unit["index"] for unit in answer["units"]]
        after = answer["next"]
    assert pages == everything


@both_databases
def test_a_draft_is_kept_and_can_be_dropped(menu: WorkedDocument) -> None:
    index = place(menu, "Print")
    menu.draft(index, "Druck")
    assert menu.unit(index)["draft"] == {"text": "Druck", "participant": "ann"}
    assert menu.file() == CONTENT
    menu.draft(index, None)
    unit = menu.unit(index)
    assert (unit["draft"], unit["state"], unit["target"]) == (None, "translated", "Drucken")


@both_databases
def test_a_reviewer_refuses_a_confirmation(task_server: TaskServer) -> None:
    with task_server.serve() as client:
        server = DocumentServer.create(task_server, client, review=True)
        menu = server.upload(CONTENT)
        index = place(menu, "Open the file.")
        answer = menu.confirm(index, "Datei öffnen.").json()
        assert (answer["waiting"], answer["unit"]["state"]) == (True, "confirmed")
        review = f"/corrections/{answer['number']}/review"
        assert server.call("POST", review, "olga", json={"accepted": False}).status_code == 200
        assert (menu.unit(index)["state"], menu.unit(index)["draft"]["text"]) == ("open", "Datei öffnen.")
        assert server.call("POST", review, "olga", json={"accepted": True}).status_code == 200
        assert menu.unit(index)["target"] == "Datei öffnen."


@both_databases
def test_what_may_not_be_learned_is_confirmed_all_the_same(menu: WorkedDocument) -> None:
    answer = menu.confirm(place(menu, "Open the file."), "Save the file to a new place now.").json()
    assert answer["refused"] == "the translation does not look like the target language"
    assert answer["unit"]["state"] == "confirmed"
    assert b'msgid "Open the file."\nmsgstr "Save the file to a new place now."' in menu.file()


@both_databases
def test_a_deleted_document_leaves_its_corrections(menu: WorkedDocument) -> None:
    menu.confirm(place(menu, "Open the file."), "Datei öffnen.")
    assert menu.call("DELETE", "", "olga").status_code == 204
    assert kind(menu.call("GET", "")) == (404, "unknown-document")
    assert kind(menu.call("DELETE", "", "olga")) == (404, "unknown-document")
    assert [one["state"] for one in menu.server.call("GET", "/corrections").json()["corrections"]] == ["learned"]
    number = menu.server.call("GET", "/corrections").json()["corrections"][0]["number"]
    assert menu.server.call("POST", f"/corrections/{number}/undo").status_code == 200


def test_a_full_project_undoes(lite: TaskServer) -> None:
    lite.settings = lite.settings.model_copy(update={"max_corrections": 2})
    with lite.serve() as client:
        menu = DocumentServer.create(lite, client).upload(CONTENT)
        opened, printed = place(menu, "Open the file."), place(menu, "Print")
        assert menu.confirm(opened, "Datei öffnen.").status_code == 200
        assert kind(menu.confirm(printed, "Druck")) == (409, "no-more-corrections")
        assert menu.undo(opened).status_code == 200
        assert menu.unit(opened)["draft"]["text"] == "Datei öffnen."
