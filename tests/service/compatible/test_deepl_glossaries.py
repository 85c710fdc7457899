"""Glossaries of the DeepL API are the glossary of a project."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from helpers.deepl_calls import DeeplCalls, DeeplServer

PAIR = {"source_lang": "en", "target_lang": "de"}
ENTRIES = PAIR | {"entries": "pane\tBereich\nlist box\tListenfeld", "entries_format": "tsv"}


@pytest.fixture
def owner(deepl_server: DeeplServer, request: pytest.FixtureRequest) -> DeeplCalls:
    return deepl_server.project(f"terms-{abs(hash(request.node.name))}")


def create(owner: DeeplCalls, name: str = "ui", **fields: Any) -> dict[str, Any]:
    return dict(owner.post("/v2/glossaries", 201, name=name, **ENTRIES | fields))


def native_terms(owner: DeeplCalls) -> Any:
    return owner.native("/glossary")["terms"]


def set_native(owner: DeeplCalls, terms: dict[str, str]) -> None:
    headers = {"x-api-key": owner.key}
    response = owner.client.patch(f"/v1/projects/{owner.project}", json={"glossary": terms}, headers=headers)
    assert response.status_code == 200


def test_a_new_glossary_is_that_of_the_project(owner: DeeplCalls) -> None:
    made = create(owner)
    assert native_terms(owner) == {"pane": "Bereich", "list box": "Listenfeld"}
    assert made | {"creation_time": ""} == {
        "glossary_id": made["glossary_id"],
        "name": "ui",
        "ready": True,
        **PAIR,
        "creation_time": "",
        "entry_count": 2,
    }
    assert datetime.strptime(made["creation_time"], "%Y-%m-%dT%H:%M:%S.%f%z").tzinfo is not None
    assert owner.get("/v2/glossaries") == {"glossaries": [made]}
    assert owner.get(f"/v2/glossaries/{made['glossary_id']}") == made
    entries = owner.call("GET", f"/v2/glossaries/{made['glossary_id']}/entries")
    assert entries.headers["content-type"].startswith("text/tab-separated-values")
    assert entries.text == "pane\tBereich\nlist box\tListenfeld"
    assert owner.get("/v2/glossary-language-pairs") == {"supported_languages": [PAIR]}


def test_a_translation_may_name_the_glossary(owner: DeeplCalls) -> None:
    source, id = "Hide the pane now.", create(owner)["glossary_id"]
    plain = owner.translate(source)
    assert owner.translate(source, glossary_id=id) == owner.translate(source, glossary_ids=[id]) == plain
    assert owner.call("DELETE", f"/v2/glossaries/{id}").status_code == 204
    body = {"text": source, "source_lang": "EN", "target_lang": "DE", "glossary_id": id}
    assert owner.refused("POST", "/v2/translate", json=body)[0] == 404


def test_another_one_replaces_it_and_the_old_id_is_gone(owner: DeeplCalls) -> None:
    """Weblate creates a new glossary, and deletes the old one."""
    old = create(owner)["glossary_id"]
    new = create(owner, "ui 2", entries="menu\tMenü")["glossary_id"]
    assert old != new
    assert owner.refused("DELETE", f"/v2/glossaries/{old}") == (404, "There is no glossary with this id.")
    assert native_terms(owner) == {"menu": "Menü"}
    assert owner.call("DELETE", f"/v2/glossaries/{new}").status_code == 204
    assert native_terms(owner) == {}
    assert owner.get("/v2/glossaries") == {"glossaries": []}
    assert owner.refused("DELETE", f"/v2/glossaries/{new}")[0] == 404


def test_a_glossary_of_the_native_api_has_a_stable_id(owner: DeeplCalls) -> None:
    set_native(owner, {"pane": "Bereich"})
    shown = owner.get("/v2/glossaries")["glossaries"]
    assert shown == owner.get("/v2/glossaries")["glossaries"]
    assert shown[0]["name"] == owner.project
    edited = owner.call("PATCH", f"/v3/glossaries/{shown[0]['glossary_id']}", json={"name": "ui"}).json()
    assert edited["glossary_id"] == shown[0]["glossary_id"]
    assert edited["creation_time"] == shown[0]["creation_time"]
    assert owner.get("/v2/glossaries")["glossaries"][0]["name"] == "ui"
    assert native_terms(owner) == {"pane": "Bereich"}


def test_version_3_edits_keep_the_id(owner: DeeplCalls) -> None:
    made = owner.post("/v3/glossaries", 201, name="ui", dictionaries=[ENTRIES])
    path = f"/v3/glossaries/{made['glossary_id']}"
    assert made["dictionaries"] == [PAIR | {"entry_count": 2}]
    merged = owner.call("PATCH", path, json={"dictionaries": [ENTRIES | {"entries": "menu\tMenü"}]}).json()
    assert merged["dictionaries"] == [PAIR | {"entry_count": 3}]
    assert merged["creation_time"] == made["creation_time"] == owner.get(path)["creation_time"]
    assert owner.get(f"{path}/entries", params=PAIR)["dictionaries"] == [
        PAIR | {"entries": "pane\tBereich\nlist box\tListenfeld\nmenu\tMenü", "entries_format": "tsv"}
    ]
    replaced = owner.call("PUT", f"{path}/dictionaries", json=ENTRIES | {"entries": "tab\tRegister"})
    assert replaced.json() == PAIR | {"entry_count": 1}
    assert native_terms(owner) == {"tab": "Register"}
    assert owner.call("DELETE", f"{path}/dictionaries", params=PAIR).status_code == 204
    assert native_terms(owner) == {}
    assert owner.get(path)["dictionaries"] == []
    assert [one["glossary_id"] for one in owner.get("/v3/glossaries")["glossaries"]] == [made["glossary_id"]]
    assert owner.call("DELETE", path).status_code == 204
    assert owner.get("/v3/glossaries") == {"glossaries": []}


def test_the_fields_of_a_form(owner: DeeplCalls) -> None:
    """As the client for Node.js sends them."""
    form = {"name": "ui"} | {f"dictionaries[0].{name}": value for name, value in ENTRIES.items()}
    made = owner.call("POST", "/v3/glossaries", data=form)
    assert made.status_code == 201
    assert made.json()["dictionaries"] == [PAIR | {"entry_count": 2}]


def test_csv(owner: DeeplCalls) -> None:
    create(owner, entries='"pane, left",Bereich,en,de\nmenu,"Menü"\n', entries_format="csv")
    assert native_terms(owner) == {"pane, left": "Bereich", "menu": "Menü"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": ""}, "name: expected a value"),
        ({"entries": ""}, "entries: expected at least one term"),
        ({"entries": "pane"}, "entries: row 1: expected a term and its translation, with at most 200 characters each"),
        (
            {"entries": "a\tb\n\tc"},
            "entries: row 2: expected a term and its translation, with at most 200 characters each",
        ),
        ({"entries": ["a\tb", 1]}, "entries: expected one text"),
        ({"entries": 'a,"b', "entries_format": "csv"}, "entries: not a valid CSV table"),
        ({"entries_format": "xml"}, "entries_format: expected tsv or csv"),
        ({"target_lang": "ja"}, "en-ja is not supported. This key translates en-de."),
        ({"entries": "\n".join(f"term {n}\tWort" for n in range(10_001))}, "entries: at most 10,000 terms"),
    ],
)
def test_bad_glossaries(owner: DeeplCalls, fields: dict[str, Any], message: str) -> None:
    body = ENTRIES | {"name": "ui"} | fields
    assert owner.refused("POST", "/v2/glossaries", json=body) == (400, message)
    three = {"name": body["name"], "dictionaries": [body]}
    assert owner.refused("POST", "/v3/glossaries", json=three) == (400, message)


@pytest.mark.parametrize("dictionaries", [[], [ENTRIES, ENTRIES], "all", [ENTRIES, 1], [None]])
def test_bad_dictionaries(owner: DeeplCalls, dictionaries: Any) -> None:
    status, message = owner.refused("POST", "/v3/glossaries", json={"name": "ui", "dictionaries": dictionaries})
    assert status == 400
    assert message.startswith("dictionaries: ")


def test_another_language_pair_has_no_dictionary(owner: DeeplCalls) -> None:
    path = f"/v3/glossaries/{create(owner)['glossary_id']}"
    other = {"source_lang": "en", "target_lang": "fr"}
    assert owner.refused("GET", f"{path}/entries", params=other)[0] == 404
    assert owner.refused("DELETE", f"{path}/dictionaries", params=other)[0] == 404
    assert owner.refused("PUT", f"{path}/dictionaries", json=ENTRIES | other)[0] == 404
    assert owner.refused("PATCH", path, json={"dictionaries": [ENTRIES | other]})[0] == 404
