"""Reading request bodies and writing JSON responses."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from mtloop.service.problems import TOO_LARGE, WRONG_CONTENT_TYPE, Problem, ProblemError, invalid_request

B = TypeVar("B", bound=BaseModel)
T = TypeVar("T")
LONG_BODY = 1 << 16  # bytes; a longer body is read in a thread, so that other requests do not wait
MAX_VALUES = 25_000  # of a JSON body: each may be a mistake, and a mistake takes long to describe
MAX_MISTAKES = 100  # that are looked at to say what is wrong with a body
BODY_TOO_LARGE = replace(TOO_LARGE, detail="The body of the request is larger than this service allows.")
CLIENT_GONE = Problem(499, "", "Client closed request", "The client left before its request was complete.")
JSON_TYPES = ("application/json", "application/problem+json")
UNION_CHOICES = ("function-", "list[")  # how pydantic names the choices of a union of types
_ACCEPTED = re.compile(r"\s*([a-z0-9.+*/-]+)\s*(?:;\s*q\s*=\s*([01](?:\.[0-9]{0,3})?)\s*)?", re.IGNORECASE)
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


async def read_body(request: Request, model: type[B], max_bytes: int, max_values: int = MAX_VALUES) -> B:
    """The body of a request as a model. An empty body counts as {}. Anything invalid raises a problem."""
    raw = await read_raw(request, max_bytes)
    if raw and request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise ProblemError(WRONG_CONTENT_TYPE)
    return await parsed(raw, lambda body: _validated(model, body or b"{}", max_values))


async def parsed(raw: bytes, parse: Callable[[bytes], T]) -> T:
    """What `parse` makes of a body. A long body is parsed in a thread."""
    return parse(raw) if len(raw) <= LONG_BODY else await asyncio.to_thread(parse, raw)


def _validated(model: type[B], raw: bytes, max_values: int) -> B:
    check_values(raw, max_values)
    try:
        return model.model_validate_json(raw)
    except ValidationError as error:
        raise ProblemError(invalid_request(_first_error(error))) from None


def check_values(raw: bytes, most: int = MAX_VALUES) -> None:
    """Raise a problem if a JSON body has more than `most` values, or more than `MAX_VALUES` fields.

    It is not parsed for this: many small values take much memory, and long. A long text is one value.
    """
    if raw.count(b":") > MAX_VALUES and _field_count(raw) > MAX_VALUES:
        raise ProblemError(invalid_request(f"body: more than {MAX_VALUES:,} fields"))
    if _separators(raw) > most and _value_count(raw, most) > most:
        raise ProblemError(invalid_request(f"body: more than {most:,} values"))


def _field_count(raw: bytes) -> int:
    """At least the number of fields of all objects."""
    return _without_escapes(raw.translate(None, b" \t\r\n")).count(b'":')


def _value_count(raw: bytes, most: int) -> int:
    """The number of values, or `most` + 1 if there are so many strings that there must be more."""
    plain = _without_escapes(raw)
    many = plain.count(b'"') > 4 * most  # two of each string; an object has a key for each value
    return most + 1 if many else _separators(b"".join(plain.split(b'"')[::2]))


def _without_escapes(raw: bytes) -> bytes:
    """JSON in which every quotation mark begins or ends a string."""
    return raw.replace(b"\\\\", b"").replace(b'\\"', b"")


def _separators(raw: bytes) -> int:
    return raw.count(b",") + raw.count(b"[") + raw.count(b"{")


async def read_raw(request: Request, max_bytes: int) -> bytes:
    chunks, size = [], 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > max_bytes:
                raise ProblemError(BODY_TOO_LARGE)
            chunks.append(chunk)
    except ClientDisconnect:
        raise ProblemError(CLIENT_GONE) from None
    return b"".join(chunks)


async def client_gone(request: Request) -> None:
    """Wait until the client has left. Call it after the body was read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def prefers_html(accept: str) -> bool:
    """Whether an Accept header asks for HTML rather than for JSON, as those of browsers do.

    >>> prefers_html("text/html,application/xml;q=0.9,*/*;q=0.8"), prefers_html("*/*"), prefers_html("")
    (True, False, False)
    >>> prefers_html("application/json, text/html;q=0.5"), prefers_html("application/json;q=0.5, text/html")
    (False, True)
    """
    parts = [match for part in accept.split(",") if (match := _ACCEPTED.fullmatch(part))]
    weights = {match[1].lower(): float(match[2] or 1) for match in parts}
    return weights.get("text/html", 0) > max(weights.get(kind, 0) for kind in JSON_TYPES)


def check_text(text: str, field: str) -> str:
    """Return the text. Raise a problem if it holds NUL, which PostgreSQL cannot store."""
    if "\x00" in text:
        raise ProblemError(invalid_request(f"{field}: NUL bytes are not allowed"))
    return text


def _first_error(error: ValidationError) -> str:
    """Where the body is invalid and why, without quoting the body."""
    if error.error_count() > MAX_MISTAKES:  # a list of them takes long to make
        return f"body: {error.error_count():,} mistakes; send the fields of the API description, and no others"
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    named = (str(part)[:40] for part in first["loc"] if not str(part).startswith(UNION_CHOICES))
    where = ".".join(named) or "body"
    if first["type"] == "json_invalid":
        return "body: not valid JSON in UTF-8"
    return f"{where}: {first['msg']}"
