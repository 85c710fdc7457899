"""The methods over HTTP are those of the registry."""

from __future__ import annotations

from collections.abc import Iterator
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


@pytest.fixture
def _plugins(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Three entry points: a good one, a broken one, and one with the name of the first."""
    entries = [("good", "mtloop.methods.copy_source:CopySource"), ("broken", "no_such_module:Toy"), ("good", "a:Toy")]
    points = [EntryPoint(name, value, registry.GROUP) for name, value in entries]
    monkeypatch.setattr(registry, "entry_points", lambda group: points)
    _forget_plugins()
    yield
    _forget_plugins()


def _forget_plugins() -> None:
    registry.plugin_points.cache_clear()
    registry.plugins.cache_clear()


@pytest.mark.usefixtures("_plugins")
def test_a_broken_plugin_is_not_listed_and_not_found(lite: TaskServer, caplog: pytest.LogCaptureFixture) -> None:
    with lite.serve(lite.participant()) as client:
        for _ in range(2):
            names = [method["name"] for method in client.get("/v1/methods").json()["methods"]]
            assert names == [*METHODS, "good"]
        assert client.get("/v1/methods/good").status_code == 200
        assert client.get("/v1/methods/broken").json()["type"] == "urn:mtloop:unknown-method"
    broken = "the method broken cannot be used: ModuleNotFoundError: No module named 'no_such_module'; repair or "
    assert [record.message for record in caplog.records if record.name == "mtloop"] == [
        "the method good is ignored: another package registers the same name",
        f"{broken}uninstall it",
    ]
    with pytest.raises(InputError, match=broken):
        find_method("broken")
