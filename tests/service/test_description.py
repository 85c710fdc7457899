"""Fuzzing: the OpenAPI description contains every response, and none is a 5xx."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from helpers.shared_task import TaskServer, start
from hypothesis import HealthCheck, Phase, given, settings
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

CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
)


@pytest.mark.parametrize("mode", list(GenerationMode))
@pytest.mark.parametrize("method", ["GET", "POST", "PATCH"])
def test_every_response_is_described(task_server: TaskServer, method: str, mode: GenerationMode) -> None:
    task_server.task("tiny", "dev")
    with task_server.serve(task_server.participant(organiser=True)) as client:
        known = {"task": "tiny", "run": start(client, "tiny"), "method": "lora+memory"}
        schema = schemathesis.openapi.from_asgi("/openapi.json", client.app)
        for result in schema.include(method=method).get_all_operations():
            fuzz(result.ok(), mode, str(client.headers["x-api-key"]), known)


def fuzz(operation: Any, mode: GenerationMode, key: str, known: dict[str, str]) -> None:
    """Send valid or invalid requests to a run and a task that exist, and to others."""

    @settings(
        max_examples=8, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck), database=None
    )
    @given(case=operation.as_strategy(generation_mode=mode), exists=st.booleans())
    def send(case: Any, exists: bool) -> None:
        if exists:
            case.path_parameters = {name: known[name] for name in case.path_parameters or {}}
        case.call_and_validate(headers={"x-api-key": key}, checks=CHECKS)

    try:
        send()
    except Unsatisfiable:  # a request without parameters and body cannot be invalid
        assert mode is GenerationMode.NEGATIVE
