"""Problems on the pages: HTML for people in a browser, JSON for programs."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.shared_task import TaskServer
from sqlalchemy.exc import OperationalError

from mtloop.service.accounts.keys import hash_key
from mtloop.service.http import prefers_html
from mtloop.service.tasks.store import TaskStore

BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


def test_an_expired_key_is_called_expired_at_sign_in(lite: TaskServer) -> None:
    lite.with_storage(lambda storage: storage.accounts.add_participant("me", hash_key("mtl_old"), expires=1.0))
    with lite.serve() as client:
        expired = client.post("/login", data={"key": "mtl_old"})
        unknown = client.post("/login", data={"key": "mtl_wrong"})
        assert "alert" not in client.get("/login").text
    assert (expired.status_code, unknown.status_code) == (401, 401)
    assert "This key has expired. Ask the organiser to renew it" in expired.text
    assert "not known" not in expired.text
    assert "This key is not known" in unknown.text


def is_page(response: Any, status: int) -> bool:
    html = response.headers["content-type"] == "text/html; charset=utf-8" and "</html>" in response.text
    return html and "style-src" in response.headers["content-security-policy"] and response.status_code == status


def test_too_many_requests_is_a_page_in_a_browser(lite: TaskServer) -> None:
    lite = TaskServer(lite.settings.model_copy(update={"failures": 1}), lite.folder)
    with lite.serve() as client:
        assert is_page(client.get("/nowhere", headers=BROWSER), 404)
        refused = client.get("/runs", headers=BROWSER)
        assert is_page(refused, 429)
        assert "Your allowance is used up." in refused.text
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        for path, headers in (("/runs", {}), ("/v1/tasks", BROWSER)):
            response = client.get(path, headers=headers)
            assert (response.status_code, response.json()["status"]) == (429, 429)


def test_an_outage_is_a_page_in_a_browser(lite: TaskServer, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> None:
        raise OperationalError("SELECT secret", {}, OSError("gone"))

    with lite.serve() as client:
        monkeypatch.setattr(TaskStore, "task_list", fail)
        response = client.get("/", headers=BROWSER)
        assert is_page(response, 503)
        assert "The database does not answer." in response.text
        assert (response.headers["retry-after"], "secret" in response.text) == ("1", False)
        assert client.get("/").json()["type"] == "urn:mtloop:database-unavailable"


def test_an_unexpected_error_and_a_wrong_method_are_pages(lite: TaskServer, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> None:
        raise ZeroDivisionError("secret")

    with lite.serve() as client:
        wrong = client.request("PUT", "/login", headers=BROWSER)
        assert (is_page(wrong, 405), wrong.headers["allow"]) == (True, "GET, POST")
        monkeypatch.setattr(TaskStore, "task_list", fail)
        response = client.get("/", headers=BROWSER)
        assert is_page(response, 500)
        assert "secret" not in response.text


@pytest.mark.parametrize(
    "accept", ["text/html;q=0", "text/html;q=nan", "*/*", "text/html, application/problem+json", ";,"]
)
def test_others_get_json(lite: TaskServer, accept: str) -> None:
    assert not prefers_html(accept)
    with lite.serve() as client:
        assert client.get("/nowhere", headers={"accept": accept}).json()["status"] == 404
