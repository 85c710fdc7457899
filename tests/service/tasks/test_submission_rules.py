"""The two rules: the next source only after a translation; one reward for each position of a pass."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest
from helpers.postgres import both_databases
from helpers.shared_task import REFERENCES, SOURCES, TRANSLATIONS, TaskServer, pending, start, submit, translate_all
from starlette.testclient import TestClient

from mtloop.metrics.quality import RewardBLEU
from mtloop.service import create_app


def kind(response: Any) -> tuple[int, str]:
    assert response.headers["content-type"] == "application/problem+json"
    return response.status_code, response.json()["type"].removeprefix("urn:mtloop:")


@both_databases
def test_a_whole_run(task_server: TaskServer) -> None:
    task_server.task()
    key = task_server.participant()
    with task_server.serve(key) as client:
        (task,) = client.get("/v1/tasks").json()["tasks"]
        assert task == client.get("/v1/tasks/tiny").json()
        assert (task["name"], task["kind"], task["samples"], task["reward"]) == ("tiny", "mock", 20, "wmt17")
        run = start(client, name="first try")
        translated = dict(zip(SOURCES, TRANSLATIONS, strict=True))
        rewards = translate_all(client, run, translated.__getitem__)
        expected = [RewardBLEU().sentence(t, r) for t, r in zip(TRANSLATIONS, REFERENCES, strict=True)]
        assert rewards == expected
        state = client.get(f"/v1/runs/{run}").json()
        assert state["cumulative_reward"] == pytest.approx(sum(expected), abs=1e-12)
        assert (state["position"], state["state"], state["pass"], state["name"]) == (20, "finished", 1, "first try")
        assert client.get("/v1/runs", params={"task": "tiny"}).json() == {"runs": [state], "next": None}
        assert kind(client.get(f"/v1/runs/{run}/next")) == (404, "end-of-stream")


def test_a_repeated_request_returns_the_pending_sentence(task_server: TaskServer) -> None:
    task_server.task()
    with task_server.serve(task_server.participant()) as client:
        run = start(client)
        first = pending(client, run)
        assert first["source"] == SOURCES[0]
        assert pending(client, run) == first
        following = submit(client, run, first["id"], "x").json()["next"]
        assert pending(client, run) == following != first


def test_the_same_translation_again_gets_the_same_reward_and_another_is_refused(task_server: TaskServer) -> None:
    task_server.task()
    with task_server.serve(task_server.participant()) as client:
        run = start(client)
        first = pending(client, run)
        response = submit(client, run, first["id"], TRANSLATIONS[0]).json()
        assert submit(client, run, first["id"], TRANSLATIONS[0]).json() == response
        assert kind(submit(client, run, first["id"], REFERENCES[0])) == (409, "already-translated")
        submit(client, run, response["next"]["id"], "y")
        late = submit(client, run, first["id"], TRANSLATIONS[0]).json()
        assert late["reward"] == response["reward"]
        assert late["next"] == pending(client, run)
        assert client.get(f"/v1/runs/{run}").json()["position"] == 2


def test_ids_of_another_run_and_invalid_ids_are_unknown(task_server: TaskServer) -> None:
    task_server.task()
    with task_server.serve(task_server.participant()) as client:
        one, other = start(client), start(client)
        for wrong in (pending(client, other)["id"], "-1", "", "AAAAAAAAAAAAAAAAAAAAAA", "é"):
            assert kind(submit(client, one, wrong, "x")) == (404, "unknown-sentence")
        assert client.get(f"/v1/runs/{one}").json()["position"] == 0


def test_a_mock_task_starts_over_at_any_time(task_server: TaskServer) -> None:
    task_server.task()
    with task_server.serve(task_server.participant()) as client:
        run = start(client)
        first = pending(client, run)
        second = submit(client, run, first["id"], "a").json()["next"]
        state = client.post(f"/v1/runs/{run}/passes")
        assert state.status_code == 201
        assert (state.json()["pass"], state.json()["position"], state.json()["cumulative_reward"]) == (2, 0, 0)
        again = pending(client, run)
        assert again["source"] == first["source"]
        assert again["id"] != first["id"]
        assert kind(submit(client, run, second["id"], "b")) == (409, "wrong-order")
        assert submit(client, run, again["id"], "another").status_code == 200
        assert kind(submit(client, run, first["id"], "b")) == (409, "already-translated")


def test_a_dev_task_limits_the_number_of_passes(task_server: TaskServer) -> None:
    task_server.task("dev", "dev", max_passes=2, samples=3)
    with task_server.serve(task_server.participant()) as client:
        run = start(client, "dev")
        assert kind(client.post(f"/v1/runs/{run}/passes")) == (409, "pass-not-finished")
        translate_all(client, run)
        assert client.post(f"/v1/runs/{run}/passes").json()["pass"] == 2
        translate_all(client, run)
        assert kind(client.post(f"/v1/runs/{run}/passes")) == (409, "no-more-passes")


def test_a_training_task_has_one_pass_and_one_run(task_server: TaskServer) -> None:
    task_server.task("train", "training")
    with task_server.serve(task_server.participant()) as client:
        run = start(client, "train")
        assert kind(client.post(f"/v1/runs/{run}/passes")) == (409, "no-more-passes")
        assert kind(client.post("/v1/tasks/train/runs")) == (409, "no-more-runs")


def test_a_stopped_task_refuses_translations_until_it_is_resumed(task_server: TaskServer) -> None:
    task_server.task()
    with task_server.serve(task_server.participant()) as client:
        run = start(client)
        first = pending(client, run)
        task_server.with_storage(lambda storage: storage.tasks.change_task("tiny", stopped=True))
        assert kind(client.get(f"/v1/runs/{run}/next")) == (409, "task-stopped")
        assert kind(submit(client, run, first["id"], "x")) == (409, "task-stopped")
        assert kind(client.post("/v1/tasks/tiny/runs")) == (409, "task-stopped")
        assert client.get(f"/v1/runs/{run}").json()["state"] == "stopped"
        task_server.with_storage(lambda storage: storage.tasks.change_task("tiny", stopped=False))
        assert submit(client, run, first["id"], "x").status_code == 200


def test_the_runs_of_others_are_unknown(task_server: TaskServer) -> None:
    task_server.task()
    mine, yours = task_server.participant("me"), task_server.participant("you")
    with task_server.serve(mine) as client:
        run = start(client)
        first = pending(client, run)
        client.headers["x-api-key"] = yours
        for method, path in [("GET", ""), ("GET", "/next"), ("POST", "/passes")]:
            assert kind(client.request(method, f"/v1/runs/{run}{path}")) == (404, "unknown-run")
        assert kind(submit(client, run, first["id"], "x")) == (404, "unknown-run")
        assert client.get("/v1/runs").json() == {"runs": [], "next": None}


def test_held_out_blocks_are_inserted_and_look_like_the_rest(task_server: TaskServer) -> None:
    task_server.task(held_out=3, blocks=3)
    with task_server.serve(task_server.participant()) as client:
        run = start(client)
        seen = []
        rewards = translate_all(client, run, lambda source: seen.append(source) or source)  # type: ignore[func-returns-value]
        block = SOURCES[17:]
        assert seen == [*block, *SOURCES[:8], *block, *SOURCES[8:17], *block]
        assert rewards[:3] == rewards[11:14] == rewards[-3:]
        ids = set()
        client.post(f"/v1/runs/{run}/passes")
        sentence: Any = pending(client, run)
        while sentence:
            assert set(sentence) == {"id", "source"}
            ids.add((len(sentence["id"]), sentence["id"]))
            sentence = submit(client, run, sentence["id"], "x").json()["next"]
        assert len(ids) == 26
        assert len({length for length, _ in ids}) == 1


@pytest.mark.parametrize("workers", [1, 2])
@both_databases
def test_64_simultaneous_submissions_get_one_reward(task_server: TaskServer, workers: int) -> None:
    task_server.task()
    key = task_server.participant()
    rewards, statuses, position = asyncio.run(_submit_64_times(task_server, key, workers))
    assert len(rewards) == 1
    assert sorted(set(statuses)) == [200, 409]
    assert statuses.count(200) == 32  # those with the text that was submitted first
    assert position == 1
    assert task_server.with_storage(lambda storage: _count(storage.tasks)) == 1


async def _count(store: Any) -> int:
    run = await store.run((await store.entries(await store.task("tiny")))[0].run.token)
    return len([one async for chunk in store.submissions(run, 1) for one in chunk])


async def _submit_64_times(task_server: TaskServer, key: str, workers: int) -> tuple[set[float], list[int], int]:
    """Submit one translation 32 times and another 32 times, to several applications that share the database."""
    apps = [create_app(task_server.settings.model_copy(update={"rate": 0, "quota": 0})) for _ in range(workers)]
    async with _lifespans(apps):
        clients = [_client(app, key) for app in apps]
        run = (await clients[0].post("/v1/tasks/tiny/runs")).json()["run"]
        first = (await clients[0].get(f"/v1/runs/{run}/next")).json()["id"]

        async def send(number: int) -> Any:
            body = {"id": first, "translation": "eins" if number % 2 else "zwei"}
            return await clients[number % 3 % workers].post(f"/v1/runs/{run}/translations", json=body)

        responses = await asyncio.gather(*map(send, range(64)))
        state = (await clients[0].get(f"/v1/runs/{run}")).json()
        for client in clients:
            await client.aclose()
    rewards = {response.json()["reward"] for response in responses if response.status_code == 200}
    return rewards, [response.status_code for response in responses], state["position"]


def _client(app: Any, key: str) -> httpx2.AsyncClient:
    transport = httpx2.ASGITransport(app)
    return httpx2.AsyncClient(transport=transport, base_url="http://service", headers={"x-api-key": key})


class _lifespans:  # noqa: N801
    """Several applications running at once."""

    def __init__(self, apps: list[Any]) -> None:
        self._contexts = [app.router.lifespan_context(app) for app in apps]

    async def __aenter__(self) -> None:
        for context in self._contexts:
            await context.__aenter__()

    async def __aexit__(self, *error: object) -> None:
        for context in self._contexts:
            await context.__aexit__(None, None, None)


@both_databases
def test_a_run_continues_after_a_restart(task_server: TaskServer) -> None:
    task_server.task()
    key = task_server.participant()
    with task_server.serve(key) as client:
        run = start(client)
        first = pending(client, run)
        response = submit(client, run, first["id"], TRANSLATIONS[0]).json()
    with task_server.serve(key) as client:
        assert pending(client, run) == response["next"]
        assert submit(client, run, first["id"], TRANSLATIONS[0]).json() == response
        rest = translate_all(client, run)
        total = client.get(f"/v1/runs/{run}").json()["cumulative_reward"]
    assert len(rest) == 19
    assert total == pytest.approx(response["reward"] + sum(rest), abs=1e-12)


def test_simulated_raters_are_noisy_but_consistent(lite: TaskServer) -> None:
    lite.task("coarse", noise={"granularity": 5, "variance": 1.0})
    with lite.serve(lite.participant()) as client:
        run = start(client, "coarse")
        first = pending(client, run)
        rewards = {submit(client, run, first["id"], TRANSLATIONS[0]).json()["reward"] for _ in range(3)}
        assert len(rewards) == 1
        given = [*rewards, *translate_all(client, run, dict(zip(SOURCES, TRANSLATIONS, strict=True)).__getitem__)]
        clean = {RewardBLEU().sentence(t, r) for t, r in zip(TRANSLATIONS, REFERENCES, strict=True)}
        assert all(reward * 5 == pytest.approx(round(reward * 5)) for reward in given)
        assert len(set(given)) > len(clean) == 1


def test_a_run_can_be_started_without_a_body_or_name(lite: TaskServer) -> None:
    lite.task()
    with lite.serve(lite.participant()) as client:
        assert isinstance(client, TestClient)
        assert client.post("/v1/tasks/tiny/runs").json()["name"] == ""
        assert client.post("/v1/tasks/tiny/runs", json={}).status_code == 201


@pytest.mark.parametrize(
    "name",
    [
        "a\u202eb",
        "\u2066a",
        "a\u200bb",
        "\ufeffa",
        "a\u2028b",
        "a\x85b",
        "a\u00adb",
        "\u3164",
        "a\ufe0f",
        "\ue000",
        "a\tb",
    ],
)
def test_a_run_name_has_no_invisible_characters(lite: TaskServer, name: str) -> None:
    lite.task()
    with lite.serve(lite.participant()) as client:
        response = client.post("/v1/tasks/tiny/runs", json={"name": name})
        assert kind(response) == (422, "invalid-request")
        assert name not in response.text
        assert client.get("/v1/runs").json()["runs"] == []


def test_a_run_name_is_not_only_spaces(lite: TaskServer) -> None:
    lite.task()
    with lite.serve(lite.participant()) as client:
        for name in (" ", "   ", "\u00a0\u2003"):
            response = client.post("/v1/tasks/tiny/runs", json={"name": name})
            assert kind(response) == (422, "invalid-request")
            assert "not only spaces" in response.json()["detail"]


def test_a_run_name_may_be_in_any_script(lite: TaskServer) -> None:
    lite.task()
    with lite.serve(lite.participant()) as client:
        for name in ("EL, annealed (λ = 0.1)", "ログ 二", "עברית", "ह िन्दी", "<b>&amp;", "naïve 🙂"):
            assert client.post("/v1/tasks/tiny/runs", json={"name": name}).json()["name"] == name


def test_passes_of_a_mock_task_are_limited_by_default(lite: TaskServer) -> None:
    lite.task()
    with lite.serve(lite.participant()) as client:
        run = start(client)
        started = [client.post(f"/v1/runs/{run}/passes").status_code for _ in range(10)]
        assert started == [201] * 9 + [409]
