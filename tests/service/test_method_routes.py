"""The methods over HTTP are those of the registry."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest
from helpers.shared_task import TaskServer

from mtloop.core.errors import InputError
from mtloop.methods import registry
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


def test_a_broken_plugin_is_not_listed_and_not_found(
    lite: TaskServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    points = [EntryPoint("good", "mtloop.methods.copy_source:CopySource", registry.GROUP)]
    points.append(EntryPoint("broken", "no_such_module:Toy", registry.GROUP))
    points.append(EntryPoint("good", "no_such_module:Toy", registry.GROUP))
    monkeypatch.setattr(registry, "entry_points", lambda group: points)
    caches = (registry.plugin_points, registry.plugins)
    for cached in caches:
        cached.cache_clear()
    with lite.serve(lite.participant()) as client:
        for _ in range(2):
            names = [method["name"] for method in client.get("/v1/methods").json()["methods"]]
            assert names == [*METHODS, "good"]
        assert client.get("/v1/methods/good").status_code == 200
        assert client.get("/v1/methods/broken").json()["type"] == "urn:mtloop:unknown-method"
    assert [record.message for record in caplog.records if record.name == "mtloop"] == [
        "the method good is ignored: another package registers the same name",
        "the method broken cannot be used: ModuleNotFoundError: No module named 'no_such_module'; repair or uninstall it",
    ]
    with pytest.raises(InputError, match="^the method broken cannot be used: "):
        find_method("broken")
    for cached in caches:
        cached.cache_clear()
