"""Every check over every API, with requests as clients make them. The docs list the checks and the clients."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from client_environments import NODE, PYTHON, QUICK
from helpers.deepl_calls import tmx
from helpers.shared_task import TaskServer
from helpers.tiny_marian import demo_pairs, write_tiny
from starlette.testclient import TestClient

from mtloop.service import Settings
from mtloop.service.compatible.openai_chat import SEPARATOR

PAIRS = list(demo_pairs())
UNRELATED = PAIRS[30][0]
PROMPT = """
You are a highly skilled translation assistant, adept at translating text
from language '{source}'
to language '{target}'
You receive an input as strings separated by a line.
"""
MAX_TEXT = 20_000
Send = Callable[..., httpx2.Response]


@dataclass(frozen=True)
class Api:
    """What the clients of an API send and read. `send` has the address of the API and a key already."""

    name: str
    error: tuple[str, ...]
    """Where the message of an error is."""
    statuses: dict[str, int]
    """Of a wrong key, a missing key, an unknown pair, a text that is too long, and too many texts."""
    tagged: dict[str, str] = field(default_factory=dict)
    """The option with which tags are tags."""
    most: int = 1_000

    def translate(self, send: Send, texts: Sequence[str], target: str = "de", **options: Any) -> httpx2.Response:
        many = {"source": "en", "target": target, "q": list(texts)} | options
        if self.name == "libretranslate":
            return send("POST", "/translate", json=many)
        if self.name == "deepl":
            body = {"text": list(texts), "source_lang": "EN", "target_lang": target.upper()}
            return send("POST", "/v2/translate", json=body | options)
        if self.name == "modernmt":
            return send("POST", "/translate", json=many, headers={"x-http-method-override": "GET"})
        messages = [
            {"role": "system", "content": PROMPT.format(source="en", target=target)},
            {"role": "user", "content": SEPARATOR.join(texts)},
        ]
        return send("POST", "/v1/chat/completions", json={"model": "manual", "messages": messages} | options)

    def texts(self, answer: httpx2.Response) -> list[str]:
        assert answer.status_code == 200, answer.text
        body = answer.json()
        if self.name == "libretranslate":
            return list(body["translatedText"])
        if self.name == "deepl":
            return [one["text"] for one in body["translations"]]
        if self.name == "modernmt":
            return [one["translation"] for one in body["data"]]
        return str(body["choices"][0]["message"]["content"]).split(SEPARATOR)

    def message(self, answer: httpx2.Response) -> str:
        assert answer.headers["content-type"].startswith("application/json")
        found = answer.json()
        for name in self.error:
            found = found[name]
        assert isinstance(found, str)
        assert "\n" not in found
        return found


APIS = {
    "libretranslate": Api(
        "libretranslate",
        ("error",),
        {"wrong": 403, "missing": 400, "pair": 400, "long": 400, "many": 400},
        {"format": "html"},
    ),
    "deepl": Api(
        "deepl",
        ("message",),
        {"wrong": 403, "missing": 403, "pair": 400, "long": 413, "many": 400},
        {"tag_handling": "xml"},
    ),
    "modernmt": Api(
        "modernmt",
        ("error", "message"),
        {"wrong": 401, "missing": 401, "pair": 400, "long": 413, "many": 400},
        {"format": "text/html"},
    ),
    "openai": Api(
        "openai",
        ("error", "message"),
        {"wrong": 401, "missing": 401, "pair": 400, "long": 400, "many": 400},
        most=100,
    ),
}
KEY_HEADERS = {"libretranslate": "authorization", "deepl": "authorization", "modernmt": "mmt-apikey"}
KEY_FORMS = {"libretranslate": "Bearer {}", "deepl": "DeepL-Auth-Key {}", "modernmt": "{}"}
every_api = pytest.mark.parametrize("api", APIS.values(), ids=list(APIS))


@dataclass(frozen=True)
class Server:
    client: TestClient
    key: str

    def sender(self, api: Api, key: str | None = None) -> Send:
        """Sends requests to an API, below its prefix, with the key where its clients put it."""
        header, form = KEY_HEADERS.get(api.name, "authorization"), KEY_FORMS.get(api.name, "Bearer {}")
        chosen = self.key if key is None else key

        def send(method: str, path: str, **options: Any) -> httpx2.Response:
            headers = ({header: form.format(chosen)} if chosen else {}) | options.pop("headers", {})
            response: httpx2.Response = self.client.request(method, f"/{api.name}{path}", headers=headers, **options)
            return response

        return send

    def translate(self, api: Api, *texts: str, **options: Any) -> list[str]:
        return api.texts(api.translate(self.sender(api), texts, **options))

    def native(self, method: str, path: str, **options: Any) -> Any:
        response = self.client.request(method, f"/v1/projects{path}", headers={"x-api-key": self.key}, **options)
        assert response.is_success, response.text
        return response.json()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("every_api")
    (folder / "model").mkdir()
    write_tiny(folder / "model", seed=5)
    limits: dict[str, Any] = {"failures": 0, "anonymous": 0, "max_text": MAX_TEXT}
    settings = Settings(folder=folder / "data", models=str(folder / "model"), engine_linger=1, **limits)
    home = TaskServer(settings, folder)
    with home.serve() as client:
        found = Server(client, home.participant("ann"))
        body = {"name": "manual", "source_language": "en", "target_language": "de"}
        found.native("POST", "", json=body)
        yield found


@every_api
def test_one_and_many(server: Server, api: Api) -> None:
    texts = [source for source, _ in PAIRS[50:53]]
    native = server.native("POST", "/manual/translate", json={"text": texts})["translations"]
    assert server.translate(api, *texts) == [one["translation"] for one in native]
    assert server.translate(api, texts[1]) == [native[1]["translation"]]


@every_api
def test_languages(server: Server, api: Api) -> None:
    paths = {"libretranslate": "/languages", "deepl": "/v2/languages?type=target", "modernmt": "/translate/languages"}
    answer = server.sender(api)("GET", paths.get(api.name, "/v1/models"))
    assert answer.status_code == 200
    assert ('"manual"' if api.name == "openai" else '"de"') in answer.text.lower()


@every_api
@pytest.mark.parametrize("text", ["Send %s files to {name}.", "Wait [X5X] or @@PH11@@.", "[X0X]Open[X7X] the file."])
def test_placeholders(server: Server, api: Api, text: str) -> None:
    (found,) = server.translate(api, text)
    for name in ("%s", "{name}", "[X5X]", "@@PH11@@", "[X0X]", "[X7X]"):
        assert found.count(name) == text.count(name), found


@every_api
def test_tags(server: Server, api: Api) -> None:
    (found,) = server.translate(api, 'Open <x id="7"></x> the <b>file</b> and close it.', **api.tagged)
    for tag in ('<x id="7"></x>', "<b>", "</b>"):
        assert found.count(tag) == 1, found


def teach(server: Server, api: Api, source: str, target: str) -> None:
    """Send a correction as the clients of an API do. OpenAI has no call for it: Weblate's webhook goes with it."""
    send = server.sender(api)
    if api.name == "libretranslate":
        answer = send("POST", "/suggest", json={"q": source, "s": target, "source": "en", "target": "de"})
        assert answer.json() == {"success": True}
    elif api.name == "deepl":
        _import_memory(server, send, tmx((source, target)))
    elif api.name == "modernmt":
        memory = send("POST", "/memories", json={"name": "mine"}).json()["data"]["id"]
        body = {"source": "en", "target": "de", "sentence": source, "translation": target}
        assert send("POST", f"/memories/{memory}/content", json=body).status_code == 200
    else:
        _deliver(server, source, target)


def _import_memory(server: Server, send: Send, content: bytes) -> None:
    file = {"file_name": "a.tmx", "content_length": len(content)}
    begun = send("POST", "/v3/translation_memories/import", json={"source_file": file, "parameters": {}}).json()
    assert server.client.put(begun["upload_url"], content=content).is_success
    while True:  # the client asks until it is done
        (job,) = send("GET", f"/v3/translation_memories/jobs/{begun['job_id']}").json()["results"]
        if job["status"] != "processing":
            assert job["status"] == "completed"
            return


def _deliver(server: Server, source: str, target: str) -> None:
    secret = server.native("PUT", "/manual/webhook")["secret"]
    change = {"change_id": 1, "action": "Translation changed", "timestamp": "2026-01-01T00:00:00+00:00"}
    names = {"project": "app", "component": "app", "translation": "de", "author": "ann", "user": "ann"}
    body = json.dumps(change | names | {"source": [source], "target": [target], "old": "", "url": "/a/"})
    id, moment = f"{hash(source):x}", time.time()
    signed = f"{id}.{int(moment)}.{body}".encode()
    digest = hmac.digest(base64.b64decode(secret.removeprefix("whsec_")), signed, hashlib.sha256)
    headers = {"webhook-id": id, "webhook-timestamp": str(moment)}
    headers["webhook-signature"] = f"v1,{base64.b64encode(digest).decode()}"
    answer = server.client.post("/weblate/manual", content=body, headers=headers)
    assert answer.json() == {"taught": 1, "skipped": None}


@every_api
def test_a_correction_is_there_on_the_next_request_through_every_api(server: Server, api: Api) -> None:
    source, target = PAIRS[list(APIS).index(api.name)]
    before = server.translate(api, source, UNRELATED)
    assert before[0] != target
    teach(server, api, source, target)
    for other in APIS.values():
        assert server.translate(other, source, UNRELATED) == [target, before[1]], other.name


@every_api
@pytest.mark.parametrize("case", ["wrong", "missing", "pair", "long", "many"])
def test_refused_in_one_line_in_the_form_of_the_api(server: Server, api: Api, case: str) -> None:
    send = server.sender(api, {"wrong": "mtl_wrong", "missing": ""}.get(case))
    texts = {"long": ["word " * MAX_TEXT], "many": ["a"] * (api.most + 1)}.get(case, ["Open it."])
    answer = api.translate(send, texts, "fr" if case == "pair" else "de")
    assert answer.status_code == api.statuses[case], answer.text
    assert api.message(answer)


@every_api
def test_values_that_are_no_texts(server: Server, api: Api) -> None:
    for bad in ({"q": ["Open it.", 5]}, {"q": []}, {"q": {"a": "b"}}):
        values = {"deepl": {"text": bad["q"]}, "openai": {"messages": bad["q"]}}.get(api.name, bad)
        answer = api.translate(server.sender(api), ["Open it."], **values)
        assert answer.status_code == 400, answer.text
        assert api.message(answer)


@every_api
@pytest.mark.parametrize(
    "body", [b"{", b"[]", b"q=a&text=a", b"\xff", b'{"q": "\\ud800", "text": "\\ud800", "\\ud800": 1}']
)
def test_a_body_that_is_not_what_its_header_says(server: Server, api: Api, body: bytes) -> None:
    send = server.sender(api)

    def broken(method: str, path: str, **options: Any) -> httpx2.Response:
        headers = options.get("headers", {}) | {"content-type": "application/json"}
        return send(method, path, content=body, headers=headers)

    answer = api.translate(broken, [])
    assert answer.status_code == 400, answer.text
    assert api.message(answer)


@every_api
def test_the_most_texts_of_a_request_come_back_in_their_order(server: Server, api: Api) -> None:
    found = server.translate(api, *(f"Open {{{number}}}." for number in range(api.most)))
    assert len(found) == api.most
    assert all(found[number].count(f"{{{number}}}") == 1 for number in range(api.most))


@every_api
def test_two_slashes_where_two_addresses_are_joined(server: Server, api: Api) -> None:
    plain = server.translate(api, UNRELATED)
    send = server.sender(api)
    assert api.texts(api.translate(lambda method, path, **rest: send(method, f"/{path}", **rest), [UNRELATED])) == plain


@every_api
def test_unknown_addresses(server: Server, api: Api) -> None:
    answer = server.sender(api)("GET", "/nothing")
    assert answer.status_code == 404
    assert api.message(answer)


def _rows(section: str) -> dict[str, list[str]]:
    """The cells of a table of the docs, by the first cell of the row."""
    page = (Path(__file__).parents[2] / "docs/how-to/use-with-your-tools.md").read_text(encoding="utf-8")
    lines = page.partition(f"## {section}\n")[2].partition("\n## ")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return {row[0]: row[1:] for row in rows}


def test_the_docs_name_the_statuses_and_the_limits_of_each_api() -> None:
    rows = _rows("Checks")
    cases = {
        "wrong": "a wrong key",
        "missing": "no key",
        "pair": "a language pair that the key does not translate",
        "long": "a text that is too long",
        "many": "more texts than that",
    }
    for case, name in cases.items():
        assert rows[name] == [str(api.statuses[case]) for api in APIS.values()]
    assert rows["most texts of a request"] == [f"{api.most:,}" for api in APIS.values()]


def test_the_docs_name_every_client_that_is_run() -> None:
    names = {package.partition("==")[0] for package in _packages() if "==" in package}
    npm = {one.partition("@")[0] for packages in NODE.values() for one in packages}
    rows = _rows("Tools")
    run = {name.split("`")[1] for name, cells in rows.items() if "run" in cells[1] or "package" in cells[1]}
    assert run == names | npm
    quick = {name.split("`")[1] for name, cells in rows.items() if "in `make test`" in cells[1]}
    assert quick == set(QUICK)


def _packages() -> Iterator[str]:
    """The package that each environment is for: the last one."""
    yield from (packages[-1] for name, packages in PYTHON.items() if name != "real-files")
