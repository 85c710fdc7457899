"""A rater's link is a key: it counts for itself, and others behind the same address do not lock it out."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.postgres import both_databases
from helpers.rated_campaigns import ServedRater, add_rater, create
from helpers.shared_task import TaskServer
from starlette.testclient import TestClient

from mtloop.service.accounts.limits import REFUSED_COST


def rater_of(server: TaskServer, **limits: int) -> tuple[TaskServer, str, str]:
    """A server with limits, the link of a rater of a campaign on it, and the key of its organiser."""
    key = server.participant("olga", organiser=True)
    with server.serve(key) as client:
        create(client)
        token = add_rater(client, "rita").token
    return TaskServer(server.settings.model_copy(update=limits), server.folder), token, key


def guess(client: TestClient, count: int) -> list[int]:
    return [client.get(f"/v1/rating/{'0' * 32}/next").status_code for _ in range(count)]


@both_databases
def test_a_link_works_from_an_address_that_is_refused(task_server: TaskServer) -> None:
    server, token, _ = rater_of(task_server, failures=2, anonymous=2)
    with server.serve() as client:
        assert guess(client, 4) == [404, 404, 429, 429]
        rater = ServedRater(client, token)
        for _ in range(3):
            assert rater.rate_next("score") is not None
        assert client.get(f"/rate/{token}").status_code == 200
        assert client.get(f"/rate/{'0' * 32}").status_code == 429
        assert client.get("/login").status_code == 200, "what raters do is not counted for the public pages"


def test_a_renewed_link_stops_working_from_such_an_address(lite: TaskServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mtloop.service.accounts.valid_credentials.REFRESH_SECONDS", 0)
    server, token, key = rater_of(lite, failures=2)
    with server.serve() as client:
        guess(client, 2)
        body = {"name": "rita", "renew": True}
        renewed = client.post("/v1/campaigns/menu/raters", json=body, headers={"x-api-key": key}).json()["link"]
        assert client.get(f"/v1/rating/{token}").status_code == 429
        assert client.get(renewed.replace("/rate/", "/v1/rating/")).status_code == 200


def test_a_link_has_a_limit_of_its_own(lite: TaskServer) -> None:
    server, token, _ = rater_of(lite, rate=2 * REFUSED_COST + 3)
    url = f"/v1/rating/{token}"
    with server.serve() as client:
        bad: dict[str, Any] = {"item": "0" * 32, "scores": [1]}
        assert [client.post(f"{url}/ratings", json=bad).status_code for _ in range(2)] == [404, 404]
        found = [client.get(url) for _ in range(5)]
        assert [one.status_code for one in found] == [200, 200, 200, 429, 429]
        assert 1 <= int(found[-1].headers["retry-after"]) <= 60
        assert guess(client, 1) == [404]
