"""Corrections over HTTP: lists, import, export, the delta, a copy of a project."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.shared_task import TaskServer
from helpers.tiny_marian import demo_pairs
from hypothesis import given
from hypothesis import settings as run
from hypothesis import strategies as st
from lxml import etree
from starlette.testclient import TestClient

import mtloop
from mtloop.data import read
from mtloop.service.project_log import correction_store
from mtloop.service.project_log.correction_store import StoredCorrection
from mtloop.service.project_log.event_log import Confirmed
from mtloop.service.project_log.models import TranslationProject
from mtloop.service.projects.correction_files import EXPORTS, MAX_IMPORTED

PAIRS = list(demo_pairs())[:40]
COPIED = "This is the very same sentence as before."
TSV = {"content-type": "text/tab-separated-values"}
TMX = {"content-type": "application/x-tmx+xml"}
NAMES = iter(range(1000))


@pytest.fixture
def project(ann: TestClient) -> str:
    """A new project."""
    return new_project(ann)


def new_project(client: TestClient, **fields: Any) -> str:
    name = f"p{next(NAMES)}"
    response = client.post("/v1/projects", json={"name": name, **fields})
    assert response.status_code == 201, response.text
    return f"/v1/projects/{name}"


def get(client: TestClient, path: str, status: int = 200) -> dict[str, Any]:
    response = client.get(path)
    assert response.status_code == status, response.text
    return dict(response.json())


def post(client: TestClient, path: str, status: int = 200, **body: Any) -> dict[str, Any]:
    response = client.post(path, json=body)
    assert response.status_code == status, response.text
    return dict(response.json())


def confirm(client: TestClient, project: str, source: str, translation: str, **fields: Any) -> int:
    """Confirm without waiting for the engine, and return the number."""
    body = {"source": source, "translation": translation, "wait": "durable", **fields}
    return int(post(client, f"{project}/confirm", **body)["number"])


def imported(client: TestClient, project: str, content: bytes, headers: dict[str, str], **query: str) -> Any:
    return client.post(f"{project}/import", content=content, headers=headers, params=query)


def wait_until(done: Callable[[], bool]) -> None:
    for _ in range(600):
        if done():
            return
        time.sleep(0.05)
    raise AssertionError("nothing happened within thirty seconds")


def table(pairs: list[tuple[str, str]]) -> bytes:
    return "".join(f"{source}\t{target}\n" for source, target in [("source", "target"), *pairs]).encode()


def test_corrections_are_listed_with_their_states(ann: TestClient, project: str) -> None:
    ann.patch(project, json={"review": True})
    waiting = confirm(ann, project, "Save the file.", "Die Datei speichern.")
    ann.patch(project, json={"review": False})
    refused = confirm(ann, project, COPIED, COPIED, document="menu", external_id="m1")
    undone = confirm(ann, project, "Open the file.", "Öffnen Sie die Datei.", proposal="Offnen")
    post(ann, f"{project}/corrections/{undone}/undo")
    first, second = (confirm(ann, project, "Close", text, external_id="7") for text in ("Zu", "Schließen"))
    rows = get(ann, f"{project}/corrections")["corrections"]
    assert {row["number"]: row["state"] for row in rows} == {
        second: "learned",
        first: "replaced",
        undone: "undone",
        refused: "refused",
        waiting: "waiting",
    }
    assert [row["number"] for row in rows] == sorted((row["number"] for row in rows), reverse=True)
    shown = get(ann, f"{project}/corrections/{refused}")
    assert shown == next(row for row in rows if row["number"] == refused)
    assert shown["refused"] == "the translation is a copy of the source"
    assert (shown["participant"], shown["document"], shown["external_id"]) == ("ann", "menu", "m1")
    assert shown["time"].endswith("Z")
    assert get(ann, f"{project}/corrections/1", 404)["type"] == "urn:mtloop:unknown-correction"  # the settings
    assert get(ann, f"{project}/corrections/{2**40}", 404)["type"] == "urn:mtloop:unknown-correction"


def test_corrections_are_searched_filtered_and_come_in_parts(ann: TestClient, project: str) -> None:
    for number in range(5):
        confirm(ann, project, f"Drawer {number} is open", f"Schublade {number} ist OFFEN")
    part = get(ann, f"{project}/corrections?limit=2")
    assert [row["number"] for row in part["corrections"]] == [6, 5]
    assert part["next"] == 5
    assert [row["number"] for row in get(ann, f"{project}/corrections?after=5&limit=3")["corrections"]] == [4, 3, 2]
    assert get(ann, f"{project}/corrections?after=5&limit=3")["next"] is None
    assert [row["number"] for row in get(ann, f"{project}/corrections?search=offen")["corrections"]] == [6, 5, 4, 3, 2]
    assert [row["number"] for row in get(ann, f"{project}/corrections?search=drawer 3")["corrections"]] == [5]
    assert get(ann, f"{project}/corrections?search=%25")["corrections"] == []
    assert get(ann, f"{project}/corrections?state=refused")["corrections"] == []
    named = confirm(ann, project, "Drawer", "Schublade", external_id="d/1")
    assert [row["number"] for row in get(ann, f"{project}/corrections?external_id=d/1")["corrections"]] == [named]
    assert get(ann, f"{project}/corrections?external_id=d")["corrections"] == []
    for query in ("external_id=%00", "state=lost", "limit=0", "after=0", "search=%00", f"search={'x' * 201}"):
        assert get(ann, f"{project}/corrections?{query}", 422)["type"] == "urn:mtloop:invalid-request"


def test_a_repeated_confirmation_is_described_as_it_is_now(ann: TestClient, project: str) -> None:
    ann.patch(project, json={"review": True})
    accepted, refused, waiting = ({"source": source, "translation": target} for source, target in PAIRS[:3])

    def again(body: dict[str, Any], **fields: Any) -> tuple[int, bool, str | None, bool]:
        answer = post(ann, f"{project}/confirm", **body, **fields)
        return answer["number"], answer["new"], answer["refused"], answer["waiting"]

    assert [again(body) for body in (accepted, refused, waiting)] == [(n, True, None, True) for n in (3, 4, 5)]
    assert again(accepted) == (3, False, None, True)
    post(ann, f"{project}/corrections/3/review", accepted=True)
    post(ann, f"{project}/corrections/4/review", accepted=False)
    assert again(accepted) == (3, False, None, False)
    assert again(refused) == (4, False, "a reviewer refused it", False)
    ann.patch(project, json={"review": False})
    assert again(waiting) == (9, True, None, False)
    assert again(waiting, wait="durable") == (9, False, None, False)
    assert post(ann, f"{project}/translate", text=PAIRS[2][0])["translations"][0]["translation"] == PAIRS[2][1]
    assert post(ann, f"{project}/corrections/5/review", 409, accepted=True)["type"] == "urn:mtloop:equal-correction"


def test_redo_of_what_was_confirmed_anew(ann: TestClient, project: str) -> None:
    first = confirm(ann, project, *PAIRS[0])
    post(ann, f"{project}/corrections/{first}/undo")
    second = confirm(ann, project, *PAIRS[0])
    state = get(ann, project)["state"]
    problem = post(ann, f"{project}/corrections/{first}/redo", 409)
    assert problem["type"] == "urn:mtloop:equal-correction"
    assert get(ann, project)["state"] == state
    post(ann, f"{project}/corrections/{second}/undo")
    post(ann, f"{project}/corrections/{first}/redo")
    assert [row["number"] for row in get(ann, f"{project}/corrections?state=learned")["corrections"]] == [first]


def test_what_the_learner_rejects_is_shown_with_its_reason(ann: TestClient) -> None:
    project = new_project(ann, method="lora")
    body: dict[str, Any] = {"source": "Save {name} as a new copy.", "translation": "Als neue Kopie speichern."}
    reason = "the source and the translation have different placeholders"
    answer = post(ann, f"{project}/confirm", **body)
    assert (answer["refused"], answer["learned"]["rejected"]) == (reason, "placeholders")
    wait_until(lambda: get(ann, f"{project}/corrections/2")["state"] == "rejected")
    assert get(ann, f"{project}/corrections/2")["refused"] == reason
    assert [row["number"] for row in get(ann, f"{project}/corrections?state=rejected")["corrections"]] == [2]
    assert get(ann, f"{project}/corrections?state=learned")["corrections"] == []
    again = post(ann, f"{project}/confirm", **body, wait="durable")
    assert (again["new"], again["refused"]) == (False, reason)
    job = get(ann, f"{project}/jobs/2-2")
    assert (job["counted"], job["learned"], job["rejected"], job["done"]) == (1, 1, 1, True)
    exported = ann.get(f"{project}/export?format=tsv").text
    assert body["source"] in exported  # another method may learn it


def test_a_repeated_confirmation_says_why_it_was_rejected_also_during_a_rebuild(
    ann: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = new_project(ann, method="lora")
    body: dict[str, Any] = {"source": "Save {name} as a new copy.", "translation": "Als neue Kopie speichern."}
    reason = post(ann, f"{project}/confirm", **body)["refused"]
    wait_until(lambda: get(ann, f"{project}/corrections/2")["state"] == "rejected")
    application: Any = ann.app
    engines = application.state.service.engines

    async def rebuilding(project_id: int, call: str, **_: Any) -> dict[str, Any]:
        assert call == "learn"
        return {"learned": None, "proof": None, "state": 2, "rebuilding": True}

    with monkeypatch.context() as patch:
        patch.setattr(engines, "call", rebuilding)
        again = post(ann, f"{project}/confirm", **body)
    assert reason == "the source and the translation have different placeholders"
    assert (again["new"], again["rebuilding"], again["refused"]) == (False, True, reason)
    wait_until(lambda: get(ann, f"{project}/jobs/2-2")["done"])
    assert get(ann, f"{project}/corrections/2")["refused"] == reason


def test_an_export_is_in_the_order_of_the_lessons(ann: TestClient, project: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(correction_store, "ROWS_PER_PART", 2)
    ann.patch(project, json={"review": True})
    numbers = [confirm(ann, project, source, target) for source, target in PAIRS[:5]]
    for number in numbers[::-1]:
        post(ann, f"{project}/corrections/{number}/review", accepted=True)
    rows = ann.get(f"{project}/export?format=tsv").text.splitlines()[1:]
    assert [row.split("\t")[0] for row in rows] == [source for source, _ in PAIRS[:5]][::-1]


def test_an_imported_file_is_learned_in_the_background(ann: TestClient, project: str) -> None:
    pairs = [*PAIRS[:20], (COPIED, COPIED)]
    response = imported(ann, project, table(pairs), TSV, format="tsv")
    assert response.status_code == 202, response.text
    answer = response.json()
    assert answer.pop("missing_placeholders") == 0
    assert answer == {"job": "2-22", "first": 2, "last": 22, "new": 21, "known": 0, "refused": 1, "skipped": {}}
    assert response.headers["location"] == f"{project}/jobs/2-22"
    job = f"{project}/jobs/2-22"
    wait_until(lambda: bool(get(ann, job)["done"]))
    done = get(ann, job)
    assert (done["corrections"], done["counted"], done["learned"], done["refused"]) == (21, 20, 20, 1)
    source, target = PAIRS[3]
    assert post(ann, f"{project}/translate", text=source)["translations"][0]["translation"] == target
    again = imported(ann, project, table(pairs), TSV, format="tsv").json()
    assert (again["job"], again["new"], again["known"], again["refused"]) == (None, 0, 21, 0)
    person = post(ann, f"{project}/confirm", source="One more sentence", translation="Noch ein Satz", wait="durable")
    assert person["refused"] is None  # an import is no flood of confirmations
    assert get(ann, f"{project}/jobs/2-900", 404)["type"] == "urn:mtloop:unknown-job"
    assert get(ann, f"{project}/jobs/9-2", 404)["type"] == "urn:mtloop:unknown-job"
    assert get(ann, f"{project}/jobs/a-b", 422)["type"] == "urn:mtloop:invalid-request"


def test_lost_placeholders_are_named_and_counted(ann: TestClient, project: str) -> None:
    """What a person confirmed counts all the same."""
    body = {"source": "Progress: %d%% of <b>{name}</b> done", "translation": "Fortschritt von {name}"}
    answer = post(ann, f"{project}/confirm", **body, wait="durable")
    assert (answer["refused"], answer["missing"]) == (None, ["%d", "%%", "<b>", "</b>"])
    pairs = [("Copy %s to {place}", "%s kopieren"), ("Read <b>README.md</b>", "Lesen"), ("Save %s", "%s speichern")]
    icu = "{n, plural, one {# file in {place}} other {# files in {place}}}", "{n, plural, other {# in {place}}}"
    answer = imported(ann, project, table([*pairs, icu]), TSV, format="tsv").json()
    assert (answer["new"], answer["refused"], answer["missing_placeholders"]) == (4, 0, 1)


def test_tmx_and_po_files_are_imported(ann: TestClient, project: str) -> None:
    ann.patch(project, json={"review": True})
    units = (("Save", "en-US", "Speichern", "de-DE"), ("Close", "en", "Fermer", "fr"))
    body = "".join(
        f'<tu><tuv xml:lang="{one}"><seg>{source}</seg></tuv><tuv xml:lang="{other}"><seg>{target}</seg></tuv></tu>'
        for source, one, target, other in units
    )
    content = f'<tmx version="1.4"><header srclang="en"/><body>{body}</body></tmx>'.encode()
    answer = imported(ann, project, content, TMX, format="tmx").json()
    assert answer["new"] == 1
    assert answer["skipped"] == {"in other languages": 1}
    catalogue = b'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "Open"\nmsgstr "Aufmachen"\n'
    answer = imported(ann, project, catalogue, {"content-type": "text/x-po"}, format="po").json()
    assert answer["new"] == 1
    rows = get(ann, f"{project}/corrections?state=waiting")["corrections"]
    assert [(row["source"], row["translation"]) for row in rows] == [("Open", "Aufmachen"), ("Save", "Speichern")]


def test_inline_elements_of_tmx_come_back(ann: TestClient) -> None:
    project = new_project(ann, method="memory")
    pairs = [
        ('Press <ph x="1"/> <hi>now</hi>.', 'Jetzt <hi>hier</hi> <ph x="1"/> drücken.'),
        ("Open <hi>Files</hi> first.", "Zuerst <hi>Dateien</hi> öffnen."),
    ]
    units = (
        f'<tu><tuv xml:lang="en"><seg>{one}</seg></tuv><tuv xml:lang="de"><seg>{two}</seg></tuv></tu>'
        for one, two in pairs
    )
    content = f'<tmx version="1.4"><header srclang="en"/><body>{"".join(units)}</body></tmx>'.encode()
    answer = imported(ann, project, content, TMX, format="tmx").json()
    assert (answer["new"], answer["refused"]) == (2, 0)
    wait_until(lambda: bool(get(ann, f"{project}/jobs/{answer['job']}")["done"]))
    assert {one["format"] for one in get(ann, f"{project}/corrections")["corrections"]} == {"xml"}
    for source, target in pairs:
        answer = post(ann, f"{project}/translate", text=source, format="xml")["translations"][0]
        assert (answer["translation"], answer["repeated"]) == (target, True)
    plain = post(ann, f"{project}/translate", text="Open Files first.")["translations"][0]
    assert plain["translation"] == "Zuerst Dateien öffnen."


BOMB = b"""<?xml version="1.0"?><!DOCTYPE tmx [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<tmx version="1.4"><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>&b;</seg></tuv></tu></body></tmx>"""


@pytest.mark.parametrize(
    ("content", "kind", "words"),
    [
        (BOMB, "tmx", "entities are unsafe"),
        (b"<html/>", "tmx", "expected <tmx>"),
        (b"", "tmx", "file"),
        (b"source\ttarget\n\xff\tx\n", "tsv", "file:2: invalid UTF-8"),
        (b"source\ttarget\na\x00\tx\n", "tsv", "NUL"),
        (b"one\ttwo\nx\ty\n", "tsv", "no column"),
        (b"source\ttarget\n\t\n", "tsv", "no translated pair"),
        (b"\x89PNG", "po", "file"),
    ],
)
def test_a_file_that_cannot_be_read_adds_nothing(
    ann: TestClient, project: str, content: bytes, kind: str, words: str
) -> None:
    response = imported(ann, project, content, {"content-type": "application/octet-stream"}, format=kind)
    assert response.status_code == 422, response.text
    assert words in response.json()["detail"]
    assert "/tmp" not in response.text
    assert "--" not in response.json()["detail"]
    assert get(ann, project)["state"] == 1


def test_an_import_needs_a_format_its_type_and_a_bearable_size(project_home: TaskServer, ann: TestClient) -> None:
    project = new_project(ann)
    assert imported(ann, project, b"x", TSV, format="docx").status_code == 422
    wrong = imported(ann, project, b"x", {"content-type": "application/json"}, format="tsv")
    assert (wrong.status_code, wrong.json()["type"]) == (415, "urn:mtloop:wrong-content-type")
    assert wrong.json()["detail"].endswith("text/tab-separated-values or text/plain or application/octet-stream.")
    rows = b"source\ttarget\n" + b"a\tb\n" * (MAX_IMPORTED + 1)
    many = imported(ann, project, rows, TSV, format="tsv")
    assert many.status_code == 422
    assert "split" in many.json()["detail"]
    small = TaskServer(project_home.settings.model_copy(update={"max_upload": 100}), project_home.folder)
    with small.serve(str(ann.headers["x-api-key"])) as client:
        large = imported(client, project, table(PAIRS), TSV, format="tsv")
    assert (large.status_code, large.json()["type"]) == (413, "urn:mtloop:too-large")


def test_a_method_that_learns_from_ratings_imports_nothing_and_has_no_delta(ann: TestClient) -> None:
    project = new_project(ann, method="nmt-el")
    response = imported(ann, project, table(PAIRS), TSV, format="tsv")
    assert (response.status_code, response.json()["type"]) == (409, "urn:mtloop:no-corrections")
    assert get(ann, f"{project}/delta", 409)["type"] == "urn:mtloop:no-delta"


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).filter(lambda text: text.strip())
IN_XML = TEXTS.filter(lambda text: not any((ord(c) < 32 and c not in "\t\n\r") or c in "\ufffe\uffff" for c in text))
IN_TABLES = TEXTS.filter(lambda text: not set(text) & set("\t\n\r\x00"))


@run(max_examples=60, deadline=None)
@given(pairs=st.lists(st.tuples(IN_XML, IN_XML, IN_XML), min_size=1, max_size=5))
def test_an_exported_tmx_file_is_read_back(pairs: list[tuple[str, str, str]], scratch: Path) -> None:
    path = scratch / "file.tmx"
    path.write_bytes(written("tmx", pairs))
    found = read(path)
    assert [(one.source, truth.references[0], one.document) for one, truth in found] == pairs
    assert (found.source_lang, found.target_lang) == ("en", "de")


@run(max_examples=60, deadline=None)
@given(pairs=st.lists(st.tuples(IN_TABLES, IN_TABLES, IN_TABLES), min_size=1, max_size=5))
def test_an_exported_table_is_read_back(pairs: list[tuple[str, str, str]], scratch: Path) -> None:
    path = scratch / "file.tsv"
    path.write_bytes(written("tsv", pairs))
    assert [(one.source, truth.references[0], one.document) for one, truth in read(path)] == pairs


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("exports")


def written(kind: str, pairs: list[tuple[str, str, str]]) -> bytes:
    project = TranslationProject(1, "p", "en", "de", "m", "lora")
    corrections = [
        StoredCorrection(number, Confirmed(source, target, document=document), "learned", 0.0)
        for number, (source, target, document) in enumerate(pairs)
    ]
    chosen = EXPORTS[kind]
    return (chosen.head(project) + chosen.body(project, corrections) + chosen.tail).encode()


def test_what_counts_is_exported(ann: TestClient, project: str, tmp_path: Path) -> None:
    confirm(ann, project, "a < b & c", "„a\nb“\tc\x01", document="d.txt")
    undone = confirm(ann, project, "Open the file.", "Öffnen Sie die Datei.")
    post(ann, f"{project}/corrections/{undone}/undo")
    confirm(ann, project, COPIED, COPIED)
    tmx = ann.get(f"{project}/export")
    assert tmx.headers["content-type"].startswith("application/x-tmx+xml")
    assert tmx.headers["content-disposition"] == f'attachment; filename="{project.rpartition("/")[2]}.tmx"'
    root = etree.fromstring(tmx.content)
    assert root.get("version") == "1.4"
    path = tmp_path / "export.tmx"
    path.write_bytes(tmx.content)
    assert [(one.source, truth.references) for one, truth in read(path)] == [("a < b & c", ("„a\nb“\tc\ufffd",))]
    tsv = ann.get(f"{project}/export?format=tsv")
    assert tsv.text == "source\ttarget\tmt\tdocument\tformat\texternal_id\na < b & c\t„a b“ c\x01\t\td.txt\t\t\n"
    assert get(ann, f"{project}/export?format=doc", 422)["type"] == "urn:mtloop:invalid-request"


@pytest.mark.parametrize("kind", ["tmx", "tsv"])
def test_an_export_keeps_format_and_external_id(ann: TestClient, project: str, kind: str) -> None:
    confirm(ann, project, "Open <b>it</b>", "Öffnen <b>Sie es</b>", format="html", external_id="menu/1 & 2")
    confirm(ann, project, "Close it now", "Jetzt schließen", document="menu")
    content = ann.get(f"{project}/export?format={kind}").content
    copy = new_project(ann)
    answer = imported(ann, copy, content, {"content-type": "application/octet-stream"}, format=kind).json()
    assert (answer["new"], answer["skipped"]) == (2, {})
    rows = get(ann, f"{copy}/corrections")["corrections"]
    fields = ("source", "translation", "format", "external_id", "document")
    assert [tuple(row[name] for name in fields) for row in rows] == [
        ("Close it now", "Jetzt schließen", "text", "", "menu"),
        ("Open <b>it</b>", "Öffnen <b>Sie es</b>", "html", "menu/1 & 2", ""),
    ]
    again = imported(ann, project, content, {"content-type": "application/octet-stream"}, format=kind).json()
    assert (again["new"], again["known"]) == (0, 2)


def import_units(client: TestClient, project: str, *units: tuple[str, str, str]) -> int:
    """Import a TMX file with these ids, sources and translations. Return how many corrections are new."""
    answer = imported(client, project, tmx_with_ids(*units), {"content-type": "application/x-tmx+xml"})
    return int(answer.json()["new"])


def tmx_with_ids(*units: tuple[str, str, str]) -> bytes:
    body = "".join(
        f'<tu tuid="{id}"><tuv xml:lang="en"><seg>{source}</seg></tuv><tuv xml:lang="de"><seg>{target}</seg></tuv></tu>'
        for id, source, target in units
    )
    return f'<tmx version="1.4"><header srclang="en"/><body>{body}</body></tmx>'.encode()


def test_a_unit_of_tmx_keeps_its_id_and_replaces_the_one_with_the_same_id(ann: TestClient, project: str) -> None:
    first = ("menu.open", "Open it now", "Jetzt auf"), ("menu.close", "Close it now", "Jetzt zu")
    assert [import_units(ann, project, *first) for _ in range(2)] == [2, 0]
    assert import_units(ann, project, ("menu.open", "Open the file now", "Die Datei jetzt auf")) == 1
    fields = ("external_id", "source", "state")
    rows = get(ann, f"{project}/corrections")["corrections"]
    assert {tuple(row[name] for name in fields) for row in rows} == {
        ("menu.open", "Open it now", "replaced"),
        ("menu.open", "Open the file now", "learned"),
        ("menu.close", "Close it now", "learned"),
    }
    units = etree.fromstring(ann.get(f"{project}/export").content).iter("tu")
    assert [unit.get("tuid") for unit in units] == ["menu.close", "menu.open"]


def test_ids_of_tmx_that_name_no_unit_replace_nothing(ann: TestClient, project: str) -> None:
    """Counters of a file, ids of several sources, and ids that are too long."""
    twice = ("x", "Close it now", "Jetzt zu"), ("x", "Save it now", "Jetzt sichern")
    others = ("1", "Open it now", "Jetzt auf"), ("y" * 201, "Send it now", "Jetzt senden")
    assert import_units(ann, project, *twice, *others) == 4
    assert import_units(ann, project, ("1", "Move it now", "Jetzt bewegen")) == 1
    rows = get(ann, f"{project}/corrections")["corrections"]
    assert {(row["external_id"], row["state"]) for row in rows} == {("", "learned")}


def test_the_delta_translates_like_the_project(ann: TestClient, project: str, tiny_model: str, tmp_path: Path) -> None:
    path = tmp_path / "new.safetensors"
    path.write_bytes(ann.get(f"{project}/delta").content)  # before it learned anything
    with mtloop.load(tiny_model, delta=path) as translator:
        assert translator.corrections_ == 0
    for source, target in PAIRS[:5]:
        post(ann, f"{project}/confirm", source=source, translation=target, proof=False)
    response = ann.get(f"{project}/delta")
    assert response.status_code == 200, response.text
    path.write_bytes(response.content)
    with mtloop.load(tiny_model, delta=path) as translator:
        for source, _ in PAIRS[:8]:
            expected = post(ann, f"{project}/translate", text=source)["translations"][0]["translation"]
            assert str(translator.translate(source)) == expected
        assert translator.corrections_ == 5


def test_a_copy_translates_like_its_original(ann: TestClient, project: str) -> None:
    ann.patch(project, json={"glossary": {"file": "Akte"}, "review": True})
    numbers = [confirm(ann, project, source, target) for source, target in PAIRS[:6]]
    for number in numbers[::-1]:
        post(ann, f"{project}/corrections/{number}/review", accepted=number != numbers[2])
    post(ann, f"{project}/corrections/{numbers[0]}/undo")
    name = f"copy{next(NAMES)}"
    made = post(ann, f"{project}/fork", 201, name=name)
    old = get(ann, project)
    assert made | {"name": old["name"], "state": old["state"]} == old
    copy = f"/v1/projects/{name}"
    assert get(ann, copy)["state"] == made["state"] == 1 + 1 + 4
    assert post(ann, f"{project}/fork", 409, name=name)["type"] == "urn:mtloop:project-exists"
    rows = get(ann, f"{copy}/corrections")["corrections"]
    assert [row["source"] for row in rows] == [PAIRS[one][0] for one in (1, 3, 4, 5)]  # accepted in this order
    wait_until(lambda: not post(ann, f"{project}/translate", text="x")["rebuilding"])
    for source, _ in PAIRS[:8]:
        both = [post(ann, f"{one}/translate", text=source)["translations"][0] for one in (project, copy)]
        assert both[0]["translation"] == both[1]["translation"]


@pytest.fixture(scope="module")
def bob(project_home: TaskServer, ann: TestClient) -> Iterator[TestClient]:
    """A participant who may translate in the project `shared`, served by the same application."""
    response = ann.post("/v1/projects", json={"name": "shared"})
    assert response.status_code == 201
    key = project_home.participant("bobby")
    assert ann.put("/v1/projects/shared/members/bobby", json={"role": "translate"}).status_code == 204
    with project_home.serve(key) as client:
        yield client


def test_a_translator_reads_corrections_and_takes_nothing_away(bob: TestClient) -> None:
    assert get(bob, "/v1/projects/shared/corrections")["corrections"] == []
    for method, route in (("GET", "export"), ("GET", "delta"), ("POST", "fork"), ("POST", "import")):
        response = bob.request(method, f"/v1/projects/shared/{route}")
        assert (response.status_code, response.json()["type"]) == (403, "urn:mtloop:role-too-weak")
