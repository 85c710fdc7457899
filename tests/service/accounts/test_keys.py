"""Keys that expire and are renewed, and the number of sessions of a key."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from helpers.postgres import both_databases
from helpers.shared_task import TaskServer, pending, start
from hypothesis import given
from hypothesis import strategies as st

from mtloop.core.errors import InputError
from mtloop.service.accounts.keys import COOKIE, MAX_LIFETIME_DAYS, expiry_time, hash_key, new_key, new_token
from mtloop.service.accounts.store import MAX_SESSIONS


def kind(response: Any) -> tuple[int, str]:
    return response.status_code, response.json()["type"].removeprefix("urn:mtloop:")


@both_databases
def test_an_expired_key_says_so_and_a_renewed_one_works_again(
    task_server: TaskServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_server.task()
    key, now = new_key(), time.time()
    task_server.with_storage(lambda storage: storage.accounts.add_participant("me", hash_key(key), expires=now + 3600))
    with task_server.serve(key) as client:
        run = start(client)
        first = pending(client, run)  # the worker has the run in its cache now
        client.follow_redirects = False
        assert client.post("/login", data={"key": key}).status_code == 303
        assert client.get("/runs").status_code == 200
        with monkeypatch.context() as later:
            later.setattr("mtloop.service.accounts.access.time.time", lambda: now + 3601)
            for path in (f"/v1/runs/{run}/next", f"/v1/runs/{run}", "/v1/tasks"):
                assert kind(client.get(path)) == (401, "expired-key")
            assert client.get("/runs").status_code == 303
            assert client.post("/login", data={"key": key}).status_code == 401
            (listed,) = task_server.with_storage(lambda storage: storage.participant_list())
            assert (listed["keys"], listed["expires"]) == (0, now + 3600)
            renewed = task_server.with_storage(lambda storage: storage.accounts.renew_keys("me", now + 7200))
            assert renewed == 1
            assert pending(client, run) == first
            assert client.get("/runs").status_code == 200


def test_an_expired_key_of_somebody_else_is_not_told_from_an_unknown_one(lite: TaskServer) -> None:
    """Only who has the key learns that it has expired: the others cannot send it."""
    lite.with_storage(lambda storage: storage.accounts.add_participant("me", hash_key("mtl_old"), expires=1.0))
    with lite.serve("mtl_old") as client:
        assert kind(client.get("/v1/tasks")) == (401, "expired-key")
        client.headers["x-api-key"] = "mtl_other"
        assert kind(client.get("/v1/tasks")) == (401, "unknown-key")


@both_databases
def test_a_revoked_key_is_not_renewed(task_server: TaskServer) -> None:
    task_server.participant()
    task_server.with_storage(lambda storage: storage.accounts.revoke_keys("me"))
    assert task_server.with_storage(lambda storage: storage.accounts.renew_keys("me", None)) == 0
    (key,) = task_server.with_storage(lambda storage: storage.accounts.key_list("me"))
    assert key["revoked"] is not None


@pytest.mark.parametrize(
    "text",
    ["", "90", "d", "0d", "-1d", "1.5d", "90 d", "tomorrow", "2001-01-01", "2030-02-30", "9999-12-31", "9999999w"],
)
def test_a_wrong_time_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(InputError, match=r"^expires .*: expected [^\n]*$"):
        expiry_time(text, 1_800_000_000.0)


@pytest.mark.parametrize("text", ["9999999w", "99999999w", "9" * 5000 + "h"])
def test_a_time_that_is_too_long_is_told_from_one_that_is_not_understood(text: str) -> None:
    with pytest.raises(InputError, match="expected a time in the next 100 years"):
        expiry_time(text, 1_800_000_000.0)


def test_the_case_of_a_time_does_not_matter() -> None:
    assert [expiry_time(text, 0.0) for text in ("90D", "12H", "8W", "NEVER", "Never")] == [
        *(expiry_time(text, 0.0) for text in ("90d", "12h", "8w")),
        None,
        None,
    ]


@given(st.text(max_size=20), st.floats(0, 4e9))
def test_an_expiry_is_refused_or_lies_ahead(text: str, now: float) -> None:
    try:
        found = expiry_time(text, now)
    except InputError:
        return
    assert text.lower() == "never" if found is None else now < found <= now + MAX_LIFETIME_DAYS * 86_400


@both_databases
def test_a_key_has_a_limited_number_of_sessions(task_server: TaskServer) -> None:
    key = task_server.participant()
    with task_server.serve() as client:
        client.follow_redirects = False
        cookies = []
        for _ in range(MAX_SESSIONS + 5):
            client.cookies.clear()
            cookies.append(client.post("/login", data={"key": key}).cookies[COOKIE])
        signed_in = []
        for cookie in cookies:
            client.cookies.clear()
            client.cookies.set(COOKIE, cookie)
            signed_in.append(client.get("/runs").status_code == 200)
    assert signed_in == [False] * 5 + [True] * MAX_SESSIONS


@both_databases
def test_sign_ins_at_the_same_time_keep_the_limit(task_server: TaskServer) -> None:
    key = task_server.participant()

    async def sign_in_often(storage: Any) -> int:
        tokens = [hash_key(new_token()) for _ in range(30)]
        ends = time.time() + 60
        await asyncio.gather(*(storage.accounts.add_session(token, hash_key(key), ends) for token in tokens))
        return sum([await storage.accounts.session(token) is not None for token in tokens])

    assert task_server.with_storage(sign_in_often) == MAX_SESSIONS
