"""Long JSON bodies: they are read in a thread, and very many values or mistakes are refused before they cost time."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict
from starlette.requests import Request
from starlette.types import Message

from mtloop.service.http import LONG_BODY, MAX_MISTAKES, MAX_VALUES, check_values, read_body
from mtloop.service.problems import ProblemError

threads = list[bool]()  # for each text that was validated: whether that was in the thread of the event loop


def noted(text: str) -> str:
    threads.append(threading.current_thread() is threading.main_thread())
    return text


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")
    texts: list[Annotated[str, AfterValidator(noted)]] = []


def read(raw: bytes, **limits: int) -> Body:
    async def receive() -> Message:
        return {"type": "http.request", "body": raw, "more_body": False}

    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": "/"}
    request = Request(scope | {"headers": [(b"content-type", b"application/json")]}, receive)
    return asyncio.run(read_body(request, Body, 1 << 24, **limits))


def refusal(raw: bytes, **limits: int) -> str:
    with pytest.raises(ProblemError) as refused:
        read(raw, **limits)
    assert refused.value.problem.status == 422
    return refused.value.problem.detail


def test_a_long_body_is_validated_in_a_thread() -> None:
    for length in (1, LONG_BODY):
        threads.clear()
        assert read(json.dumps({"texts": ["a" * length]}).encode()).texts == ["a" * length]
        assert threads == [length == 1]


@pytest.mark.parametrize("space", ["", " ", "\n\t"])
def test_a_body_of_very_many_fields_is_not_validated(monkeypatch: pytest.MonkeyPatch, space: str) -> None:
    fields = ",".join(f'"{number}"{space}:0' for number in range(MAX_VALUES + 1))
    monkeypatch.setattr(Body, "model_validate_json", None)
    assert "fields" in refusal(f"{{{fields}}}".encode())
    assert "fields" in refusal(f"{{{fields}}}".encode(), max_values=1 << 24)


@pytest.mark.parametrize("value", ["0", '""', '"\\""', '"\\\\"', "[]", "{}"])
def test_a_body_of_very_many_values_is_not_validated(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    raw = f'{{"texts": [{",".join([value] * (MAX_VALUES + 1))}]}}'.encode()
    check_values(raw, 4 * MAX_VALUES)
    monkeypatch.setattr(Body, "model_validate_json", None)
    assert "values" in refusal(raw)


def test_what_a_text_holds_is_not_counted() -> None:
    text = '": , [ { \\" \\ \\\\' * MAX_VALUES
    assert read(json.dumps({"texts": [text, '"', "\\"]}).encode()).texts == [text, '"', "\\"]


def test_a_long_list_of_mistakes_is_not_made() -> None:
    fields = {str(number): 0 for number in range(MAX_MISTAKES)}
    assert refusal(b'{"texts": [1], "other": 2}') == "texts.0: Input should be a valid string"
    assert refusal(json.dumps(fields).encode()) == "0: Extra inputs are not permitted"
    assert refusal(json.dumps(fields | {"other": 0}).encode()).startswith("body: 101 mistakes")
