"""Keys, limits, and bad requests."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import Any

import httpx2
from helpers.postgres import both_databases
from helpers.shared_task import TaskServer, pending, start, stop_minutes, submit

from mtloop.service import create_app
from mtloop.service.accounts.keys import hash_key, new_key
from mtloop.service.accounts.limits import MINUTE, RateLimits
from mtloop.service.problems import ProblemError


def kind(response: Any) -> tuple[int, str]:
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert body.keys() == {"type", "title", "status", "detail"}
    assert body["status"] == response.status_code
    return response.status_code, body["type"].removeprefix("urn:mtloop:")


@both_databases
def test_a_key_is_required_and_a_revoked_key_stops_working_at_once(task_server: TaskServer) -> None:
    task_server.task()
    key = task_server.participant()
    with task_server.serve(key) as client:
        run = start(client)
        first = pending(client, run)
        new = new_key()
        task_server.with_storage(lambda storage: storage.accounts.rotate_key("me", hash_key(new)))
        for response in (
            client.get(f"/v1/runs/{run}/next"),
            submit(client, run, first["id"], "x"),
            client.get("/v1/runs"),
        ):
            assert kind(response) == (401, "unknown-key")
        client.headers["x-api-key"] = new
        assert pending(client, run) == first
        assert task_server.with_storage(lambda storage: storage.accounts.revoke_keys("me")) == 1
        assert kind(submit(client, run, first["id"], "x")) == (401, "unknown-key")
        for wrong in ("", "x", "k" * 1000):
            client.headers["x-api-key"] = wrong
            assert kind(client.get("/v1/tasks")) == (401, "unknown-key")
        del client.headers["x-api-key"]
        assert kind(client.get("/v1/tasks")) == (401, "unknown-key")


def test_only_a_hash_of_a_key_is_stored(lite: TaskServer) -> None:
    key = lite.participant()
    lite.with_storage(lambda storage: storage.database.ready())
    stored = b"".join(path.read_bytes() for path in lite.settings.folder.iterdir())
    assert key.encode() not in stored
    assert hash_key(key).encode() in stored


@both_databases
def test_the_rate_limit_is_shared_by_all_workers(task_server: TaskServer) -> None:
    task_server.task()
    key = task_server.participant()
    statuses, waits = asyncio.run(_send_many(task_server, key, rate=15, requests=40))
    assert statuses == {200: 15, 429: 25}
    assert all(1 <= int(wait) <= 60 for wait in waits)


async def _send_many(task_server: TaskServer, key: str, rate: int, requests: int) -> tuple[Counter[int], list[str]]:
    apps = [create_app(task_server.settings.model_copy(update={"rate": rate})) for _ in range(2)]
    contexts = [app.router.lifespan_context(app) for app in apps]
    for context in contexts:
        await context.__aenter__()
    stop_minutes(*apps)
    clients = [
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://x", headers={"x-api-key": key})
        for app in apps
    ]
    responses = await asyncio.gather(*(clients[number % 2].get("/v1/tasks") for number in range(requests)))
    for client in clients:
        await client.aclose()
    for context in contexts:
        await context.__aexit__(None, None, None)
    waits = [response.headers["retry-after"] for response in responses if response.status_code == 429]
    return Counter(response.status_code for response in responses), waits


def test_an_allowance_is_renewed_and_portions_never_exceed_it(task_server: TaskServer) -> None:
    clock = [MINUTE * 1000.0]
    task_server.participant()

    async def count(storage: Any) -> list[int]:
        ((me, *_),) = [[one["id"]] for one in await storage.participant_list()]
        workers = [RateLimits(storage.accounts, rate=100, quota=250, clock=lambda: clock[0]) for _ in range(2)]
        passed, waits = [], []
        for _ in range(4):
            passed.append(0)
            for number in range(300):
                try:
                    await workers[number % 2].charge(me)
                    passed[-1] += 1
                except ProblemError as refused:
                    waits.append(refused.problem.retry_after)
            clock[0] += MINUTE
        assert None not in waits
        return passed

    passed = task_server.with_storage(count)
    assert passed[:2] == [100, 100]
    assert sum(passed) == 250


BODIES = {
    "not json": (b"{", 422),
    "a list": (b"[]", 422),
    "no id": (b'{"translation": "x"}', 422),
    "no text": (b'{"id": "x"}', 422),
    "a number": (b'{"id": -1, "translation": "x"}', 422),
    "more": (b'{"id": "x", "translation": "x", "reward": 1}', 422),
    "NUL": (b'{"id": "x", "translation": "a\\u0000b"}', 422),
    "lone surrogate": (b'{"id": "x", "translation": "\\ud800"}', 422),
    "bad UTF-8": (b'{"id": "x", "translation": "\xff"}', 422),
    "null": (b'{"id": "x", "translation": null}', 422),
    "nested": (b'{"id": ' + b"[" * 50_000, 422),
    "long": (json.dumps({"id": "x", "translation": "x" * 10_001}).encode(), 413),
    "1 MB": (json.dumps({"id": "x", "translation": "x" * 1_000_000}).encode(), 413),
    "empty": (b"", 422),
}


@both_databases
def test_bad_input_changes_nothing(task_server: TaskServer) -> None:
    task_server.task()
    with task_server.serve(task_server.participant()) as client:
        run = start(client)
        path, json_type = f"/v1/runs/{run}/translations", {"content-type": "application/json"}
        first = pending(client, run)
        for name, (body, status) in BODIES.items():
            response = client.post(path, content=body, headers=json_type)
            assert kind(response)[0] == status, name
            assert "xxxx" not in response.text
        assert kind(client.post(path, content=b"id=x", headers={"content-type": "text/plain"})) == (
            415,
            "wrong-content-type",
        )
        assert kind(client.post(path, data={"id": "x"})) == (415, "wrong-content-type")
        assert kind(client.get("/v1/tasks/nothing")) == (404, "unknown-task")
        assert kind(client.post("/v1/tasks/nothing/runs")) == (404, "unknown-task")
        for wrong in ("%00", "-1", "..%2f", "x" * 500, "%ff", "é"):
            assert kind(client.get(f"/v1/runs/{wrong}")) in ((404, "unknown-run"), (404, "about:blank"))
            assert kind(client.get(f"/v1/tasks/{wrong}")) in ((404, "unknown-task"), (404, "about:blank"))
        assert kind(client.post("/v1/tasks/tiny/runs", json={"name": "a\x00b"}))[0] == 422
        assert kind(client.post("/v1/tasks/tiny/runs", json={"name": "a" * 81}))[0] == 422
        assert client.get(f"/v1/runs/{run}").json()["position"] == 0
        assert len(client.get("/v1/runs").json()["runs"]) == 1
        assert pending(client, run) == first
        assert submit(client, run, first["id"], "").status_code == 200
        assert kind(client.delete(f"/v1/runs/{run}"))[0] == 405
        assert kind(client.get("/nowhere"))[0] == 404
