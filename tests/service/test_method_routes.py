"""The methods over HTTP are those of the registry."""

from __future__ import annotations

import pytest
from helpers.shared_task import TaskServer

from mtloop.methods.registry import METHODS, find_method


def test_the_service_lists_the_registry(task_server: TaskServer) -> None:
    with task_server.serve(task_server.participant()) as client:
        found = client.get("/v1/methods").json()["methods"]
        assert found == [method.to_json() for method in METHODS.values()]
        assert client.get("/v1/methods/copy+lora").json() == find_method("lora+copy").to_json()


@pytest.mark.parametrize("name", ["lorra", "exec:touch started", "os:getcwd", "engine.py"])
def test_an_unknown_method_is_404_and_starts_nothing(task_server: TaskServer, name: str) -> None:
    with task_server.serve(task_server.participant()) as client:
        answer = client.get(f"/v1/methods/{name}")
        assert (answer.status_code, answer.json()["type"]) == (404, "urn:mtloop:unknown-method")
