"""The API of ModernMT: translate, languages, detection, context vectors, the user.

`modernmt_memories` has the memories.
"""

from __future__ import annotations

import asyncio
import calendar
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from starlette.routing import Match

from mtloop.service.accounts.access import key_hash
from mtloop.service.audit.models import utc
from mtloop.service.compatible import modernmt_memories
from mtloop.service.compatible.context_vectors import MAX_COMPARED, context_vector, memory_scores
from mtloop.service.compatible.language_detection import detect_languages
from mtloop.service.compatible.language_variants import Pair, fits
from mtloop.service.compatible.listed_languages import listed_pairs
from mtloop.service.compatible.memory_files import unpacked
from mtloop.service.compatible.memory_lookup import MemoryNames
from mtloop.service.compatible.modernmt_answers import (
    bad_field,
    data_response,
    listed_names,
    modernmt_problem,
    required_text,
)
from mtloop.service.compatible.opened_project import choose_project, opened_projects, pair_of
from mtloop.service.compatible.protocol_errors import protocol_route
from mtloop.service.compatible.request_fields import RequestFields, read_fields
from mtloop.service.problems import NOT_FOUND, Problem, ProblemError, unknown_pair
from mtloop.service.project_log.models import Role, TranslationProject
from mtloop.service.project_log.project_access import AuthorisedProject
from mtloop.service.projects.project_calls import translate_many
from mtloop.service.state import Service, service
from mtloop.text.language_codes import language_of

FORMATS = {
    **{"": "plain", "text/plain": "plain", "text/html": "html"},
    **{"text/xml": "xml", "application/xliff+xml": "xml"},  # the inline elements of XLIFF are tags of XML fragments
}
CODES = ("pes", "pt-BR", "pt-PT", "sr-Cyrl", "sr-Latn", "zh-CN", "zh-TW")  # of ModernMT, beside those of languages
MAX_TEXTS = 1_000  # of a request
MAX_ALTERNATIVES = 9
MAX_LANGUAGE = 16  # characters of a code
MAX_VECTOR = 10  # memories of a context vector
MAX_NAMES = 100  # memories that a request names
MAX_TARGETS = 20  # languages of a request for context vectors
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]

router = APIRouter(route_class=protocol_route(modernmt_problem), include_in_schema=False)


@router.get("/translate")
async def translate(request: Request) -> Response:
    """Translate one text or several."""
    here = service(request)
    projects = await opened_projects(request, Role.TRANSLATE)
    fields = await read_fields(request, here.settings.max_project_body)
    texts, syntax, others = _texts(fields), _syntax(fields), _alternatives(fields)
    source, target = fields.text("source"), required_text(fields, "target", MAX_LANGUAGE)
    detected = "" if source else await _detected(projects, texts, target)
    found = await choose_project(here, projects, Role.TRANSLATE, source or language_of(detected), target)
    documents = await _documents(here, found, fields)
    full = [text for text in texts if text.strip()]
    answers = iter(await translate_many(here, request, found, full, syntax, candidates=others + 1, documents=documents))
    data = [_translation(text, next(answers) if text.strip() else None, detected, others) for text in texts]
    return data_response(data if fields.is_list("q") else data[0])


@router.get("/translate/languages")
async def list_languages(request: Request) -> Response:
    """All languages that the key translates from or into."""
    pairs = _listed_pairs(await opened_projects(request, Role.TRANSLATE))
    return data_response(sorted({language for pair in pairs for language in pair if language}))


@router.get("/languages")
async def list_pairs(request: Request) -> Response:
    """The languages that each language is translated into."""
    pairs: dict[str, list[str]] = {}
    for source, target in _listed_pairs(await opened_projects(request, Role.TRANSLATE)):
        if source and target:
            pairs.setdefault(source, []).append(target)
    return data_response(pairs)


@router.get("/translate/detect")
async def detect(request: Request) -> Response:
    """Say which of the languages of the key a text has."""
    here = service(request)
    projects = await opened_projects(request, Role.TRANSLATE)
    fields = await read_fields(request, here.settings.max_project_body)
    texts = _texts(fields)
    ranked = await detect_languages(texts, _languages(projects))
    data = [{"billedCharacters": 0, "detectedLanguage": found[0].language if found else ""} for found in ranked]
    return data_response(data if fields.is_list("q") else data[0])


@router.get("/users/me")
async def show_user(request: Request) -> Response:
    """The participant whose key it is. Nothing is billed."""
    projects = await opened_projects(request, Role.TRANSLATE)
    keys = service(request).access
    user = projects[0].participant if projects else (await keys.key_owner(request, key_hash(request))).participant
    return data_response(
        {
            "id": user.id,
            "name": user.name,
            "email": "",
            "registrationDate": None,
            "country": None,
            "isBusiness": False,
            "status": "active",
            "billingPeriod": _billing_period(datetime.now(UTC)),
        }
    )


@router.get("/context-vector")
async def show_context_vector(request: Request) -> Response:
    """Say which memories are similar to a text."""
    here = service(request)
    projects = await opened_projects(request, Role.TRANSLATE)
    fields = await read_fields(request, here.settings.max_project_body)
    source, targets = required_text(fields, "source", MAX_LANGUAGE), listed_names(fields, "targets")
    if not 1 <= len(targets) <= MAX_TARGETS:
        raise bad_field("targets", f"expected 1 to {MAX_TARGETS} languages")
    known = [one for one in dict.fromkeys(targets) if any(fits(project.project, source, one) for project in projects)]
    if not known:
        raise ProblemError(unknown_pair([pair_of(one.project) for one in projects], source, ",".join(targets)))
    async with here.heavy_work:
        text = await asyncio.to_thread(_context, here, fields)
    chosen = {
        target: (await choose_project(here, projects, Role.TRANSLATE, source, target)).project for target in known
    }
    by_project = {project.id: project for project in chosen.values()}  # several targets may have the same one
    vectors = {id: await _vector(here, project, text, fields) for id, project in by_project.items()}
    found = {target: vectors[project.id] for target, project in chosen.items()}
    return data_response({"source": source, "vectors": {target: one for target, one in found.items() if one}})


router.include_router(modernmt_memories.router)


@router.api_route("/{path:path}", methods=METHODS)
async def refuse(path: str, request: Request) -> Response:
    """An address or a method that is not supported: clients expect an answer in the form of this API."""
    inside = {**request.scope, "path": f"/{path}"}
    routes = [*router.routes, *modernmt_memories.router.routes]
    known = [one for one in routes if isinstance(one, APIRoute) and one.endpoint is not refuse]
    allowed = {name for one in known if one.matches(inside)[0] is not Match.NONE for name in one.methods or ()}
    if not allowed:
        raise ProblemError(NOT_FOUND)
    named = ", ".join(sorted(allowed))
    answer = modernmt_problem(Problem(405, "", "Method not allowed", f"This address knows {named}."))
    answer.headers["allow"] = named
    return answer


def _texts(fields: RequestFields) -> list[str]:
    texts = fields.texts("q")
    if not texts or len(texts) > MAX_TEXTS:
        raise bad_field("q", f"expected a text, or a list of 1 to {MAX_TEXTS:,} texts")
    return texts


def _syntax(fields: RequestFields) -> str:
    if fields.text("mask_profanities") == "true":
        raise bad_field("mask_profanities", "not supported")
    if (name := fields.text("format")) not in FORMATS:
        raise bad_field("format", f"expected {', '.join(filter(None, FORMATS))}")
    return FORMATS[name]


def _alternatives(fields: RequestFields) -> int:
    count = fields.number("alt_translations")
    if not 0 <= count <= MAX_ALTERNATIVES:
        raise bad_field("alt_translations", f"expected a number from 0 to {MAX_ALTERNATIVES}")
    return count


async def _detected(projects: Sequence[AuthorisedProject], texts: Sequence[str], target: str) -> str:
    """The most likely language of the texts, among those that are translated into the target language."""
    sources = [one.project.source_language for one in projects if fits(one.project, "", target)]
    ranked = (await detect_languages(["\n".join(texts)], sources))[0]
    return ranked[0].language if ranked else ""


async def _documents(here: Service, found: AuthorisedProject, fields: RequestFields) -> list[str] | None:
    """The documents of the memories that a request names. None: it names none, and sees all corrections."""
    weighted = [one.rpartition(":")[0] or one for one in _memory_names(fields, "context_vector")]
    names = [*_memory_names(fields, "hints"), *weighted]
    if not names:
        return None
    known = await here.storage.clients.memories(found.project.id)
    return [memory.document for memory in MemoryNames(known).find_all(names)]


def _memory_names(fields: RequestFields, name: str) -> list[str]:
    names = listed_names(fields, name)
    if len(names) > MAX_NAMES:
        raise bad_field(name, f"expected at most {MAX_NAMES} memories")
    return names


def _translation(text: str, answer: dict[str, Any] | None, detected: str, others: int) -> dict[str, Any]:
    """A translation as clients read it. A text without letters, such as spaces, is its own translation."""
    translated = answer["translation"] if answer else text
    found: dict[str, Any] = {"translation": translated, "characters": len(text), "billedCharacters": 0}
    if detected:
        found["detectedLanguage"] = detected
    if others:
        candidates = dict.fromkeys((answer or {}).get("candidates") or ())
        found["altTranslations"] = [one for one in candidates if one != translated][:others]
    return found


def _listed_pairs(projects: Sequence[AuthorisedProject]) -> list[Pair]:
    return listed_pairs([(one.project.source_language, one.project.target_language) for one in projects], CODES)


def _languages(projects: Sequence[AuthorisedProject]) -> list[str]:
    pairs = [(one.project.source_language, one.project.target_language) for one in projects]
    return sorted({language for pair in pairs for language in pair if language})


def _billing_period(now: datetime) -> dict[str, Any]:
    """The present month. The fields are there because clients read them."""
    begin = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    end = begin.replace(day=calendar.monthrange(now.year, now.month)[1], hour=23, minute=59, second=59)
    none = dict.fromkeys(("planDescription", "planForCatTool", "currency", "currencySymbol"))
    dates = {"begin": utc(begin.timestamp()), "end": utc(end.timestamp())}
    return {**dates, "chars": 0, "plan": "mtloop", "amount": 0, **none}


def _context(here: Service, fields: RequestFields) -> str:
    """The text of a context: a field, or a file."""
    file = fields.file("content")
    if file is None:
        text = required_text(fields, "text", here.settings.max_project_body)
    else:
        content = unpacked("content", file.content, fields.text("compression"), here.settings.max_project_body)
        text = content.decode(errors="replace")
    return text


async def _vector(here: Service, project: TranslationProject, text: str, fields: RequestFields) -> str:
    """The context vector of a text, for a project; `hints` name the only memories to look at."""
    limit, names = fields.number("limit", MAX_VECTOR), _memory_names(fields, "hints")
    if limit < 1:
        raise bad_field("limit", "expected at least 1")
    known = await here.storage.clients.memories(project.id)
    chosen = MemoryNames(known).find_all(names) if names else known
    if not chosen:
        return ""
    corrections = await here.storage.corrections.newest_counted(project.id, MAX_COMPARED)
    async with here.heavy_work:
        scores = await asyncio.to_thread(memory_scores, corrections, chosen, text, project.source_language)
    return context_vector(scores, min(limit, MAX_VECTOR))
