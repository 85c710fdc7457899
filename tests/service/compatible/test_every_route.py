"""All routes of the compatible APIs: who has no key or another's key is refused, and no request is a server error."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import httpx2
import pytest
from fastapi.routing import APIRoute
from helpers.shared_task import TaskServer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.testclient import TestClient

from mtloop.service import Settings
from mtloop.service.app import COMPATIBLE
from mtloop.service.compatible import modernmt_memories

PUBLIC = ("/health", "/spec", "/frontend/settings", "/languages")  # of LibreTranslate; nothing of a project is in them
ROUTES = sorted(
    {
        (method, prefix + route.path)
        for router, prefix in (*COMPATIBLE, (modernmt_memories.router, "/modernmt"))
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in route.methods
        if method != "OPTIONS"
    }
)
PAIR = {"source": "en", "target": "de", "source_lang": "EN", "target_lang": "DE", "targets": "de"}
TEXTS = {"q": "Open it now.", "s": "Jetzt öffnen.", "text": ["Open it now."], "type": "target"}
UNIT = {"sentence": "Open it now.", "translation": "Jetzt öffnen.", "tuid": "a", "memories": "1", "external_ids": "a"}
NAMES = {"name": "a", "entries": "a\tb", "entries_format": "tsv", "display_name": "a"}
BODY: dict[str, Any] = {**PAIR, **TEXTS, **UNIT, **NAMES}
ACCEPTED = [
    *(("POST", f"{prefix}{path}") for prefix in ("", "/libretranslate") for path in ("/translate", "/detect")),
    *(("POST", f"{prefix}/v2/translate") for prefix in ("", "/deepl")),
    *(("GET", f"/modernmt{path}") for path in ("/translate", "/languages", "/users/me", "/memories")),
    *(("GET", f"{prefix}/v1/models") for prefix in ("", "/openai")),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, tiny_model: str) -> TaskServer:
    folder = tmp_path_factory.mktemp("routes")
    limits = {"rate": 0, "quota": 0, "failures": 0, "anonymous": 0, "max_text": 2_000}
    return TaskServer(Settings(folder=folder / "data", models=tiny_model, engine_linger=1, **limits), folder)


@pytest.fixture(scope="module")
def client(home: TaskServer) -> Iterator[TestClient]:
    with home.serve() as client:
        yield client


@pytest.fixture(scope="module")
def key(home: TaskServer, client: TestClient) -> str:
    """The key of somebody with one project, `manual`."""
    key = home.participant("ann")
    assert client.post("/v1/projects", json={"name": "manual"}, headers={"x-api-key": key}).status_code == 201
    return key


@pytest.fixture(scope="module")
def stranger(home: TaskServer) -> str:
    return home.participant("eve")


def send(client: TestClient, method: str, route: str, key: str, **options: Any) -> httpx2.Response:
    path = route.replace("{path:path}", "unknown").replace("{project}", "manual")
    for name in ("name", "id", "job", "token", "address", "memory_id", "glossary_id", "document_id"):
        path = path.replace(f"{{{name}}}", "0" * 32)
    response: httpx2.Response = client.request(method, path, headers={"x-api-key": key} if key else {}, **options)
    return response


def test_the_requests_of_these_tests_are_accepted_with_the_key(client: TestClient, key: str) -> None:
    assert set(ACCEPTED) <= set(ROUTES)
    for method, route in ACCEPTED:
        response = send(client, method, route, key, json=BODY)
        assert response.status_code == 200, (route, response.text)


@pytest.mark.parametrize("given_key", ["", "mtl_wrong", "STRANGER", "STRANGER:manual"])
def test_every_route_is_refused_without_a_key_of_the_project(
    client: TestClient, key: str, stranger: str, given_key: str
) -> None:
    state = client.get("/v1/projects/manual", headers={"x-api-key": key}).json()
    for method, route in ROUTES:
        if route.endswith(PUBLIC) and not route.startswith(("/deepl", "/v", "/modernmt")):
            continue
        response = send(client, method, route, given_key.replace("STRANGER", stranger), json=BODY)
        own = given_key == "STRANGER" and response.is_success  # lists of what a stranger has: nothing
        assert own or 400 <= response.status_code < 500, (method, route, response.text)
        assert "manual" not in response.text, (method, route)
        assert response.headers["content-type"].startswith("application/"), (method, route)
    assert client.get("/v1/projects/manual", headers={"x-api-key": key}).json() == state


def test_a_wrong_key_in_a_header_is_refused_before_the_body_is_read(
    client: TestClient, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that nobody without a key fills the memory with bodies. A webhook is signed: its body must be read."""
    read, stream = list[str](), Request.stream

    def noted(request: Request) -> AsyncGenerator[bytes, None]:
        read.append(request.url.path)
        return stream(request)

    monkeypatch.setattr(Request, "stream", noted)
    for method, route in ROUTES:
        if not route.startswith("/weblate/"):
            send(client, method, route, "mtl_wrong", json=BODY)
    assert read == []
    assert send(client, "POST", "/v2/translate", key, json=BODY).status_code == 200
    assert read == ["/v2/translate"]


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
OTHERS = ("format", "alternatives", "tag_handling", "ignore_tags", "glossary_id", "hints", "terms", "messages", "model")
CHANGES = st.dictionaries(st.sampled_from([*BODY, *OTHERS]), VALUES, max_size=4)
KINDS = ["application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/xml", ""]


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(st.sampled_from(ROUTES), CHANGES, st.sampled_from(KINDS), st.sampled_from(["", "/", "?q=%00&text=%ff"]))
def test_no_request_is_a_server_error(
    client: TestClient, key: str, route: tuple[str, str], changes: dict[str, Any], kind: str, end: str
) -> None:
    method, path = route
    content = json.dumps({**BODY, **changes}).encode()
    for body, sent_as in ((content, "application/json"), (content[: len(content) // 2 + 9], kind)):
        headers = {"x-api-key": key, "content-type": sent_as}
        response = client.request(method, path.replace("{", "").replace("}", "") + end, content=body, headers=headers)
        assert response.status_code < 500, (method, path, response.text)


def error_of(name: str, message: str, status: int = 404) -> Any:
    """An error as the clients of an API expect it."""
    kind = "".join(word.capitalize() for word in message.split()) + "Exception"
    return {
        "libretranslate": {"error": message},
        "deepl": {"message": message},
        "modernmt": {"status": status, "error": {"type": kind, "message": message}},
        "openai": {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}},
    }[name]


@pytest.mark.parametrize("accept", ["*/*", "text/html"])
@pytest.mark.parametrize(
    ("name", "path", "headers"),
    [
        ("libretranslate", "/libretranslate", {}),
        ("libretranslate", "/libretranslate/nothing", {}),
        ("libretranslate", "/libretranslate//nothing/", {}),
        ("libretranslate", "/download_file/a/b", {}),
        ("libretranslate", "/key/mtl_wrong/nothing", {}),
        ("deepl", "/deepl/v2/nothing", {}),
        ("deepl", "/v2/nothing", {}),
        ("deepl", "/v3//nothing", {}),
        ("openai", "/openai/v1/nothing", {}),
        ("openai", "/v1/chat/nothing", {}),
        ("openai", "/v1/models/gpt", {}),
    ],
)
def test_an_unknown_address_is_404_in_the_form_of_the_api(
    client: TestClient, name: str, path: str, headers: dict[str, str], accept: str
) -> None:
    for method in ("GET", "POST", "DELETE", "OPTIONS"):
        answer = client.request(method, f"{client.base_url}{path}", headers=headers | {"accept": accept})
        assert (answer.status_code, answer.json()) == (404, error_of(name, "There is no such resource."))


@pytest.mark.parametrize(
    ("name", "method", "path", "allowed"),
    [
        ("libretranslate", "GET", "/translate", "OPTIONS, POST"),
        ("libretranslate", "GET", "/libretranslate//translate", "OPTIONS, POST"),
        ("deepl", "DELETE", "/v2/translate", "GET, POST"),
        ("deepl", "POST", "/deepl/v2/usage", "GET"),
        ("openai", "GET", "/v1/chat/completions", "POST"),
    ],
)
def test_a_wrong_method_is_405_in_the_form_of_the_api(
    client: TestClient, name: str, method: str, path: str, allowed: str
) -> None:
    answer = client.request(method, f"{client.base_url}{path}")
    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)
    assert answer.json() == error_of(name, "Method Not Allowed")


def test_addresses_and_methods_that_modernmt_does_not_know(client: TestClient, key: str) -> None:
    def call(method: str, path: str, **headers: str) -> httpx2.Response:
        sent = {name.replace("_", "-"): value for name, value in headers.items()} | {"mmt-apikey": key}
        return client.request(method, f"{client.base_url}{path}", json={**BODY, "q": "Open it."}, headers=sent)

    for path in ("/nothing", "//nothing", "/modernmt/nothing", "/modernmt", "/translate/batch"):
        answer = call("GET", path)
        wanted = {"type": "NotFoundException", "message": "There is no such resource."}
        assert (answer.status_code, answer.json()) == (404, {"status": 404, "error": wanted})
    for method, path in (("POST", "/translate"), ("DELETE", "/modernmt/languages"), ("PATCH", "//translate")):
        answer = call(method, path)
        wanted = {"type": "MethodNotAllowedException", "message": "This address knows GET."}
        assert (answer.status_code, answer.json()) == (405, {"status": 405, "error": wanted})
        assert answer.headers["allow"] == "GET"
    for name in ("GET", "get"):
        answer = call("POST", "//translate", x_http_method_override=name)
        assert (answer.status_code, answer.json()["data"]["characters"]) == (200, 8)
    assert call("GET", "/translate", x_http_method_override="DELETE").status_code == 405


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "//translate"),
        ("POST", "/libretranslate//translate"),
        ("GET", "//languages"),
        ("POST", "//v2/translate"),
        ("POST", "/deepl//v2//translate"),
        ("GET", "/openai/v1//models"),
        ("GET", "//v1/models"),
    ],
)
def test_two_slashes_are_one(client: TestClient, key: str, method: str, path: str) -> None:
    """Clients put them where they join an address that ends with one and a path that begins with one."""
    answer = client.request(method, f"{client.base_url}{path}", json=BODY, headers={"x-api-key": key})
    assert answer.status_code == 200, answer.text
