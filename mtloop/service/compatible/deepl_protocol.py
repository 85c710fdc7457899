"""What all routes of the DeepL API share: the form of errors, times and addresses, and the codes of languages."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from uuid import UUID

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from mtloop.data.languages import normalise_tag
from mtloop.service.compatible.language_variants import Pair
from mtloop.service.compatible.listed_languages import listed_pairs
from mtloop.service.compatible.protocol_errors import protocol_route
from mtloop.service.compatible.request_fields import RequestFields
from mtloop.service.problems import Problem, ProblemError, invalid_request
from mtloop.service.state import Service, service
from mtloop.text.language_codes import language_of

QUOTA_USED_UP = 456
MAX_WAITING = 20  # documents and imports of one worker that are not done yet
TOO_MANY_FILES = Problem(429, "", "Too many files", "Too many files wait here for their turn. Try again.", 30)
MINUTE = 60  # seconds. The rate is that of a minute, so who has to wait longer has used up the quota of the day.
STATUS = {401: 403, 409: 400, 415: 400, 422: 400}
KEY_MESSAGE = "Send a valid key: Authorization: DeepL-Auth-Key KEY, or KEY:PROJECT for one of several projects."
KEY_PROBLEMS = ("missing-key", "unknown-key")
CODES = ("EN-GB", "EN-US", "PT-BR", "PT-PT", "ZH-HANS", "ZH-HANT")  # of target languages, beside those of languages
NEED_REGION = ("EN", "PT")
"""Clients refuse these target languages without a region."""
SIMPLIFIED, OLD_SIMPLIFIED = "ZH-HANS", "ZH"
"""Version 2 has two codes for simplified Chinese. Weblate 5 knows the older one only."""


def render(problem: Problem) -> Response:
    """A problem in the form of DeepL. `message` says it all: clients show `detail` beside it, and some read none."""
    message = KEY_MESSAGE if problem.name in KEY_PROBLEMS else problem.detail
    return answer({"message": message}, _status(problem))


def _status(problem: Problem) -> int:
    if problem.name == "unknown-project":  # the key names it
        return 403
    if problem.name == "too-many-requests" and (problem.retry_after or 0) > MINUTE:
        return QUOTA_USED_UP
    return STATUS.get(problem.status, problem.status)


def deepl_router() -> APIRouter:
    return APIRouter(route_class=protocol_route(render), include_in_schema=False)


def answer(body: object, status: int = 200) -> Response:
    return JSONResponse(body, status)


def key_of(fields: RequestFields) -> str:
    """The key of a client that sends it in the body."""
    return fields.text("auth_key")


def check_background(here: Service) -> None:
    """Raise a problem if too many files wait."""
    if len(here.background) >= MAX_WAITING:
        raise ProblemError(TOO_MANY_FILES)


def unknown(what: str) -> ProblemError:
    """There is no glossary, memory, job or document with the id of a request."""
    return ProblemError(Problem(404, "", "Not found", f"There is no {what} with this id."))


def required(fields: RequestFields, name: str) -> str:
    """A field that must not be empty."""
    value = fields.text(name).strip()
    if not value:
        raise ProblemError(invalid_request(f"{name}: expected a value"))
    return value


def time_stamp(seconds: float) -> str:
    """A time with fractional seconds and a zone: clients cannot read others.

    >>> time_stamp(0.5)
    '1970-01-01T00:00:00.500000Z'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def api_address(request: Request) -> str:
    """The address of this API as the client wrote it, up to `/v2` or `/v3`."""
    scheme = "https" if service(request).settings.secure else request.url.scheme
    path = request.url.path
    version = max(path.rfind("/v2/"), path.rfind("/v3/"))
    return f"{scheme}://{request.url.netloc}{path[:version]}"


def shown_id(job: str) -> str:
    """An id as clients see it.

    >>> shown_id("0" * 31 + "1")
    '00000000-0000-0000-0000-000000000001'
    """
    return str(UUID(hex=job))


def stored_id(text: str) -> str:
    """An id of a client as it is stored; empty if it cannot be one."""
    try:
        return UUID(text).hex
    except ValueError:
        return ""


def source_code(language: str) -> str:
    """The code of a source language, which has no region; `UND` if it is not known.

    >>> source_code("en-US"), source_code("")
    ('EN', 'UND')
    """
    return (language_of(language) or "und").upper()


def target_codes(pairs: Iterable[Pair]) -> list[str]:
    """The codes under which clients ask for the target languages of some projects.

    >>> target_codes([("en", "de-DE"), ("en", "pt_BR"), ("de", "en")])
    ['DE', 'DE-DE', 'EN-GB', 'EN-US', 'PT-BR', 'PT-PT']
    """
    known = listed_pairs(pairs, CODES)
    found = {normalise_tag(target).upper() for _, target in known if target}
    return sorted(found - set(NEED_REGION))


def target_language(code: str) -> str:
    """The language of a target code; `ZH` stands for simplified Chinese."""
    return SIMPLIFIED if code.upper() == OLD_SIMPLIFIED else code
