"""Fuzzing: the OpenAPI description contains every response, and none is a 5xx."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest
import schemathesis
from helpers.free_ports import free_port
from helpers.project_server import project_server
from helpers.shared_task import TaskServer, start
from helpers.tiers import slow
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.testclient import TestClient

from mtloop.service import Settings

CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
)


@pytest.mark.parametrize(
    ("method", "mode"),
    [
        ("GET", GenerationMode.POSITIVE),
        ("GET", GenerationMode.NEGATIVE),
        ("POST", GenerationMode.POSITIVE),
        ("POST", GenerationMode.NEGATIVE),
        slow("PATCH", GenerationMode.POSITIVE),
        slow("PATCH", GenerationMode.NEGATIVE),
        slow("PUT", GenerationMode.POSITIVE),
        slow("PUT", GenerationMode.NEGATIVE),
        slow("DELETE", GenerationMode.POSITIVE),
        slow("DELETE", GenerationMode.NEGATIVE),
    ],
    ids=lambda value: getattr(value, "value", value),
)
def test_every_response_is_described(
    task_server: TaskServer, method: str, mode: GenerationMode, tiny_model: str
) -> None:
    task_server.task("tiny", "dev")
    task_server.settings = task_server.settings.model_copy(update={"models": tiny_model, "engine_linger": 1, "rate": 0})
    with task_server.serve(task_server.participant(organiser=True)) as client:
        known = {"task": "tiny", "run": start(client, "tiny"), "method": "lora+memory", "participant": "me"}
        known |= {"project": project_with_a_correction(client), "number": "2", "first": "2", "last": "2"}
        known |= {"document": a_document(client), "index": "0", "campaign": "menu", "token": a_rating_link(client)}
        schema = schemathesis.openapi.from_asgi("/openapi.json", client.app)
        for result in schema.include(method=method).exclude(path_regex="{project}/changes$").get_all_operations():
            fuzz(result.ok(), mode, str(client.headers["x-api-key"]), known, 6 if task_server.settings.database else 2)


@pytest.mark.slow
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=lambda mode: mode.value)
def test_every_response_of_projects_is_described(
    settings: Settings, tmp_path: Path, mode: GenerationMode, tiny_model: str
) -> None:
    """More requests than above, to a server in a process of its own. Each route has a project that exists."""
    limits = {"rate": 0, "failures": 0, "anonymous": 0, "max_projects": 0}
    chosen = settings.model_copy(update={"models": tiny_model, "engine_linger": 1, "port": free_port(), **limits})
    key = TaskServer(chosen, tmp_path).participant(organiser=True)
    headers = {"x-api-key": key}
    with (
        project_server(chosen, tmp_path / "log.jsonl") as server,
        httpx2.Client(base_url=server.url, headers=headers, timeout=60) as client,
    ):
        schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
        routes = schema.include(path_regex="^/v1/projects").exclude(path_regex="{project}/changes$")
        for result in routes.get_all_operations():
            client.delete("/v1/projects/manual")  # an earlier route has changed or deleted it
            known = {"project": project_with_a_correction(client), "number": "2", "first": "2", "last": "2"}
            known |= {"participant": "me", "document": a_document(client), "index": "0"}
            fuzz(result.ok(), mode, key, known, 20)


def project_with_a_correction(client: TestClient | httpx2.Client) -> str:
    """Create a project and return its name."""
    assert client.post("/v1/projects", json={"name": "manual"}).status_code == 201
    body = {"source": "Save the file.", "translation": "Speichern Sie die Datei.", "wait": "durable"}
    assert client.post("/v1/projects/manual/confirm", json=body).json()["number"] == 2
    return "manual"


def a_document(client: TestClient | httpx2.Client) -> str:
    """Upload a document and return its id."""
    made = client.post("/v1/projects/manual/documents", params={"name": "menu.txt"}, content=b"Save {name}.\n")
    return str(made.json()["document"])


def a_rating_link(client: TestClient) -> str:
    """Create a rating campaign with a rater, and return the end of the rater's link."""
    outputs = {"ours": ["Speichern"], "theirs": ["Sichern"]}
    body = {"name": "menu", "kind": "score", "sources": ["Save"], "outputs": outputs, "top": 1}
    assert client.post("/v1/campaigns", json=body).status_code == 201
    made = client.post("/v1/campaigns/menu/raters", json={"name": "kim"})
    return str(made.json()["link"].removeprefix("/rate/"))


def fuzz(operation: Any, mode: GenerationMode, key: str, known: dict[str, str], count: int) -> None:
    """Send valid or invalid requests to a run and a task that exist, and to others: more of them in the slow tests."""

    @hypothesis_settings(
        max_examples=count,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(case=operation.as_strategy(generation_mode=mode), exists=st.booleans())
    def send(case: Any, exists: bool) -> None:
        if exists:
            case.path_parameters = {name: known[name] for name in case.path_parameters or {}}
        case.call_and_validate(headers={"x-api-key": key}, checks=CHECKS, timeout=60)

    try:
        send()
    except Unsatisfiable:  # a request without parameters and body cannot be invalid
        assert mode is GenerationMode.NEGATIVE
