"""What every route has in common: paths, methods, bodies, and who may see the metrics."""

from __future__ import annotations

import re

import pytest
from helpers.shared_task import TaskServer, pending, start, submit


@pytest.mark.parametrize("path", ["/v1/tasks/", "/tasks/tiny/", "/login/"])
def test_a_trailing_slash_gives_404_and_no_redirect(lite: TaskServer, path: str) -> None:
    lite.task()
    with lite.serve(lite.participant()) as client:
        response = client.get(path, headers={"host": "evil.example"}, follow_redirects=False)
    assert response.status_code == 404
    assert "location" not in response.headers
    assert "evil" not in response.text


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/v1/tasks/tiny", "GET, PATCH"),
        ("PUT", "/login", "GET, POST"),
        ("DELETE", "/v1/runs/x/next", "GET"),
        ("POST", "/healthz", "GET"),
    ],
)
def test_allow_names_every_method_of_a_path(lite: TaskServer, method: str, path: str, allowed: str) -> None:
    with lite.serve() as client:
        response = client.request(method, path)
    assert (response.status_code, response.headers["allow"]) == (405, allowed)


@pytest.mark.parametrize("body", [None, {}, {"stopped": None}])
def test_a_change_of_nothing_is_refused(lite: TaskServer, body: object) -> None:
    lite.task()
    with lite.serve(lite.participant(organiser=True)) as client:
        response = client.patch("/v1/tasks/tiny", json=body)
        changed = client.patch("/v1/tasks/tiny", json={"stopped": True})
    assert response.status_code == 422
    assert changed.status_code == 204


def test_the_description_says_that_a_translation_holds_no_nul(lite: TaskServer) -> None:
    lite.task()
    with lite.serve(lite.participant()) as client:
        run = start(client)
        described = client.get("/openapi.json").json()["paths"]["/v1/runs/{run}/translations"]["post"]
        schema = described["requestBody"]["content"]["application/json"]["schema"]
        allowed = re.compile(schema["properties"]["translation"]["pattern"])
        for text, status in (("a\x00b", 422), ("\x00", 422), ("ä\nb\x01", 200)):
            assert submit(client, run, pending(client, run)["id"], text).status_code == status
            assert bool(allowed.search(text)) == (status == 200)


def test_only_organisers_see_the_metrics(lite: TaskServer) -> None:
    """They count the rewards of tasks whose results are hidden."""
    lite.task()
    with lite.serve() as client:
        statuses = [
            client.get("/metrics", headers=headers).status_code
            for headers in ({}, {"x-api-key": lite.participant("p")}, {"x-api-key": lite.participant("o", True)})
        ]
    assert statuses == [401, 404, 200]
    opened = TaskServer(lite.settings.model_copy(update={"open_metrics": True}), lite.folder)
    with opened.serve() as client:
        assert 'mtloop_task_runs{task="tiny"}' in client.get("/metrics").text


def test_a_problem_of_413_says_what_is_too_large(lite: TaskServer) -> None:
    lite.task(max_characters=10)
    with lite.serve(lite.participant(organiser=True)) as client:
        run = start(client)
        long_text = submit(client, run, pending(client, run)["id"], "x" * 11)
        long_body = client.patch("/v1/tasks/tiny", json={"stopped": True, "x": "x" * (1 << 18)})
        long_form = client.post("/login", data={"key": "x" * 5000})
    for response, what in ((long_text, "translation"), (long_body, "body"), (long_form, "body")):
        assert (response.status_code, response.json()["type"]) == (413, "urn:mtloop:too-large")
        assert (what in response.json()["detail"], "task" in response.json()["detail"]) == (True, what == "translation")


NAMES = {"task": "open", "run": "0" * 32, "method": "full", "project": "manual"}
NAMES |= {"participant": "anna", "number": "2", "first": "2", "last": "2"}
NAMES |= {"document": "0" * 32, "index": "0", "campaign": "menu", "token": "unknown"}


def test_the_api_needs_a_key_and_pages_with_open_results_do_not(lite: TaskServer) -> None:
    lite.task("open", "dev")
    lite.task("hidden", "training")
    key = lite.participant("anna")
    with lite.serve(key) as client:
        for task in ("open", "hidden"):
            start(client, task, name=f"run-of-{task}")
        del client.headers["x-api-key"]
        operations = [
            (method, path.format(**NAMES))
            for path, methods in client.get("/openapi.json").json()["paths"].items()
            for method in methods
            if path.startswith("/v1/")
        ]
        assert len(operations) > 10
        by_link = {client.request(method, path).status_code for method, path in operations if "/rating/" in path}
        assert by_link == {404}, "the link of a rater is the key, and this one is unknown"
        others = [operation for operation in operations if "/rating/" not in operation[1]]
        by_key = {client.request(method, path, params={"segment": 1}).status_code for method, path in others}
        assert by_key == {401}
        assert all(text in client.get("/tasks/open").text for text in ("anna", "run-of-open"))
        assert not any(text in client.get("/tasks/hidden").text for text in ("anna", "run-of-hidden"))
