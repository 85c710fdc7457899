"""Every request is counted: for the owner of its key, or, without a valid one, for its address."""

from __future__ import annotations

import asyncio
import re
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from helpers.postgres import both_databases
from helpers.serving import serving
from helpers.shared_task import TaskServer, start
from helpers.tiers import slow
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from mtloop.service.accounts import address_limits
from mtloop.service.accounts.address_limits import AddressLimits, client_address
from mtloop.service.accounts.keys import hash_key, new_key
from mtloop.service.accounts.limits import DAY, MAX_PORTION, MINUTE, REFUSED_COST, RateLimits, steady_time
from mtloop.service.accounts.metering import KNOWN_SECONDS
from mtloop.service.accounts.tables import allowances
from mtloop.service.accounts.valid_credentials import ValidCredentials
from mtloop.service.problems import ProblemError
from mtloop.service.storage import Storage


def limited(task_server: TaskServer, **limits: int) -> TaskServer:
    return TaskServer(task_server.settings.model_copy(update=limits), task_server.folder)


def statuses(client: TestClient, count: int, method: str, path: str, **request: Any) -> Counter[int]:
    return Counter(client.request(method, path, **request).status_code for _ in range(count))


REFUSED = {
    "an unknown key": ("GET", "/v1/tasks", {"headers": {"x-api-key": "mtl_wrong"}}),
    "no key": ("GET", "/v1/tasks", {}),
    "a guessed run": ("GET", "/v1/runs/0123/next", {"headers": {"x-api-key": "mtl_wrong"}}),
    "a guess at sign-in": ("POST", "/login", {"data": {"key": "mtl_wrong"}}),
    "a page that does not exist": ("GET", "/nowhere", {}),
    "a run on the pages": ("GET", "/runs/0123", {}),
    "a method that does not exist": ("DELETE", "/v1/tasks", {}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_requests_without_a_valid_key_are_counted_for_the_address(lite: TaskServer, name: str) -> None:
    method, path, request = REFUSED[name]
    with limited(lite, failures=5).serve() as client:
        found = statuses(client, 20, method, path, **request)
        assert found[429] == 15, found
        response = client.request(method, path, **request)
        assert response.json()["type"] == "urn:mtloop:too-many-requests"
        assert 1 <= int(response.headers["retry-after"]) <= 60


LONG_KEY = "x" * 5_000
KEY_IN_BODY = {
    "a guess, DeepL": ("POST", "/v2/translate", {"data": {"auth_key": "mtl_wrong", "text": "a", "target_lang": "DE"}}),
    "a guess, LibreTranslate": ("POST", "/suggest", {"json": {"api_key": "mtl_wrong", "q": "a", "s": "b"}}),
    "a key that is too long": ("POST", "/v2/usage", {"json": {"auth_key": LONG_KEY}}),
    "an empty key": ("POST", "/detect", {"json": {"api_key": ":manual", "q": "a"}}),
    "no key, ModernMT": ("GET", "/modernmt/translate", {"params": {"q": "a", "target": "de"}}),
    "no key, OpenAI": ("POST", "/openai/v1/chat/completions", {"json": {}}),
    "no field": ("POST", "/translate", {"json": {}}),
    "no JSON": ("POST", "/deepl/v2/translate", {"content": b"{", "headers": {"content-type": "application/json"}}),
    "what does not exist": ("POST", "/v2/nothing", {}),
    "a method that does not exist": ("DELETE", "/v2/languages", {}),
    "a question before a request": ("OPTIONS", "/v2/translate", {}),
    "an upload": ("PUT", "/v3/translation_memories/uploads/0123", {"content": b"a"}),
    "a webhook": ("POST", "/weblate/manual", {"content": b"{}"}),
    "a sign-in that is too long": ("POST", "/login", {"data": {"key": LONG_KEY}}),
    "a sign-in from another site": (
        "POST",
        "/login",
        {"data": {"key": "a"}, "headers": {"origin": "https://a.example"}},
    ),
}


@pytest.mark.parametrize("name", KEY_IN_BODY)
def test_refused_requests_that_may_have_their_key_in_the_body_are_counted(lite: TaskServer, name: str) -> None:
    """Whatever they are refused for, before or after their body is read."""
    method, path, request = KEY_IN_BODY[name]
    with limited(lite, failures=3).serve() as client:
        found = statuses(client, 10, method, path, **request)
        assert found[429] == 7, found
        assert 1 <= int(client.request(method, path, **request).headers["retry-after"]) <= 60
        assert not client.app.state.service.metering._bodies._taken, "what was read is not counted any more"


def test_questions_of_browsers_before_a_request_are_counted(lite: TaskServer) -> None:
    with limited(lite, anonymous=3).serve() as client:
        assert statuses(client, 5, "OPTIONS", "/translate") == {204: 3, 429: 2}
    with limited(lite, failures=3).serve() as client:
        assert statuses(client, 5, "GET", "/v2/usage") == {403: 3, 429: 2}
        assert statuses(client, 5, "OPTIONS", "/translate") == {429: 5}


def test_a_valid_key_in_the_body_gets_in_from_a_refused_address(lite: TaskServer) -> None:
    key = lite.participant()
    with limited(lite, failures=2).serve() as client:
        assert statuses(client, 4, "POST", "/v2/usage", json={"auth_key": "mtl_wrong"}) == {405: 2, 429: 2}
        assert client.request("GET", "/v2/usage", json={"auth_key": key}).status_code == 200
        assert client.request("GET", "/v2/nothing", json={"auth_key": key}).status_code == 429


def test_probes_are_never_refused_and_other_addresses_are_served(lite: TaskServer) -> None:
    with limited(lite, failures=2).serve() as client:
        assert statuses(client, 4, "GET", "/nowhere") == {404: 2, 429: 2}
        assert [client.get(path).status_code for path in ("/healthz", "/readyz")] == [200, 200]
        other = TestClient(client.app, client=("192.0.2.9", 1))
        assert other.get("/nowhere").status_code == 404


def test_refused_requests_do_not_close_the_public_pages(lite: TaskServer) -> None:
    lite.task()
    with limited(lite, failures=2).serve() as client:
        assert statuses(client, 4, "GET", "/nowhere") == {404: 2, 429: 2}
        assert statuses(client, 4, "POST", "/login", data={"key": "mtl_wrong"}) == {429: 4}
        style = re.search(r"/assets/[^\"]+\.css", client.get("/").text)
        assert style is not None
        paths = ("/", "/login", "/tasks/tiny", "/tasks/tiny/board", "/openapi.json", style[0])
        assert [client.get(path).status_code for path in paths] == [200] * len(paths)


def test_requests_for_public_pages_have_a_limit_of_their_own(lite: TaskServer) -> None:
    key = lite.participant()
    with limited(lite, anonymous=5).serve() as client:
        found = statuses(client, 3, "GET", "/") + statuses(client, 4, "GET", "/tasks/nothing")
        assert found == {200: 3, 404: 2, 429: 2}
        assert 1 <= int(client.get("/").headers["retry-after"]) <= 60
        assert statuses(client, 20, "GET", "/healthz") == {200: 20}
        assert client.get("/v1/tasks", headers={"x-api-key": key}).status_code == 200
        client.post("/login", data={"key": key})
        assert client.get("/").status_code == 200  # a session: charged to its participant


@both_databases
def test_a_valid_key_that_this_worker_has_not_seen_gets_in_from_a_refused_address(task_server: TaskServer) -> None:
    key, newcomer, revoked = (task_server.participant(name) for name in ("known", "new", "revoked"))
    task_server.with_storage(lambda storage: storage.accounts.revoke_keys("revoked"))
    task_server.with_storage(lambda storage: storage.accounts.add_participant("old", hash_key("mtl_old"), expires=1.0))
    with limited(task_server, failures=2).serve() as client:
        client.follow_redirects = False
        wrong = {"headers": {"x-api-key": "mtl_wrong"}}
        assert statuses(client, 4, "GET", "/v1/tasks", **wrong) == {401: 2, 429: 2}
        assert client.get("/v1/tasks", headers={"x-api-key": newcomer}).status_code == 200
        for other in (revoked, "mtl_old", ""):
            assert client.get("/v1/tasks", headers={"x-api-key": other}).status_code == 429
        assert client.post("/login", data={"key": key}).status_code == 303
        assert client.get("/runs").status_code == 200
        client.cookies.clear()
        assert statuses(client, 200, "POST", "/login", data={"key": "mtl_wrong"}) == {429: 200}
        assert client.post("/login", data={"key": newcomer}).status_code == 303


def test_wrong_keys_from_a_refused_address_cost_one_query_a_second(lite: TaskServer) -> None:
    clock, queries = [0.0], [0]

    async def held(storage: Any) -> list[bool]:
        async def count() -> set[str]:
            queries[0] += 1
            await asyncio.sleep(0)
            return {f"valid {queries[0]}"}

        storage.accounts.valid_hashes = count
        valid = ValidCredentials(storage.accounts, clock=lambda: clock[0])
        wrong = await asyncio.gather(*(valid.hold(str(number)) for number in range(500)))
        assert queries == [1]
        assert not any(wrong)
        clock[0] += 1
        return [await valid.hold("valid 2"), await valid.hold("valid 1"), await valid.hold("")]

    assert lite.with_storage(held) == [True, False, False]
    assert queries == [2]


def test_a_wrong_key_at_sign_in_counts_for_the_session_that_sends_it(lite: TaskServer) -> None:
    key = lite.participant()
    with limited(lite, failures=2).serve() as client:
        client.follow_redirects = False
        client.post("/login", data={"key": key})
        assert statuses(client, 5, "POST", "/login", data={"key": "mtl_wrong"}) == {401: 5}


def test_a_refused_address_does_not_stop_keys_and_sessions_that_were_valid(lite: TaskServer) -> None:
    key = lite.participant()
    with limited(lite, failures=2).serve(key) as client:
        assert client.get("/v1/tasks").status_code == 200
        browser = TestClient(client.app, follow_redirects=False)
        assert browser.post("/login", data={"key": key}).status_code == 303
        assert browser.get("/runs").status_code == 200
        wrong = {"x-api-key": "mtl_wrong"}
        assert statuses(browser, 4, "GET", "/v1/tasks", headers=wrong) == {401: 2, 429: 2}
        assert client.get("/v1/tasks").status_code == 200
        assert browser.get("/runs").status_code == 200


def test_a_revoked_key_counts_for_the_address_again(lite: TaskServer) -> None:
    with limited(lite, failures=2).serve(lite.participant()) as client:
        assert client.get("/v1/tasks").status_code == 200
        lite.with_storage(lambda storage: storage.accounts.revoke_keys("me"))
        # The first one is still charged to the participant: only then the worker knows that the key is revoked.
        assert statuses(client, 6, "GET", "/v1/tasks") == {401: 3, 429: 3}


@both_databases
def test_a_revoked_key_does_not_use_up_the_allowance_of_its_owner(task_server: TaskServer) -> None:
    """Not even on pages that look at no key."""
    old = task_server.participant()
    task_server.task()
    with limited(task_server, rate=20, anonymous=5).serve(old) as client:
        metering = client.app.state.service.metering
        now = metering._clock()
        metering._clock = lambda: now
        assert client.get("/v1/tasks").status_code == 200
        new = {"x-api-key": task_server.with_storage(lambda storage: rotated(storage, "me"))}
        now += KNOWN_SECONDS
        assert statuses(client, 30, "GET", "/login") == {200: 5, 429: 25}  # counted for the address
        assert statuses(client, 19, "GET", "/v1/tasks", headers=new) == {200: 19}
        now += KNOWN_SECONDS
        assert statuses(client, 5, "GET", "/login", headers=new) == {429: 5}  # the new key is charged there as well


async def rotated(storage: Storage, name: str) -> str:
    key = new_key()
    await storage.accounts.rotate_key(name, hash_key(key))
    return key


@both_databases
def test_every_request_with_a_valid_key_is_charged_and_a_refused_one_ten_times(task_server: TaskServer) -> None:
    task_server.task()
    key = task_server.participant()
    refused = 10 * REFUSED_COST
    with limited(task_server, rate=5 * refused + 10).serve(key) as client:
        run = start(client)
        body = {"content": b"{", "headers": {"content-type": "application/json"}}
        found = statuses(client, 10, "GET", "/v1/runs/0123/next")
        found += statuses(client, 10, "POST", f"/v1/runs/{run}/translations", **body)
        found += statuses(client, 10, "GET", "/v1/audit?limit=x")
        found += statuses(client, 10, "GET", "/v1/tasks/nothing")
        found += statuses(client, 9, "GET", f"/v1/runs/{run}/next")
        found += statuses(client, 10, "DELETE", f"/v1/runs/{run}")
        assert found == {404: 20, 422: 20, 200: 9, 405: 10}  # with the start of the run: all that the minute allows
        assert statuses(client, 5, "GET", f"/v1/runs/{run}/next") == {429: 5}
    assert used(task_server)[DAY] == 60  # the day counts a refused request once


@pytest.mark.parametrize("rate", [20, 45, 6000])
def test_guesses_with_a_valid_key_end_at_a_tenth_of_the_rate(lite: TaskServer, rate: int) -> None:
    lite.participant()

    async def passed(storage: Any) -> list[int]:
        clock = [10.0 * DAY]
        (me,) = await storage.participant_list()
        limits = RateLimits(storage.accounts, rate=rate, quota=0, clock=lambda: clock[0])
        found = []
        for _ in range(2):
            waits = []
            while not any(waits):
                waits.append(await refused_for(limits, me["id"]))
                limits.charge_refused(me["id"])
            found.append(waits.count(0))
            clock[0] += waits[-1]
        return found

    assert lite.with_storage(passed) == [-(-rate // REFUSED_COST)] * 2  # and the next minute is a new one


def test_sign_in_and_pages_are_charged_to_the_participant(lite: TaskServer) -> None:
    key = lite.participant()
    with limited(lite, rate=20).serve() as client:
        client.follow_redirects = False
        assert statuses(client, 20, "POST", "/login", data={"key": key}) == {303: 20}
        assert client.post("/login", data={"key": key}).status_code == 429
        assert client.get("/runs").status_code == 429


async def refused_for(limits: RateLimits, participant: int) -> int:
    """Charge a request. Return the seconds to wait if it is refused, else 0."""
    try:
        await limits.charge(participant)
    except ProblemError as refused:
        return refused.problem.retry_after or -1
    return 0


@both_databases
def test_waiting_as_long_as_retry_after_says_works(task_server: TaskServer) -> None:
    """Also when both the minute and the day are used up: the longer wait is the true one."""
    task_server.participant()

    async def waits(storage: Any) -> list[int]:
        clock = [10 * DAY - 90.5]
        (me,) = await storage.participant_list()
        limits = RateLimits(storage.accounts, rate=3, quota=5, clock=lambda: clock[0])
        found = []
        for _ in range(12):
            if wait := await refused_for(limits, me["id"]):
                found.append(wait)
                clock[0] += wait
                await limits.charge(me["id"])
        return found

    # 3 requests, 30.5 s to the next minute, 2 more, 60 s to the next day (not 59.5 s to a minute), then as usual
    assert task_server.with_storage(waits)[:2] == [31, 60]


@both_databases
def test_a_clock_that_goes_back_renews_no_allowance(task_server: TaskServer) -> None:
    task_server.participant()

    async def passed(storage: Any) -> list[int]:
        clock = [10.0 * DAY]
        (me,) = await storage.participant_list()
        found = []
        for step in (0, -MINUTE, -DAY, +DAY):
            clock[0] += step
            limits = RateLimits(storage.accounts, rate=5, quota=100, clock=lambda: clock[0])  # a worker that restarts
            waits = [await refused_for(limits, me["id"]) for _ in range(8)]
            found.append(waits.count(0))
            assert all(clock[0] + wait >= 10 * DAY + MINUTE for wait in waits if wait)
        return found

    assert task_server.with_storage(passed) == [5, 0, 0, 0]


def test_a_running_worker_does_not_notice_that_the_clock_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    before = steady_time()
    monkeypatch.setattr("time.time", lambda: 0.0)
    assert steady_time() >= before


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(0, 50)), max_size=60))
def test_an_address_is_served_again_after_the_wait(steps: list[tuple[int, float]]) -> None:
    clock = [0.0]
    limits = AddressLimits(4, lambda: clock[0])
    for failures, later in steps:
        for _ in range(failures):
            if not limits.wait("a"):
                limits.count("a")
        clock[0] += later
        if wait := limits.wait("a"):
            assert 1 <= wait <= 61  # rounded up
            clock[0] += wait
            assert limits.wait("a") == 0
    assert limits.wait("b") == 0


def test_the_table_of_addresses_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address_limits, "MAX_ADDRESSES", 100)
    limits = AddressLimits(1)
    for number in range(1000):
        limits.count(str(number))
    assert sum(limits.wait(str(number)) > 0 for number in range(1000)) == 100


def test_addresses() -> None:
    assert client_address(None) == ""
    assert client_address(("::ffff:192.0.2.7", 1)) == client_address(("192.0.2.7", 2))
    assert client_address(("2001:db8:0:1::1", 1)) == client_address(("2001:db8:0:1:ffff::2", 1))
    assert client_address(("2001:db8:0:1::1", 1)) != client_address(("2001:db8:0:2::1", 1))


@pytest.mark.parametrize(("options", "served"), [slow((), 3), (("--trusted-proxies", "127.0.0.1"), 12)])
def test_x_forwarded_for_is_believed_only_from_a_trusted_proxy(
    tmp_path: Path, options: tuple[str, ...], served: int
) -> None:
    (tmp_path / "d").mkdir()
    with serving(tmp_path / "d", "--failures", "3", *options) as (port, _, _):
        codes = [guess(port, f"192.0.2.{number}") for number in range(12)]
    assert codes == [401] * served + [429] * (12 - served)


def guess(port: int, address: str) -> int:
    headers = {"x-api-key": new_key(), "x-forwarded-for": address}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/tasks", headers=headers)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=10)
    refused.value.close()
    return refused.value.code


@both_databases
def test_two_requests_at_once_do_not_lose_an_allowance(task_server: TaskServer) -> None:
    """A portion that others use up during a query is not taken for the end of the allowance."""
    task_server.participant()

    async def passed(storage: Any) -> int:
        (me,) = await storage.participant_list()
        limits = RateLimits(storage.accounts, rate=40, quota=1000, clock=lambda: 10.0 * DAY)
        done = await asyncio.gather(*(limits.charge(me["id"]) for _ in range(60)), return_exceptions=True)
        return sum(one is None for one in done)

    assert task_server.with_storage(passed) == 40


@both_databases
def test_requests_that_are_refused_during_a_query_are_counted(task_server: TaskServer) -> None:
    task_server.participant()

    async def passed(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> int:
        me = (await storage.accounts.participant_list())[0]["id"]
        limits = RateLimits(storage.accounts, rate=100, quota=0, clock=lambda: 10.0 * DAY)
        take, refused = storage.accounts.take_requests, iter(range(5))

        async def slow_take(*values: int) -> tuple[int, int]:
            taken = await take(*values)
            for _ in refused:
                limits.charge_refused(me)
            return taken

        monkeypatch.setattr(storage.accounts, "take_requests", slow_take)
        done = [await asyncio.gather(limits.charge(me), return_exceptions=True) for _ in range(100)]
        return sum(one == [None] for one in done)

    with pytest.MonkeyPatch.context() as patch:
        assert task_server.with_storage(lambda storage: passed(storage, patch)) == 100 - 5 * (REFUSED_COST - 1)


def used(task_server: TaskServer) -> dict[int, int]:
    """The counted requests by the length of the period."""
    rows = task_server.with_storage(lambda storage: storage.database.rows(sa.select(allowances)))
    return {row.period_seconds: row.used for row in rows}


@both_databases
def test_restarts_use_up_no_allowance(task_server: TaskServer) -> None:
    key = task_server.participant()
    limited_server = limited(task_server, rate=0, quota=1000)
    for restarts in range(1, 5):
        with limited_server.serve(key) as client:
            assert client.get("/v1/tasks").status_code == 200
        assert used(task_server) == {DAY: restarts}


@both_databases
def test_a_worker_that_is_killed_loses_one_small_portion(task_server: TaskServer) -> None:
    task_server.participant()

    async def serve_and_die(storage: Any) -> None:
        (me,) = await storage.participant_list()
        await RateLimits(storage.accounts, rate=6000, quota=2_000_000, clock=lambda: 10.0 * DAY).charge(me["id"])

    task_server.with_storage(serve_and_die)
    assert used(task_server) == {MINUTE: MAX_PORTION, DAY: MAX_PORTION}


@both_databases
def test_no_more_than_the_limit_is_counted(task_server: TaskServer) -> None:
    task_server.participant()

    async def use_up(storage: Any) -> None:
        (me,) = await storage.participant_list()
        workers = [RateLimits(storage.accounts, rate=50, quota=333, clock=lambda: 10.0 * DAY) for _ in range(5)]
        waits = [await refused_for(workers[number % 5], me["id"]) for number in range(100)]
        assert waits.count(0) == 50
        await storage.accounts.take_requests(me["id"], MINUTE, 10 * DAY // MINUTE, 7, 50)

    task_server.with_storage(use_up)
    assert used(task_server)[MINUTE] == 50


@both_databases
def test_an_allowance_of_a_later_period_gets_nothing_back(task_server: TaskServer) -> None:
    task_server.participant()

    async def give_back_late(storage: Any) -> None:
        (me,) = await storage.participant_list()
        clock = [10.0 * DAY]
        late, other = (RateLimits(storage.accounts, rate=0, quota=1000, clock=lambda: clock[0]) for _ in range(2))
        await late.charge(me["id"])
        clock[0] += DAY
        await other.charge(me["id"])
        await late.give_back()

    task_server.with_storage(give_back_late)
    assert used(task_server) == {DAY: 50}


def test_a_database_that_is_gone_does_not_disturb_the_shutdown(lite: TaskServer, log_lines: list[str]) -> None:
    with lite.serve(lite.participant()) as client:
        assert client.get("/v1/tasks").status_code == 200

        async def fail(*_: object) -> None:
            raise OSError("the database is gone")

        client.app.state.service.storage.accounts.return_requests = fail  # type: ignore[attr-defined]
    assert len([line for line in log_lines if "allowances not given back" in line]) == 1
