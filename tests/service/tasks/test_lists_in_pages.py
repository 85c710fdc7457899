"""Long lists come in parts: runs, tasks, leaderboards, passes, and their pages."""

from __future__ import annotations

import re
from typing import Any

import pytest
from helpers.postgres import both_databases
from helpers.shared_task import TaskServer, pending, start, submit, translate_all
from starlette.testclient import TestClient

from mtloop.client import Client
from mtloop.service.storage import Storage


def in_parts(client: TestClient, path: str, name: str) -> list[list[Any]]:
    """Follow `next` to the end."""
    found, after = [], ""
    while True:
        body = client.get(f"{path}?limit=2{after}").json()
        found.append(body[name])
        if body["next"] is None:
            return found
        after = f"&after={body['next']}"


@both_databases
def test_runs_tasks_and_leaderboards_come_in_parts(task_server: TaskServer) -> None:
    for number in range(3):
        task_server.task(f"t{number}", samples=4)
    with task_server.serve(task_server.participant()) as client:
        runs = [start(client, "t0", name=str(number)) for number in range(5)]
        for run, words in zip(runs[:3], ("x", "Öffnen Sie", "Öffnen Sie die Schublade"), strict=True):
            translate_all(client, run, lambda _, words=words: words)  # type: ignore[misc]
        submit(client, runs[4], pending(client, runs[4])["id"], "x")
        tasks = in_parts(client, "/v1/tasks", "tasks")
        assert [[one["name"] for one in part] for part in tasks] == [["t0", "t1"], ["t2"]]
        listed = in_parts(client, "/v1/runs", "runs")
        assert [[one["run"] for one in part] for part in listed] == [runs[:2], runs[2:4], runs[4:]]
        rows = in_parts(client, "/v1/tasks/t0/leaderboard", "rows")
        assert [[(one["rank"], one["name"]) for one in part] for part in rows] == [
            [(1, "2"), (2, "1")],
            [(3, "0"), (None, "4")],
            [(None, "3")],
        ]
        for wrong in ("limit=0", "limit=501", "limit=x"):
            assert client.get(f"/v1/runs?{wrong}").status_code == 422
        assert client.get("/v1/runs?after=nothing").json()["type"] == "urn:mtloop:unknown-run"
        assert client.get("/v1/tasks?after=nothing").json()["type"] == "urn:mtloop:unknown-task"
        assert client.get("/v1/runs/x/curves?after=99999999999999999999").status_code == 422


@both_databases
def test_one_answer_may_have_the_whole_leaderboard(task_server: TaskServer) -> None:
    """Ranks move between two answers, so a reader needs all rows in one."""
    task_server.task(samples=4)
    with task_server.serve(task_server.participant()) as client:
        runs = [start(client, name=str(number)) for number in range(3)]
        submit(client, runs[2], pending(client, runs[2])["id"], "x")
        first = client.get("/v1/tasks/tiny/leaderboard?limit=2").json()
        submit(client, runs[1], pending(client, runs[1])["id"], "x")
        second = client.get(f"/v1/tasks/tiny/leaderboard?after={first['next']}").json()
        assert [one["name"] for one in first["rows"] + second["rows"]] == ["2", "0", "0"]
        whole = client.get("/v1/tasks/tiny/leaderboard?limit=1000").json()
        assert ([one["name"] for one in whole["rows"]], whole["next"]) == (["1", "2", "0"], None)
        assert client.get("/v1/tasks/tiny/leaderboard?limit=1001").status_code == 422
        described = client.get("/openapi.json").json()["paths"]["/v1/tasks/{task}/leaderboard"]["get"]
        assert "Ranks may move between two answers" in described["description"]


@both_databases
def test_the_client_gets_whole_lists(task_server: TaskServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mtloop.service.tasks.creation.DEFAULT_RUNS", {"mock": 200})
    task_server.task()
    key = task_server.participant()
    with task_server.serve(key) as http:
        runs = [start(http) for _ in range(101)]
        client = Client(http, key)
        assert [one.run for one in client.runs()] == [one.run for one in client.runs("tiny")] == runs
        assert [one.name for one in client.tasks()] == ["tiny"]


def test_curves_and_the_page_of_a_run_show_some_passes(lite: TaskServer) -> None:
    lite.task(max_passes=0)
    key = lite.participant()
    with lite.serve(key) as client:
        run = start(client)

        async def many(storage: Any) -> None:
            found = await storage.tasks.run(run)
            for _ in range(65):
                await storage.tasks.start_pass(found, 0, None)

        lite.with_storage(many)
        seen, after = [], 0
        while after is not None:
            body = client.get(f"/v1/runs/{run}/curves?after={after}").json()
            assert len(body["passes"]) <= 20
            seen += [one["pass"] for one in body["passes"]]
            after = body["next"]
        assert seen == list(range(1, 67))
        assert len(client.get(f"/v1/runs/{run}/curves?limit=50").json()["passes"]) == 50
        assert client.get(f"/v1/runs/{run}/curves?limit=51").status_code == 422
        client.post("/login", data={"key": key})
        shown = []
        path = f"/runs/{run}"
        while path:
            page = client.get(path).text
            shown.append(
                [
                    int(number)
                    for number in re.findall(r'<th scope="row" data-label="Pass" class="number">(\d+)</th>', page)
                ]
            )
            earlier = re.search(r'href="([^"]*)">Earlier passes', page)
            path = earlier[1] if earlier else ""
        assert shown == [list(range(47, 67)), list(range(27, 47)), list(range(7, 27)), list(range(1, 21))]
        assert "Later passes" in client.get(f"/runs/{run}?after=7").text
        assert client.get(f"/runs/{run}?after=x").status_code == 200


def test_pages_show_a_hundred_rows(lite: TaskServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mtloop.service.pages.routes.ROWS", 2)
    for number in range(3):
        lite.task(f"t{number}")
    key = lite.participant("boss", organiser=True)
    for number in range(3):
        lite.participant(f"p{number}")
    with lite.serve(key) as client:
        for _ in range(3):
            start(client, "t0", name="mine")
        client.post("/login", data={"key": key})
        for path, more in (
            ("/", "More tasks"),
            ("/runs", "More runs"),
            ("/tasks/t0", "More runs"),
            ("/organiser", "More tasks"),
            ("/organiser", "More participants"),
        ):
            page = client.get(path).text
            link = re.search(rf'href="([^"]*)">{more}', page)
            assert link, path
            rest = client.get(link[1])
            assert rest.status_code == 200
            assert f">{more}" not in rest.text or "participants=2" in link[1]
        assert client.get("/tasks/t0").text.count("mine") == 2
        assert client.get("/tasks/t0?after=2").text.count("mine") == 1
        assert client.get("/tasks/t0/board?after=2").text.count("mine") == 1
        assert client.get("/organiser").text.count("mine") == 2


@both_databases
def test_a_part_of_the_participants_is_read(task_server: TaskServer) -> None:
    """The page of organisers read all of them for each part."""
    for name in ("cleo", "ann", "ben"):
        task_server.participant(name)

    async def names(storage: Storage) -> list[list[str]]:
        parts = [await storage.participant_list(skipped, limit) for skipped, limit in ((0, None), (0, 2), (2, 2))]
        return [[one["name"] for one in part] for part in parts]

    assert task_server.with_storage(names) == [["ann", "ben", "cleo"], ["ann", "ben"], ["cleo"]]
