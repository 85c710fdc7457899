"""Pages call the API with the session cookie; other sites cannot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from helpers.shared_task import TaskServer
from starlette.testclient import TestClient

from mtloop.service.accounts.access import PAGE_HEADER
from mtloop.service.accounts.keys import COOKIE

PAGE = {PAGE_HEADER: "1"}
OWN, FOREIGN = {"origin": "http://testserver"}, {"origin": "http://evil.example"}


@pytest.fixture
def key(lite: TaskServer) -> str:
    return lite.participant("ann")


@pytest.fixture
def page(lite: TaskServer, key: str) -> Iterator[TestClient]:
    """A browser in which ann is signed in."""
    lite.task()
    with lite.serve() as client:
        assert client.post("/login", data={"key": key}, headers=OWN, follow_redirects=False).status_code in (302, 303)
        assert client.cookies.get(COOKIE)
        yield client


def create(client: TestClient, **headers: str) -> Any:
    return client.post("/v1/projects", json={"name": "x", "model": "unknown"}, headers=headers)


def test_a_page_reads_with_its_cookie(page: TestClient) -> None:
    assert page.get("/v1/projects").json() == {"projects": [], "next": None}
    assert page.get("/v1/tasks").status_code == 200


@pytest.mark.parametrize("headers", [PAGE, PAGE | OWN])
def test_a_page_writes_with_its_header(page: TestClient, headers: dict[str, str]) -> None:
    assert create(page, **headers).status_code == 403  # it is known who asks; the model is not allowed


@pytest.mark.parametrize(
    "headers",
    [
        {},
        OWN,
        FOREIGN,
        PAGE | FOREIGN,
        PAGE | {"origin": "null"},
        PAGE | {"origin": "http://testserver.evil.example"},
        PAGE | {"origin": "http://testserver:81"},
        {PAGE_HEADER: "0"},
        {PAGE_HEADER: ""},
    ],
)
def test_other_sites_cannot_write(page: TestClient, headers: dict[str, str]) -> None:
    response = create(page, **headers)
    assert (response.status_code, response.json()["type"]) == (401, "urn:mtloop:unknown-key")
    for method in ("PUT", "PATCH", "DELETE"):
        assert page.request(method, "/v1/projects/x", headers=headers).status_code in (401, 405)


def test_no_other_origin_is_allowed_to_send_the_header(page: TestClient) -> None:
    asked = FOREIGN | {"access-control-request-method": "POST", "access-control-request-headers": PAGE_HEADER}
    response = page.options("/v1/projects", headers=asked)
    assert response.status_code == 405
    assert not [name for name in response.headers if name.startswith("access-control")]


def test_a_wrong_key_is_not_helped_by_the_cookie(page: TestClient) -> None:
    assert page.get("/v1/projects", headers={"x-api-key": "wrong"}).status_code == 401


def test_a_session_that_ended_is_worth_nothing(page: TestClient) -> None:
    token = page.cookies.get(COOKIE)
    page.post("/logout", headers=OWN, follow_redirects=False)
    page.cookies.set(COOKIE, str(token))
    assert page.get("/v1/projects").status_code == 401
    assert create(page, **PAGE).status_code == 401


def test_a_revoked_key_ends_the_session(page: TestClient, lite: TaskServer) -> None:
    lite.with_storage(lambda storage: storage.accounts.revoke_keys("ann"))
    assert page.get("/v1/projects").status_code == 401


def test_other_addresses_and_runs_need_a_key(page: TestClient) -> None:
    assert page.get("/v1/runs/0123/next").status_code == 401
    response = page.post("/libretranslate/translate", json={"q": "x", "source": "en", "target": "de"}, headers=PAGE)
    assert response.status_code == 400
    assert "key" in response.json()["error"]


def test_a_request_is_counted_once(lite: TaskServer, key: str) -> None:
    lite.settings = lite.settings.model_copy(update={"rate": 10})
    with lite.serve() as client:
        assert client.post("/login", data={"key": key}, follow_redirects=False).status_code in (302, 303)
        statuses = [client.get("/v1/projects").status_code for _ in range(12)]
    assert statuses == [200] * 9 + [429] * 3
