"""The API of LibreTranslate. A suggestion teaches the project that the key opens."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePath
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from mtloop import __version__
from mtloop.core.errors import InputError
from mtloop.service.accounts.keys import HEADER, new_token
from mtloop.service.accounts.metering import caller_of
from mtloop.service.compatible.file_translation import (
    beginning,
    check_suffix,
    keep_file,
    read_file_form,
    supported_suffixes,
    translated_file,
)
from mtloop.service.compatible.language_detection import DetectedLanguage, detect_languages
from mtloop.service.compatible.language_names import language_name
from mtloop.service.compatible.language_variants import AUTO, Pair, fits
from mtloop.service.compatible.listed_languages import listed_pairs
from mtloop.service.compatible.opened_project import choose_project, open_project, opened_projects
from mtloop.service.compatible.protocol_errors import protocol_route
from mtloop.service.compatible.request_fields import RequestFields, read_fields
from mtloop.service.problems import MISSING_KEY, NOT_FOUND, UNKNOWN_PROJECT, Problem, ProblemError, invalid_request
from mtloop.service.project_log.client_store import FILE_SECONDS, StoredFile
from mtloop.service.project_log.models import Role, TranslationProject
from mtloop.service.project_log.project_access import AuthorisedProject
from mtloop.service.projects.allowed_engines import allowed_pairs
from mtloop.service.projects.project_calls import confirm_translation, confirmation, translate_many
from mtloop.service.settings import Settings
from mtloop.service.state import Service, service
from mtloop.text.language_codes import language_of

MAX_TEXTS = 1_000  # of one request; more than `max_texts` go to the engine in several calls
MAX_ALTERNATIVES = 9
MAX_FILE_NAME = 200
PATHS = (
    *("/languages", "/translate", "/detect", "/suggest", "/translate_file", "/download_file/{name}"),
    *("/frontend/settings", "/spec", "/health"),
)
DONE = "done"
FORMATS = {"text": "plain", "html": "html"}
CODES = ("pt-BR", "zh-Hans", "zh-Hant")  # of LibreTranslate, beside those of languages
CORS = {"access-control-allow-origin": "*"}
PREFLIGHT = {
    "access-control-allow-methods": "GET, POST",
    "access-control-allow-headers": "Content-Type, Authorization, X-Api-Key",
    "access-control-max-age": "86400",
}
ERRORS = {
    "missing-key": (400, "Please contact the server operator to get an API key"),
    "unknown-key": (403, "Invalid API key"),
    "expired-key": (403, "Invalid API key"),
    "too-large": (400, "Invalid request: the request exceeds text limit"),
}
"""As LibreTranslate says it. Dialect compares `Invalid API key`. Problems that are not here keep their own text."""
STATUS = {404: 404, 405: 405, 403: 403, 409: 403, 429: 429, 499: 499}
_TOKEN = re.compile("[0-9a-f]{32}")  # as `new_token` makes them


def render(problem: Problem) -> Response:
    """A problem in the form of LibreTranslate."""
    other = 500 if problem.status >= 500 else 400
    status, text = ERRORS.get(problem.name, (STATUS.get(problem.status, other), problem.detail))
    if problem == UNKNOWN_PROJECT:
        status = 403
    return JSONResponse({"error": text}, status, CORS)


router = APIRouter(route_class=protocol_route(render), include_in_schema=False)


async def preflight() -> Response:
    """What browsers ask before they send a request of another site."""
    return Response(status_code=204, headers=CORS | PREFLIGHT)


for _path in PATHS:
    router.add_api_route(_path, preflight, methods=["OPTIONS"])


@router.api_route("/languages", methods=["GET", "POST"])
async def languages(request: Request) -> Response:
    """The languages of the key; without a key those of the models. Clients look for targets in this list too."""
    fields = await read_fields(request, service(request).settings.max_body)
    return _answer(listed(listed_pairs(await _pairs(request, _key(fields)), CODES)))


def listed(pairs: Iterable[Pair]) -> list[dict[str, Any]]:
    """The list of languages, each with those into which it can be translated.

    >>> listed([("en", "de")])[0]
    {'code': 'en', 'name': 'English', 'targets': ['de']}
    """
    chosen = list(dict.fromkeys(pairs))
    codes = dict.fromkeys(code for pair in zip(*chosen, strict=True) for code in pair if code)
    return [
        {"code": code, "name": language_name(code), "targets": [target for source, target in chosen if source == code]}
        for code in codes
    ]


async def _pairs(request: Request, key: str) -> list[Pair]:
    """The language pairs of a key. Without one: those that the models of the server offer."""
    try:
        return [_pair(one.project) for one in await opened_projects(request, Role.TRANSLATE, key)]
    except ProblemError as error:
        if error.problem != MISSING_KEY:
            raise
    return list(await asyncio.to_thread(_model_pairs, service(request).settings))


@lru_cache
def _model_pairs(settings: Settings) -> tuple[Pair, ...]:
    try:
        return tuple(allowed_pairs(settings))
    except (InputError, OSError):  # a model is not there; a project that wants it gets the reason
        return ()


def _pair(project: TranslationProject) -> Pair:
    return project.source_language, project.target_language


@router.post("/translate")
async def translate(request: Request) -> Response:
    """Translate one text or several."""
    here = service(request)
    fields = await read_fields(request, here.settings.max_project_body)
    syntax, alternatives = _syntax(fields), _alternatives(fields)
    opened = await OpenedPair.of(request, Role.TRANSLATE, fields, _texts(here, fields))
    answers = await translate_many(here, request, opened.found, opened.texts, syntax, candidates=1 + alternatives)
    found: dict[str, list[Any]] = {"translatedText": [one["translation"] for one in answers]}
    if opened.detected is not None:
        found["detectedLanguage"] = [opened.detected.to_json()] * len(answers)
    if alternatives:
        found["alternatives"] = [_others(one, alternatives) for one in answers]
    return _answer(found if fields.is_list("q") else {name: values[0] for name, values in found.items()})


def _others(answer: dict[str, Any], most: int) -> list[str]:
    return [text for text in answer["candidates"] if text != answer["translation"]][:most]


@router.post("/detect")
async def detect(request: Request) -> Response:
    """The languages of the key's projects, with the most likely one first."""
    here = service(request)
    fields = await read_fields(request, here.settings.max_project_body)
    projects = await opened_projects(request, Role.TRANSLATE, _key(fields))
    known = [code for one in projects for code in _pair(one.project)]
    ranked = (await detect_languages(["\n".join(_texts(here, fields))], known))[0]
    return _answer([one.to_json() for one in ranked if one.confidence] or [one.to_json() for one in ranked[:1]])


@router.post("/suggest")
async def suggest(request: Request) -> Response:
    """Learn a better translation. The answer comes when it is learned."""
    here = service(request)
    fields = await read_fields(request, here.settings.max_project_body)
    source, translation = fields.text("q"), fields.text("s")
    if not source or not translation:
        raise ProblemError(invalid_request(f"missing {'s' if source else 'q'} parameter"))
    opened = await OpenedPair.of(request, Role.CONFIRM, fields, [source])
    event = await confirmation(opened.found.project, source, translation)
    answer = await confirm_translation(here, opened.found, event)
    if answer["refused"]:
        raise ProblemError(invalid_request(f"not learned: {answer['refused']}"))
    return _answer({"success": True})


@dataclass(frozen=True)
class OpenedPair:
    """The project for the texts of a request; `detected` is the source language if the client asked for it."""

    found: AuthorisedProject
    texts: Sequence[str]
    detected: DetectedLanguage | None = None

    @classmethod
    async def of(cls, request: Request, role: Role, fields: RequestFields, texts: Sequence[str]) -> OpenedPair:
        """The project of the key and the language pair. `auto` chooses among the sources of the key's projects."""
        key, source, target = _key(fields), _required(fields, "source"), _required(fields, "target")
        if source.lower() != AUTO:
            return cls(await open_project(request, role, source, target, key), texts)
        projects = await opened_projects(request, Role.TRANSLATE, key)
        sources = [one.project.source_language for one in projects if fits(one.project, AUTO, target)]
        ranked = (await detect_languages(["\n".join(texts)], sources))[0]
        detected = next(iter(ranked), None)
        language = AUTO if detected is None else language_of(detected.language)
        return cls(await choose_project(service(request), projects, role, language, target), texts, detected)


@router.post("/translate_file")
async def translate_file(request: Request) -> Response:
    """Translate a file. The answer says where the result is, for a day."""
    here = service(request)
    fields = await read_file_form(request)
    upload = fields.file("file")
    if upload is None:
        raise ProblemError(invalid_request("missing file parameter"))
    suffix = check_suffix(upload.name)
    opened = await OpenedPair.of(request, Role.TRANSLATE, fields, [beginning(upload.content)])
    result = await translated_file(here, request, opened.found, upload.name, upload.content)
    token, project_id = new_token(), opened.found.project.id
    name = PurePath(upload.name).name[-MAX_FILE_NAME:]
    await keep_file(here, StoredFile(token, project_id, "", name, DONE, len(upload.content), result, "", time.time()))
    return _answer({"translatedFileUrl": f"{_folder(here, request)}/download_file/{token}{suffix}"})


def _folder(here: Service, request: Request) -> str:
    """The address of this API, as the client wrote it."""
    scheme = "https" if here.settings.secure else request.url.scheme
    return f"{scheme}://{request.url.netloc}{request.url.path.removesuffix('/translate_file')}"


@router.get("/download_file/{name}")
async def download_file(name: str, request: Request) -> Response:
    """A translated file. Whoever has its name may load it. Files of other APIs need more than a name."""
    here = service(request)
    await here.metering.check_address(caller_of(request), "")
    token = name.partition(".")[0]
    found = await here.storage.clients.file(token) if _TOKEN.fullmatch(token) else None
    if found is None or found.key_hash or found.result is None or found.created < time.time() - FILE_SECONDS:
        raise ProblemError(NOT_FOUND)
    headers = CORS | {"content-disposition": f'attachment; filename="translated{check_suffix(found.name)}"'}
    return Response(found.result, headers=headers, media_type="application/octet-stream")


@router.get("/frontend/settings")
async def frontend_settings(request: Request) -> Response:
    """What programs ask before they show their window."""
    here = service(request)
    pairs = await _pairs(request, "")
    source, target = next(iter(pairs), ("", ""))
    answer = {
        "apiKeys": True,
        "charLimit": here.settings.max_text,
        "filesTranslation": True,
        "frontendTimeout": 500,
        "keyRequired": not await _is_open(request),
        "language": {"source": _named(source), "target": _named(target)},
        "suggestions": True,
        "supportedFilesFormat": supported_suffixes(),
    }
    return _answer(answer)


async def _is_open(request: Request) -> bool:
    """Whether this request needs no key."""
    if HEADER in request.headers:
        return False
    try:
        return bool(await opened_projects(request, Role.TRANSLATE))
    except ProblemError:
        return False


def _named(code: str) -> dict[str, str]:
    return {"code": code, "name": language_name(code)}


@router.get("/spec")
async def spec(request: Request) -> Response:
    """A short description. Some programs look for the title before they accept a server."""
    await service(request).metering.check_address(caller_of(request), "")
    info = {"title": "LibreTranslate", "version": __version__, "description": "mtloop, with the API of LibreTranslate"}
    return _answer({"swagger": "2.0", "info": info, "paths": {path: {} for path in PATHS}})


@router.get("/health")
async def health() -> Response:
    return _answer({"status": "ok"})


def _answer(body: object) -> Response:
    return JSONResponse(body, headers=CORS)


def _key(fields: RequestFields) -> str:
    return fields.text("api_key") or fields.text("apiKey")


def _required(fields: RequestFields, name: str) -> str:
    value = fields.text(name).strip()
    if not value:
        raise ProblemError(invalid_request(f"missing {name} parameter"))
    return value


def _texts(here: Service, fields: RequestFields) -> list[str]:
    """The texts of a request. Raise a problem if there are none, too many, or too long ones."""
    texts, most = fields.texts("q"), here.settings.max_text
    if not any(texts):
        raise ProblemError(invalid_request("missing q parameter"))
    if len(texts) > MAX_TEXTS:
        raise ProblemError(invalid_request(f"q: {len(texts)} texts; at most {MAX_TEXTS} in one request"))
    if (size := sum(map(len, texts))) > most:
        raise ProblemError(invalid_request(f"request ({size}) exceeds text limit ({most})"))
    return texts


def _syntax(fields: RequestFields) -> str:
    format = fields.text("format") or "text"
    if format not in FORMATS:
        raise ProblemError(invalid_request(f"{format[:16]} format is not supported; expected text or html"))
    return FORMATS[format]


def _alternatives(fields: RequestFields) -> int:
    count = fields.number("alternatives")
    if not 0 <= count <= MAX_ALTERNATIVES:
        raise ProblemError(invalid_request(f"alternatives: expected 0 to {MAX_ALTERNATIVES}"))
    return count
