"""Reading request bodies and writing JSON responses."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from mtloop.service.problems import TOO_LARGE, WRONG_CONTENT_TYPE, ProblemError, invalid_request

B = TypeVar("B", bound=BaseModel)
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class ProblemBody(BaseModel):
    """RFC 9457 problem details."""

    type: str
    title: str
    status: int
    detail: str


def json_response(body: dict[str, Any], status: int = 200) -> Response:
    """A JSON response. It is not validated, which makes it fast: its values were validated as input."""
    return Response(_encode(body).encode(), status, media_type="application/json")


async def read_body(request: Request, model: type[B], max_bytes: int) -> B:
    """The body of a request as a model. An empty body counts as {}. Anything invalid raises a problem."""
    raw = await read_raw(request, max_bytes)
    if raw and request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise ProblemError(WRONG_CONTENT_TYPE)
    try:
        return model.model_validate_json(raw or b"{}")
    except ValidationError as error:
        raise ProblemError(invalid_request(_first_error(error))) from None


async def read_raw(request: Request, max_bytes: int) -> bytes:
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > max_bytes:
            raise ProblemError(TOO_LARGE)
        chunks.append(chunk)
    return b"".join(chunks)


def check_text(text: str, field: str) -> str:
    """Return the text. Raise a problem if it holds NUL, which PostgreSQL cannot store."""
    if "\x00" in text:
        raise ProblemError(invalid_request(f"{field}: NUL bytes are not allowed"))
    return text


def _first_error(error: ValidationError) -> str:
    """Where the body is invalid and why, without quoting the body."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "body"
    if first["type"] == "json_invalid":
        return "body: not valid JSON in UTF-8"
    return f"{where}: {first['msg']}"
