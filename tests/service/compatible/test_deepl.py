"""The DeepL API: translate, languages, usage, who may do what, and errors."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute
from helpers.deepl_calls import DeeplCalls, DeeplServer, tmx
from helpers.shared_task import TaskServer

from mtloop.service import Settings
from mtloop.service.compatible import deepl, deepl_documents, deepl_glossaries, deepl_memories
from mtloop.service.compatible.deepl_protocol import render
from mtloop.service.problems import DATABASE_UNAVAILABLE, ENGINE_UNAVAILABLE, TOO_LARGE, too_many
from mtloop.service.storage import Storage

SOURCES = [f"Open drawer number {number} of the cabinet." for number in range(1, 10)]
SOURCE, TARGET = SOURCES[0], "Öffnen Sie Schublade Nummer 1 des Schranks."
ROUTERS = [routes.router for routes in (deepl, deepl_documents, deepl_glossaries, deepl_memories)]
WITH_SECRET_ADDRESS = ("/uploads/", "/downloads/")
WEAK = {  # what needs more than the role translate
    ("POST", "/v2/glossaries"),
    ("DELETE", "/v2/glossaries/{id}"),
    ("POST", "/v3/glossaries"),
    ("PATCH", "/v3/glossaries/{id}"),
    ("DELETE", "/v3/glossaries/{id}"),
    ("PUT", "/v3/glossaries/{id}/dictionaries"),
    ("DELETE", "/v3/glossaries/{id}/dictionaries"),
    ("POST", "/v3/translation_memories/import"),
    ("DELETE", "/v3/translation_memories/{id}"),
    ("POST", "/v3/translation_memories/{id}/export"),
}
DICTIONARY = {"source_lang": "en", "target_lang": "de", "entries": "pane\tBereich", "entries_format": "tsv"}
VALID: dict[str, Any] = DICTIONARY | {
    "name": "terms",
    "dictionaries": [DICTIONARY],
    "source_file": {"file_name": "a.tmx", "content_length": 9},
}


def routes() -> list[tuple[str, str]]:
    found = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
    all_of_them = [(method, route.path) for route in found for method in route.methods]
    return sorted(one for one in all_of_them if not any(part in one[1] for part in WITH_SECRET_ADDRESS))


@pytest.fixture(scope="module")
def owner(deepl_server: DeeplServer) -> DeeplCalls:
    return deepl_server.project("texts")


@pytest.fixture(scope="module")
def translator(deepl_server: DeeplServer, owner: DeeplCalls) -> DeeplCalls:
    return deepl_server.member(owner, "texts", "translate")


def test_one_text_and_many(owner: DeeplCalls) -> None:
    """Nine texts are more than the engine takes in one call here."""
    answer = owner.post("/v2/translate", text=[*SOURCES, " "], target_lang="de")["translations"]
    assert [row["billed_characters"] for row in answer] == [len(source) for source in [*SOURCES, " "]]
    assert {row["detected_source_language"] for row in answer} == {"EN"}
    assert answer[-1]["text"] == " "
    assert owner.translate(SOURCE, source_lang="en-GB", target_lang="de_AT") == [answer[0]["text"]]


def test_forms_queries_and_prefixes(owner: DeeplCalls) -> None:
    expected, pair = owner.translate(*SOURCES[:2]), {"source_lang": "EN", "target_lang": "DE"}
    form = owner.call("POST", "/v2/translate", data=pair | {"text": SOURCES[:2]})
    query = owner.call("GET", "/v2/translate", params=pair | {"text": SOURCES[:2]})
    inside = replace(owner, prefix="/deepl").translate(*SOURCES[:2])
    assert [row["text"] for row in form.json()["translations"]] == expected
    assert [row["text"] for row in query.json()["translations"]] == expected
    assert inside == expected


def test_the_key_may_be_in_the_body_and_in_the_query(owner: DeeplCalls) -> None:
    pair = {"text": SOURCE, "target_lang": "DE"}
    body = owner.client.post("/v2/translate", data=pair | {"auth_key": owner.key})
    query = owner.client.post("/v2/translate", data=pair, params={"auth_key": owner.key})
    assert body.json() == query.json()
    assert body.status_code == 200


def test_tags_come_back_byte_for_byte(owner: DeeplCalls) -> None:
    """As Weblate sends placeholders, in an escaped text."""
    text = 'Open <x id="7"></x> &amp; close <x id="12"></x> now.'
    for options in ({"tag_handling": "xml", "ignore_tags": ["x"]}, {"tag_handling": "html"}):
        found = owner.translate(text, **options)[0]
        assert found.count('<x id="7"></x>') == found.count('<x id="12"></x>') == 1
        assert "xliff" not in found


def test_html_that_is_not_to_be_translated_stays(owner: DeeplCalls) -> None:
    for kept in ('<b translate="no">Save as</b>', '<span class="key notranslate">Close <i>it</i></span>'):
        (found,) = owner.translate(f"Press {kept} to close the pane.", tag_handling="html")
        assert found.count(kept) == 1


def test_the_blocks_of_html_are_translated_one_by_one(owner: DeeplCalls) -> None:
    first, second = owner.translate(*SOURCES[:2], tag_handling="html")
    page = "<p>{}</p>\n<p class='x'>{}</p>"
    assert owner.translate(page.format(*SOURCES[:2]), tag_handling="html") == [page.format(first, second)]


def test_a_slash_at_the_end_of_an_address_changes_nothing(owner: DeeplCalls) -> None:
    pair = {"text": [SOURCE], "source_lang": "EN", "target_lang": "DE"}
    for prefix in ("", "/deepl"):
        answer = owner.call("POST", f"{prefix}/v2/translate/", json=pair).json()
        assert [row["text"] for row in answer["translations"]] == owner.translate(SOURCE)
        assert owner.get(f"{prefix}/v2/usage/") == owner.get("/v2/usage")
        assert owner.get(f"{prefix}/v2/glossaries/") == owner.get("/v2/glossaries")
    assert owner.refused("POST", "/v2/translate/", json=pair, headers={"Authorization": "DeepL-Auth-Key x"})[0] == 403


def test_the_content_of_ignored_tags_is_not_translated(owner: DeeplCalls) -> None:
    kept = "<keep a='1'>Save <b>as</b> <keep>now</keep></keep>"
    for tags in (["keep"], "raw,keep"):
        found = owner.translate(f"Press {kept} to close the pane.", tag_handling="xml", ignore_tags=tags)[0]
        assert found.count(kept) == 1
        assert "xliff" not in found


def test_languages(owner: DeeplCalls) -> None:
    assert owner.get("/v2/languages") == [{"language": "EN", "name": "English"}]
    target = [{"language": "DE", "name": "German", "supports_formality": False}]
    assert owner.get("/v2/languages?type=target") == target
    form = owner.call("GET", "/v2/languages", data={"type": "target"})  # the Python client sends it so
    assert form.json() == target
    assert owner.refused("GET", "/v2/languages?type=both")[0] == 400


def test_languages_of_version_3(owner: DeeplCalls) -> None:
    rows = owner.get("/v3/languages?resource=translate_text")
    assert [(row["lang"], row["usable_as_source"], row["usable_as_target"]) for row in rows] == [
        ("en", True, False),
        ("de", False, True),
    ]
    assert owner.refused("GET", "/v3/languages?resource=write")[0] == 404


def test_usage(owner: DeeplCalls) -> None:
    assert owner.get("/v2/usage") == {"character_count": 0, "character_limit": 1_000_000_000_000}


async def make_project(storage: Storage, name: str, languages: tuple[str, str]) -> None:
    """Make a project of the owner of `from-english`, with languages that its model does not have."""
    english = await storage.projects.find("from-english")
    owner = await storage.accounts.find_participant("owner-of-from-english")
    assert english is not None
    assert owner is not None
    await storage.projects.create(name, languages, english.configured, owner=owner.id)


def test_the_source_language_decides_between_projects(deepl_server: DeeplServer) -> None:
    owner = deepl_server.project("from-english")
    deepl_server.home.with_storage(lambda storage: make_project(storage, "from-german", ("de", "de")))
    german = "Öffnen Sie die Schublade und schließen Sie danach das Fenster."
    for text, language in ((german, "DE"), ("Open the drawer, then close all the windows.", "EN")):
        answer = owner.post("/v2/translate", text=[text], target_lang="DE")["translations"][0]
        assert answer["detected_source_language"] == language
    named = replace(owner, key=f"{owner.key}:from-german")
    assert named.get("/v2/languages") == [{"language": "DE", "name": "German"}]


@pytest.mark.parametrize(("method", "path"), routes())
def test_every_route_needs_a_key(owner: DeeplCalls, method: str, path: str) -> None:
    address = re.sub("{id}", "0" * 32, path)
    bodies: list[dict[str, Any]] = [{}] if method == "GET" else [{}, {"json": VALID | {"target_lang": "DE"}}]
    for body in bodies:
        none = owner.client.request(method, address, **body)
        assert (none.status_code, none.json().keys()) == (403, {"message"})
        for key in ("wrong", f"{owner.key}:unknown-project", "wrong:texts"):
            assert replace(owner, key=key).refused(method, address, **body)[0] == 403
        in_body = owner.client.request(method, address, params={"auth_key": "wrong"}, **body)
        assert in_body.status_code == 403


def test_the_role_translate_cannot_teach_or_change_glossaries(
    deepl_server: DeeplServer, owner: DeeplCalls, translator: DeeplCalls
) -> None:
    glossary = owner.post("/v2/glossaries", 201, **DICTIONARY, name="terms")["glossary_id"]
    confirming = deepl_server.member(owner, "texts", "confirm")
    memory = confirming.import_tmx(tmx(("A pane.", "Ein Bereich.")))
    for method, path in routes():
        address = path.replace("{id}", glossary if "glossaries" in path else memory)
        if (method, path) in WEAK:
            assert translator.refused(method, address, json=VALID)[0] == 403, path
            if "glossaries" in path:
                assert confirming.refused(method, address, json=VALID)[0] == 403, path
        elif method == "GET" and ("glossaries" in path or "memories" in path) and "jobs" not in path:
            assert translator.call(method, address, params={"source_lang": "EN", "target_lang": "DE"}).is_success, path
    assert translator.get("/v2/glossary-language-pairs") == {"supported_languages": []}
    assert owner.get("/v2/glossaries")["glossaries"][0]["glossary_id"] == glossary
    assert translator.translate(SOURCE, glossary_id=glossary, translation_memory_id=memory)


TOO_MANY_TAGS = "ignore_tags: at most 100 names of at most 100 characters"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"text": []}, "text: expected at least one text"),
        ({}, "text: expected at least one text"),
        ({"text": ["a", 1]}, "text: expected a text or a list of texts"),
        ({"text": {"a": "b"}}, "text: expected a text or a list of texts"),
        ({"text": ["a", "\x00"]}, "text: NUL is not allowed"),
        ({"text": ["a"] * 1_001}, "text: at most 1,000 texts in one request"),
        ({"text": "a", "formality": "more"}, "formality: expected default, prefer_more or prefer_less"),
        ({"text": "a", "formality": "less"}, "formality: expected default, prefer_more or prefer_less"),
        ({"text": "a", "tag_handling": "json"}, "tag_handling: expected xml or html"),
        ({"text": "a", "tag_handling": "xml", "ignore_tags": ["a"] * 101}, TOO_MANY_TAGS),
        ({"text": "a", "tag_handling": "xml", "ignore_tags": "a," * 101}, TOO_MANY_TAGS),
        ({"text": "a", "tag_handling": "xml", "ignore_tags": "," * 10_201}, TOO_MANY_TAGS),
        ({"text": "a", "tag_handling": "xml", "ignore_tags": "a" * 101}, TOO_MANY_TAGS),
        ({"text": "a", "target_lang": ""}, "target_lang: expected a value"),
        ({"text": "a", "target_lang": ["DE"]}, "target_lang: expected one text"),
        ({"text": "a", "target_lang": "JA"}, "en-JA is not supported. This key translates en-de."),
    ],
)
def test_bad_bodies(owner: DeeplCalls, body: dict[str, Any], message: str) -> None:
    full = {"source_lang": "en", "target_lang": "DE"} | body
    assert owner.refused("POST", "/v2/translate", json=full) == (400, message)


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff\xfe", b'"text"', b"text=a&target_lang=DE"])
def test_a_body_that_is_not_what_its_header_says(owner: DeeplCalls, content: bytes) -> None:
    kinds = ["application/json"] + (["multipart/form-data; boundary=x"] if content != b"[]" else [])
    for kind in kinds:
        status, message = owner.refused("POST", "/v2/translate", content=content, headers={"content-type": kind})
        assert status == 400
        assert message.startswith("body: ")


def test_unknown_ids_are_not_found(owner: DeeplCalls) -> None:
    body = {"text": "a", "source_lang": "EN", "target_lang": "DE"}
    for name in ("glossary_id", "glossary_ids", "translation_memory_id"):
        for id in ("0" * 32, "no id at all"):
            assert owner.refused("POST", "/v2/translate", json=body | {name: id})[0] == 404


def test_a_text_that_is_too_long(owner: DeeplCalls) -> None:
    body = {"text": ["word " * 500], "target_lang": "DE"}
    assert owner.refused("POST", "/v2/translate", json=body)[0] == 413


def test_options_without_effect_are_accepted(owner: DeeplCalls) -> None:
    """Clients send some of them with every request."""
    names = "split_sentences preserve_formatting context model_type outline_detection splitting_tags style_id"
    others = dict.fromkeys(names.split(), "1") | {"formality": "prefer_more", "show_billed_characters": True}
    others |= {"non_splitting_tags": ["a"], "custom_instructions": ["b"], "tag_handling_version": "v2"}
    assert owner.translate(SOURCE, **others) == owner.translate(SOURCE)


def test_methods_that_are_not_there(owner: DeeplCalls) -> None:
    response = owner.call("DELETE", "/v2/translate")
    assert response.status_code == 405
    assert response.json() == {"message": "Method Not Allowed"}


def test_a_used_up_quota(tmp_path: Path) -> None:
    """A day's quota is 456, which clients do not repeat; the rate of a minute is 429."""
    home = TaskServer(Settings(folder=tmp_path / "data", quota=2), tmp_path)
    with home.serve() as client:
        owner = DeeplCalls(client, home.participant())
        owner.get("/v2/usage")
        owner.get("/v2/usage")
        status, message = owner.refused("GET", "/v2/usage")
        assert status == 456
        assert "allowance is used up" in message


def test_the_status_of_problems() -> None:
    problems = (too_many(30), too_many(3_600), TOO_LARGE, ENGINE_UNAVAILABLE, DATABASE_UNAVAILABLE)
    assert [render(problem).status_code for problem in problems] == [429, 456, 413, 503, 503]


def test_as_many_ignored_tags_as_allowed(owner: DeeplCalls) -> None:
    names = [*(f"{number:a<100}" for number in range(99)), "keep"]
    options = {"tag_handling": "xml", "ignore_tags": ", ".join(names)}
    assert "<keep>Save as</keep>" in owner.translate("Press <keep>Save as</keep> now.", **options)[0]
