"""Which project a key opens, and when no key is needed."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from helpers.omegat_plugin import ask_as_omegat, documented_addresses
from helpers.shared_task import TaskServer
from starlette.testclient import TestClient

from mtloop.service import Settings, create_app
from mtloop.service.compatible.opened_project import FORWARDING
from mtloop.service.problems import unknown_pair
from mtloop.service.telemetry import LOGGER

TEXT = {"q": "Close the window.", "source": "en", "target": "de"}
LOCAL = "http://127.0.0.1"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, wordy_model: str) -> TaskServer:
    """A server whose projects copy the source, with `--open manual`."""
    folder = tmp_path_factory.mktemp("opened")
    options: dict[str, Any] = {"models": wordy_model, "methods": "baseline", "failures": 0, "engine_linger": 1}
    return TaskServer(Settings(folder=folder / "data", open="manual", **options), folder)


@contextmanager
def calling(home: TaskServer, address: str = "127.0.0.1", base: str = LOCAL) -> Iterator[TestClient]:
    with TestClient(create_app(home.settings), base, client=(address, 5000)) as client:
        yield client


@pytest.fixture(scope="module")
def client(home: TaskServer) -> Iterator[TestClient]:
    with calling(home) as client:
        yield client


@pytest.fixture(scope="module")
def key(home: TaskServer, client: TestClient) -> str:
    """The key of ann, who has the project `manual`."""
    key = home.participant("ann")
    create(client, key, "manual")
    return key


def create(client: TestClient, key: str, name: str) -> None:
    body = {"name": name, "source_language": "en", "target_language": "de"}
    assert client.post("/v1/projects", json=body, headers={"x-api-key": key}).status_code == 201


def status(client: TestClient, path: str = "/translate", **options: Any) -> int:
    return client.post(path, json=TEXT, **options).status_code


@pytest.mark.usefixtures("key")
def test_programs_on_this_machine_need_no_key(client: TestClient) -> None:
    assert status(client) == 200
    assert status(client, headers={"origin": "http://localhost:5000"}) == 200
    assert not client.get("/frontend/settings").json()["keyRequired"]
    assert client.get("/languages").json()[0]["code"] == "en"


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize("name", [*FORWARDING, "x-forwarded-for", "x-forwarded-host", "x-remote-addr"])
def test_whatever_comes_through_a_proxy_needs_a_key(client: TestClient, name: str) -> None:
    assert status(client, headers={name: "127.0.0.1"}) == 400
    assert client.get("/frontend/settings", headers={name: "127.0.0.1"}).json()["keyRequired"]


@pytest.mark.usefixtures("key")
def test_a_proxy_that_uses_http_1_0_needs_a_key(client: TestClient) -> None:
    """That is nginx with `proxy_pass` alone: it adds no header, and the Host is that of the server."""

    async def ask(version: str) -> int:
        sent, body = list[Any](), [json.dumps(TEXT).encode()]
        headers = [(b"host", b"127.0.0.1:8017"), (b"content-type", b"application/json")]
        scope = {
            **{"type": "http", "http_version": version, "method": "POST", "scheme": "http", "path": "/translate"},
            **{"raw_path": b"/translate", "query_string": b"", "root_path": "", "headers": headers},
            **{"client": ("127.0.0.1", 5000), "server": ("127.0.0.1", 8017)},
        }

        async def receive() -> dict[str, Any]:
            while not body:  # the client stays connected
                await asyncio.Event().wait()
            return {"type": "http.request", "body": body.pop(), "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await client.app(scope, receive, send)  # type: ignore[arg-type]
        return int(sent[0]["status"])

    assert client.portal is not None
    assert [client.portal.call(ask, version) for version in ("1.1", "1.0")] == [200, 400]


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize("origin", ["https://example.org", "null", "http://localhost.example.org", "http://["])
def test_the_page_of_another_site_needs_a_key(client: TestClient, origin: str) -> None:
    """A browser on this machine sends the requests of any page that somebody reads."""
    assert status(client, headers={"origin": origin}) == 400


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize(
    ("address", "base"), [("192.0.2.7", LOCAL), ("testclient", LOCAL), ("127.0.0.1", "http://example.org")]
)
def test_other_machines_and_other_names_of_this_one_need_a_key(home: TaskServer, address: str, base: str) -> None:
    with calling(home, address, base) as client:
        assert status(client) == 400


def test_nothing_is_open_by_default(home: TaskServer, key: str) -> None:
    settings = home.settings.model_copy(update={"open": ""})
    with calling(replace(home, settings=settings)) as client:
        assert status(client) == 400
        assert status(client, headers={"x-api-key": key}) == 200


def test_a_project_that_is_not_there_is_named_in_the_log_and_in_the_answer(
    home: TaskServer, caplog: pytest.LogCaptureFixture
) -> None:
    settings = home.settings.model_copy(update={"open": "manuel"})
    with caplog.at_level("WARNING"), calling(replace(home, settings=settings)) as client:
        answer = client.post("/translate", json=TEXT)
    assert "no project has the name that --open gives" in caplog.text
    assert "--open of this server names no project" in answer.text


def test_a_wrong_key_is_not_replaced_by_the_open_project(client: TestClient, key: str) -> None:
    assert status(client, headers={"x-api-key": key}) == 200
    assert status(client, headers={"x-api-key": "mtl_wrong"}) == 403
    assert status(client, "/key/mtl_wrong/translate") == 403
    assert client.post("/translate", json=TEXT | {"api_key": "mtl_wrong"}).status_code == 403


def test_the_key_names_one_of_several_projects(home: TaskServer, client: TestClient) -> None:
    key = home.participant("ben")
    create(client, key, "first")
    assert status(client, headers={"x-api-key": key}) == 200
    create(client, key, "second")
    refused = client.post("/translate", json=TEXT | {"api_key": key})
    assert refused.status_code == 400
    assert "(first, second)" in refused.json()["error"]
    assert "KEY:first" in refused.json()["error"]
    for path, body, headers in (
        ("/translate", {"api_key": f"{key}:second"}, {}),
        (f"/libretranslate/key/{key}:second/translate", {}, {}),
        ("/translate", {}, {"authorization": f"Bearer {key}:first"}),
    ):
        assert client.post(path, json=TEXT | body, headers=headers).status_code == 200
    assert status(client, headers={"x-api-key": f"{key}:manual"}) == 403  # of somebody else


def test_the_addresses_for_omegat_in_the_docs(client: TestClient, key: str) -> None:
    """The second one needs no key, because of `--open`. Without `/translate` at its end, the first one works too."""
    addresses = documented_addresses(LOCAL, f"{key}:manual")
    assert [address.removeprefix(LOCAL).partition("/key/")[0] for address in addresses] == [
        "/libretranslate",
        "/translate",
    ]
    expected = client.post("/translate", json=TEXT, headers={"x-api-key": key}).json()["translatedText"]
    for address in (*addresses, addresses[0].removesuffix("/translate")):
        assert ask_as_omegat(client, address, TEXT["q"]) == expected


def test_a_key_in_the_address_is_not_logged(client: TestClient, key: str, log_lines: list[str]) -> None:
    LOGGER.setLevel(logging.INFO)  # the tests of the service restore it
    assert status(client, f"/libretranslate/key/{key}/translate") == 200
    assert client.post(f"/key/{key}/nothing", json=TEXT).status_code == 404
    assert status(client, f"/translate?api_key={key}") == 200
    assert [json.loads(line)["route"] for line in log_lines] == ["/translate", "none", "/translate"]
    assert not any(key in line or TEXT["q"] in line for line in log_lines)


@pytest.mark.parametrize(
    ("pairs", "wanted", "detail"),
    [
        (["en-de"], ("en", "fr"), "en-fr is not supported. This key translates en-de."),
        (["en-de"], ("", "FR"), "Translation into FR is not supported. This key translates en-de."),
        (["en-de"], ("FR", ""), "Translation from FR is not supported. This key translates en-de."),
        ([], ("", ""), "This key opens no project."),
    ],
)
def test_an_unknown_pair_is_named(pairs: list[str], wanted: tuple[str, str], detail: str) -> None:
    assert unknown_pair(pairs, *wanted).detail == detail
