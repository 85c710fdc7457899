"""The fields of a request: from JSON, from a form, from a multipart form, and from the query."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from pydantic_core import PydanticCustomError
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request

from mtloop.service.accounts.access import key_hash
from mtloop.service.accounts.keys import HEADER
from mtloop.service.accounts.metering import caller_of
from mtloop.service.http import BODY_TOO_LARGE, CLIENT_GONE, check_values, parsed, read_raw
from mtloop.service.problems import ProblemError, invalid_request
from mtloop.service.projects.project_bodies import storable
from mtloop.service.state import service

MAX_FIELDS = 2_000
MAX_FILES = 2
JSON, FORM, MULTIPART = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"
_ESCAPES = re.compile(
    rb"(?:%[0-9A-Fa-f]{2}){1,1000}"
)  # of a form; without a limit, the search itself takes much memory
NO_FORM = "body: not a valid multipart form, or one with too many or too large fields"


@dataclass(frozen=True)
class UploadedFile:
    """A file of a multipart form."""

    name: str
    content: bytes


@dataclass(frozen=True)
class RequestFields:
    """Fields by name. A field that a form has several times is a list, and so is `name[]`."""

    values: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, UploadedFile] = field(default_factory=dict)

    def __contains__(self, name: object) -> bool:
        return name in self.values or name in self.files

    def text(self, name: str, default: str = "") -> str:
        """A field that is one text. A number counts as one."""
        value = self.values.get(name)
        if value is None:
            return default
        if isinstance(value, bool | int | float):
            return str(value).lower() if isinstance(value, bool) else str(value)
        if not isinstance(value, str):
            raise ProblemError(invalid_request(f"{name}: expected one text"))
        return _checked(name, value)

    def texts(self, name: str) -> list[str]:
        """A field that is one text or several; empty if it is missing."""
        value = self.values.get(name)
        if value is None:
            return []
        values = value if isinstance(value, list) else [value]
        if not all(isinstance(one, str) for one in values):
            raise ProblemError(invalid_request(f"{name}: expected a text or a list of texts"))
        return [_checked(name, one) for one in values]

    def names(self, name: str) -> list[str]:
        """A field that is a list, or one text with commas."""
        parts = (part.strip() for text in self.texts(name) for part in text.split(","))
        return [part for part in parts if part]

    def number(self, name: str, default: int = 0) -> int:
        """A field that is a whole number."""
        text = self.text(name)
        if not text:
            return default
        try:
            return int(text)
        except ValueError:
            raise ProblemError(invalid_request(f"{name}: expected a whole number")) from None

    def is_list(self, name: str) -> bool:
        """Whether a field was sent as a list."""
        return isinstance(self.values.get(name), list)

    def file(self, name: str) -> UploadedFile | None:
        return self.files.get(name)


def _checked(name: str, text: str) -> str:
    try:
        return storable(text)
    except PydanticCustomError as error:
        raise ProblemError(invalid_request(f"{name}: {error.message()}")) from None


async def read_fields(request: Request, max_bytes: int, max_field: int | None = None) -> RequestFields:
    """The fields of the query and of the body; those of the body win. A body that cannot be read raises a problem.

    `max_field` is for bodies that may be large because of a file: the most bytes of one field that is no file.
    """
    await _check_header_key(request)
    query = _query(request)
    kind = content_kind(request)
    if kind == MULTIPART:
        values, files = await _multipart(request, max_bytes, max_bytes if max_field is None else max_field)
        return RequestFields(query | values, files)
    raw = await read_raw(request, max_bytes)
    if not raw.strip():
        return RequestFields(query)
    is_json = kind == JSON or kind.endswith("+json") or (kind != FORM and raw.lstrip()[:1] == b"{")
    return RequestFields(query | await parsed(raw, _json if is_json else _form))


async def _check_header_key(request: Request) -> None:
    """Refuse a wrong key in a header before the body is read. One that was valid a moment ago is not looked up."""
    if HEADER in request.headers and not caller_of(request).known:
        await service(request).access.key_owner(request, key_hash(request))


def content_kind(request: Request) -> str:
    """The type of a body, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _query(request: Request) -> dict[str, Any]:
    try:
        pairs = parse_qsl(request.url.query, keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise ProblemError(invalid_request(f"query: at most {MAX_FIELDS:,} fields")) from None
    return _gathered(pairs)


def _json(raw: bytes) -> dict[str, Any]:
    check_values(raw)
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        raise ProblemError(invalid_request("body: not valid JSON in UTF-8")) from None
    if not isinstance(found, dict):
        raise ProblemError(invalid_request("body: expected a JSON object"))
    return found


def _form(raw: bytes) -> dict[str, Any]:
    if raw.count(b"&") >= MAX_FIELDS:
        raise ProblemError(invalid_request(f"body: at most {MAX_FIELDS:,} fields"))
    parts = (part.partition(b"=") for part in raw.split(b"&") if part)
    try:
        pairs = [(_unquoted(name), _unquoted(value)) for name, _, value in parts]
    except ValueError:
        raise ProblemError(invalid_request("body: expected JSON, or a form in UTF-8")) from None
    return _gathered(pairs)


def _unquoted(part: bytes) -> str:
    """A name or value of a form. `urllib` would make an object for each escape: much memory, and no turn for others."""
    text, end = bytearray(), 0
    plain = part.replace(b"+", b" ")
    for found in _ESCAPES.finditer(plain):
        text += plain[end : found.start()]
        text += bytes.fromhex(found[0].replace(b"%", b"").decode())
        end = found.end()
    text += plain[end:]
    return text.decode()


def _gathered(pairs: list[tuple[str, str]]) -> dict[str, Any]:
    """Fields of a form. Line ends are those of the form: they become LF."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        text = value.replace("\r\n", "\n")
        own = name.removesuffix("[]")
        before = found.get(own)
        if isinstance(before, list):
            before.append(text)
        elif before is not None:
            found[own] = [before, text]
        else:
            found[own] = text if own == name else [text]
    return found


async def _multipart(
    request: Request, max_bytes: int, max_field: int
) -> tuple[dict[str, Any], dict[str, UploadedFile]]:
    parser = MultiPartParser(
        request.headers,
        _limited(request, max_bytes),
        max_files=MAX_FILES,
        max_fields=MAX_FIELDS,
        max_part_size=max_field,
    )
    try:
        form = await parser.parse()
    except (MultiPartException, KeyError, UnicodeError):
        raise ProblemError(invalid_request(NO_FORM)) from None
    pairs, files = [], {}
    try:
        for name, value in form.multi_items():
            if isinstance(value, UploadFile):
                files[name] = UploadedFile(_checked("file name", value.filename or ""), await value.read())
            else:
                pairs.append((name, value))
    finally:
        await form.close()
    return _gathered(pairs), files


async def _limited(request: Request, max_bytes: int) -> AsyncGenerator[bytes, None]:
    size = 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > max_bytes:
                raise ProblemError(BODY_TOO_LARGE)
            yield chunk
    except ClientDisconnect:
        raise ProblemError(CLIENT_GONE) from None
