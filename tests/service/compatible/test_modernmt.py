"""ModernMT's API: translate, languages, detection, hints, context vectors, errors."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import pytest
from helpers.modernmt_calls import ModernMTCalls
from helpers.queries import queries_of
from helpers.shared_task import TaskServer
from helpers.tiny_marian import demo_pairs, write_tiny
from starlette.testclient import TestClient

from mtloop.service import Settings

PAIRS = list(demo_pairs())


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> TaskServer:
    folder = tmp_path_factory.mktemp("modernmt")
    (folder / "model").mkdir()
    write_tiny(folder / "model", seed=5)  # translates most texts with some words
    settings = Settings(folder=folder / "data", models=str(folder / "model"), engine_linger=1, max_texts=4, failures=0)
    return TaskServer(settings, folder)


@pytest.fixture(scope="module")
def client(home: TaskServer) -> Iterator[TestClient]:
    with home.serve() as client:
        yield client


@pytest.fixture(scope="module")
def mmt(home: TaskServer, client: TestClient) -> ModernMTCalls:
    """The calls of somebody with one project, en-de."""
    key = home.participant("ann")
    body = {"name": "manual", "source_language": "en", "target_language": "de"}
    assert client.post("/v1/projects", json=body, headers={"x-api-key": key}).status_code == 201
    return ModernMTCalls(client, key)


def test_one_text_and_many(mmt: ModernMTCalls) -> None:
    sources = [source for source, _ in PAIRS[:9]]  # more than one call of the engine may have
    alone = mmt.data("get", "/translate", {"q": sources[0], "source": "en", "target": "de"})
    assert alone["characters"] == len(sources[0])
    many = mmt.data("get", "/translate", {"q": [*sources, " "], "source": "en-GB", "target": "de_DE"})
    assert [one["characters"] for one in many] == [len(source) for source in [*sources, " "]]
    assert many[0]["translation"] == alone["translation"]
    assert many[-1]["translation"] == " "
    assert "detectedLanguage" not in alone


def test_real_get_requests_at_the_root_and_under_the_prefix(mmt: ModernMTCalls) -> None:
    """As Weblate sends them."""
    query = {"q": PAIRS[0][0], "source": "en", "target": "de"}
    answers = [
        mmt.client.get(address, params=query, headers={"MMT-ApiKey": mmt.key}).json()
        for address in ("/translate", "/modernmt/translate")
    ]
    assert answers[0] == answers[1]
    assert answers[0]["data"]["translation"] == mmt.translate(PAIRS[0][0])


def test_languages(mmt: ModernMTCalls) -> None:
    assert mmt.data("get", "/languages") == {"en": ["de"]}
    assert mmt.data("get", "/translate/languages") == ["de", "en"]


def test_detection(mmt: ModernMTCalls) -> None:
    german = "Öffnen Sie die Schublade und schließen Sie danach das Fenster."
    found = mmt.data("get", "/translate/detect", {"q": [german, "Open the drawer, then close all the windows."]})
    assert [one["detectedLanguage"] for one in found] == ["de", "en"]
    assert mmt.data("get", "/translate/detect", {"q": german})["detectedLanguage"] == "de"
    assert mmt.data("get", "/translate", {"q": PAIRS[0][0], "target": "de"})["detectedLanguage"] == "en"


def test_the_user_has_a_billing_period(mmt: ModernMTCalls) -> None:
    user = mmt.data("get", "/users/me")
    assert user["name"] == "ann"
    assert user["billingPeriod"]["begin"] < user["billingPeriod"]["end"]


def test_tags_and_placeholders_are_kept(mmt: ModernMTCalls) -> None:
    assert "[X7X]" in mmt.translate("Open the file [X7X] now.")
    found = mmt.translate('Open the <b>file</b> <x id="7"></x> now.', format="text/html")
    assert '<x id="7"></x>' in found
    assert found.count("<b>") == found.count("</b>") == 1


@pytest.mark.parametrize("format", ["application/xliff+xml", "text/xml"])
def test_the_inline_elements_of_xliff_are_kept(mmt: ModernMTCalls, format: str) -> None:
    """Native codes and what is marked as protected are not translated, and pairs stay nested."""
    codes = ['<bpt id="3">&lt;b&gt;</bpt>', '<ept id="3">&lt;/b&gt;</ept>', '<ph id="4">{0}</ph>']
    elements = [*codes, '<x id="2"/>', '<bx id="5"/>', '<ex id="5"/>', '<mrk mtype="protected">Save as</mrk>']
    text = f'Open <g id="1">the {codes[0]}file{codes[1]}</g>{elements[3]} {codes[2]} &amp; {elements[6]} '
    text += f"{elements[4]}now{elements[5]}."
    found = mmt.translate(text, format=format)
    assert found != text
    for element in (*elements, '<g id="1">', "</g>"):
        assert found.count(element) == 1, found
    ElementTree.fromstring(f"<source>{found}</source>")


def test_a_sentence_with_elements_of_xliff_is_known_with_others(mmt: ModernMTCalls) -> None:
    source, target = PAIRS[5]
    memory = mmt.data("post", "/memories", {"name": "xliff"})["id"]
    mmt.teach(memory, source, target)
    found = mmt.translate(f'<g id="1">{source}</g>', format="application/xliff+xml")
    assert found == f'<g id="1">{target}</g>'


def test_alternatives(mmt: ModernMTCalls) -> None:
    found = mmt.data("get", "/translate", {"q": PAIRS[1][0], "source": "en", "target": "de", "alt_translations": 2})
    assert len(found["altTranslations"]) == 2
    assert found["translation"] not in found["altTranslations"]


def test_hints_limit_what_is_seen(mmt: ModernMTCalls) -> None:
    (source, target), (other, other_target) = PAIRS[2], PAIRS[3]
    known = mmt.data("post", "/memories", {"name": "one", "external_id": "KEY1"})["id"]
    empty = mmt.data("post", "/memories", {"name": "two"})["id"]
    mmt.teach(known, source, target)
    mmt.teach("x_mm-KEY1", other, other_target)
    assert mmt.translate(source) == mmt.translate(source, hints="", context_vector="") == target
    for hints in (known, [known], str(known), "KEY1", ["x_mm-KEY1", 999_999], f"unknown,{known}"):
        assert mmt.translate(source, hints=hints) == target, hints
    assert mmt.translate(source, context_vector=f"{known}:0.5,{empty}:0.1") == target
    assert mmt.translate(other, hints="x_mm-KEY1") == other_target
    for hints in (empty, "unknown"):
        assert mmt.translate(source, hints=hints) != target, hints
    assert mmt.translate(source, context_vector=f"{empty}:1.0") != target


def test_context_vectors(mmt: ModernMTCalls) -> None:
    near, far = (mmt.data("post", "/memories", {"name": name})["id"] for name in ("near", "far"))
    mmt.teach(near, "The zebra drinks water from the river.", "Das Zebra trinkt Wasser aus dem Fluss.")
    mmt.teach(far, "The lion sleeps in the shade.", "Der Löwe schläft im Schatten.")
    text = "A zebra and a river are in the picture."
    body = {"source": "en", "targets": ["de-DE", "fr"], "text": text, "hints": [near, far]}
    found = mmt.data("get", "/context-vector", body)
    assert found["vectors"] == {"de-DE": f"{near}:0.6667"}  # zebra, river; not picture
    files = {"content": ("text.txt.gz", gzip.compress(text.encode()))}
    fields = {"source": "en", "targets": "de", "compression": "gzip", "hints": f"{near},{far}"}
    again = mmt.data("get", "/context-vector", data=fields, files=files)
    assert again["vectors"] == {"de": f"{near}:0.6667"}
    with queries_of("project_events") as queries:
        mmt.data("get", "/context-vector", body | {"targets": ["de"]})
    with queries_of("project_events") as more:
        many = mmt.data("get", "/context-vector", body | {"targets": ["de", "de-DE", *["de"] * 18]})
    assert many["vectors"] == {"de": f"{near}:0.6667", "de-DE": f"{near}:0.6667"}
    assert len(more) == len(queries) == 1  # up to 10,000 corrections are read once


@pytest.mark.parametrize(
    "fields",
    [
        {"targets": []},
        {"targets": ["de"] * 21},
        {"targets": "fr"},
        {"text": ""},
        {"limit": 0},
        {"source": ""},
        {"hints": ["1"] * 101},
    ],
)
def test_context_vectors_that_cannot_be_made(mmt: ModernMTCalls, fields: dict[str, Any]) -> None:
    body = {"source": "en", "targets": "de", "text": "A river.", **fields}
    assert mmt.error("get", "/context-vector", body)[0] == 400


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"source": "en", "target": "de"}, 400),
        ({"q": [], "source": "en", "target": "de"}, 400),
        ({"q": ["a", 1], "source": "en", "target": "de"}, 400),
        ({"q": {"a": 1}, "source": "en", "target": "de"}, 400),
        ({"q": ["a"] * 1_001, "source": "en", "target": "de"}, 400),
        ({"q": "a", "source": "en"}, 400),
        ({"q": "a", "source": "en", "target": "de", "hints": ["1"] * 101}, 400),
        ({"q": "a", "source": "en", "target": "de", "context_vector": ",".join(["1:0.5"] * 101)}, 400),
        ({"q": "a", "source": "en", "target": "xx"}, 400),
        ({"q": "a", "source": "de", "target": "en"}, 400),
        ({"q": "a", "source": "en", "target": "de", "format": "application/json"}, 400),
        ({"q": "a", "source": "en", "target": "de", "alt_translations": 10}, 400),
        ({"q": "a", "source": "en", "target": "de", "alt_translations": "many"}, 400),
        ({"q": "a", "source": "en", "target": "de", "mask_profanities": True}, 400),
        ({"q": "x" * 100_001, "source": "en", "target": "de"}, 413),
        ({"q": "x" * 5_000_000, "source": "en", "target": "de"}, 413),
    ],
)
def test_what_cannot_be_translated(mmt: ModernMTCalls, body: dict[str, Any], status: int) -> None:
    assert mmt.error("get", "/translate", body)[0] == status


def test_a_thousand_texts_in_one_request(mmt: ModernMTCalls) -> None:
    texts = [str(number) for number in range(1_000)]  # without words, so that nothing is computed
    found = mmt.data("get", "/translate", {"q": texts, "source": "en", "target": "de"})
    assert [one["translation"] for one in found] == texts


def test_unknown_memories_and_glossaries_are_ignored(mmt: ModernMTCalls) -> None:
    body = {"q": "Open it now.", "source": "en", "target": "de"}
    plain = mmt.data("get", "/translate", body)
    assert mmt.data("get", "/translate", body | {"glossaries": "unknown,99999"}) == plain
    assert mmt.data("get", "/translate", body | {"hints": "unknown", "context_vector": "99999:0.5"}) == plain


def test_a_slash_at_the_end_of_an_address_changes_nothing(mmt: ModernMTCalls) -> None:
    for path in ("/users/me", "/languages", "/memories", "/translate/languages"):
        assert mmt.data("get", f"{path}/") == mmt.data("get", path)


def test_an_unknown_pair_has_the_name_that_matecat_knows(mmt: ModernMTCalls) -> None:
    status, answer = mmt.send("get", "/translate", {"q": "a", "source": "en", "target": "fr"})
    assert (status, answer["error"]["type"]) == (400, "LanguagePairNotSupportedException")
    assert "en-de" in answer["error"]["message"]


@pytest.mark.parametrize("raw", [b"{", b'"text"', b"[1]", b"\xff\xfe", b'{"q": "\\ud800", "target": "de"}'])
def test_a_body_that_is_not_what_its_header_says(mmt: ModernMTCalls, raw: bytes) -> None:
    headers = {"MMT-ApiKey": mmt.key, "X-HTTP-Method-Override": "GET", "content-type": "application/json"}
    response = mmt.client.post("/translate", content=raw, headers=headers)
    assert (response.status_code, response.json()["status"]) == (400, 400)


@pytest.mark.parametrize(
    ("method", "path"),
    [("get", "/translate"), ("get", "/users/me"), ("get", "/memories"), ("post", "/memories/1/content")],
)
def test_wrong_and_missing_keys(mmt: ModernMTCalls, method: str, path: str) -> None:
    wrong = ModernMTCalls(mmt.client, "wrong-key")
    body = {"q": "a", "source": "en", "target": "de"}
    assert wrong.error(method, path, body)[0] == 401
    without = mmt.client.request(method, f"/modernmt{path}")
    assert (without.status_code, without.json()["status"]) == (401, 401)


@pytest.mark.parametrize(
    ("method", "path"), [("get", "/translate/qe"), ("post", "/translate/batch"), ("delete", "/x/y")]
)
def test_addresses_that_are_not_supported(mmt: ModernMTCalls, method: str, path: str) -> None:
    assert mmt.error(method, path)[0] == 404


def test_a_key_of_several_projects(home: TaskServer, client: TestClient) -> None:
    """Two projects of one pair: the key names one. An answer says how."""
    key = home.participant("zoe")
    body = {"source_language": "en", "target_language": "de"}
    for name in ("first", "second"):
        assert client.post("/v1/projects", json={"name": name, **body}, headers={"x-api-key": key}).status_code == 201
    both, second = ModernMTCalls(client, key), ModernMTCalls(client, f"{key}:second")
    assert "KEY:first" in both.error("get", "/translate", {"q": "a", "source": "en", "target": "de"})[1]
    memory = second.data("post", "/memories", {"name": "mine"})["id"]
    job = both.teach(memory, *PAIRS[4])  # a memory belongs to one project
    assert both.data("get", f"/import-jobs/{job['id']}")["memory"] == memory
    assert second.translate(PAIRS[4][0]) == PAIRS[4][1]
    assert ModernMTCalls(client, f"{key}:first").translate(PAIRS[4][0]) != PAIRS[4][1]
