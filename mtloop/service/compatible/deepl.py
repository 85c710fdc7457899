"""The API of DeepL: translate texts, languages, usage. Its other routes are in the files `deepl_*.py`."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import Request, Response

from mtloop.service.compatible.deepl_glossaries import apart, base_pair, check_glossary_ids, glossary_pairs
from mtloop.service.compatible.deepl_memories import check_memory_id
from mtloop.service.compatible.deepl_protocol import (
    OLD_SIMPLIFIED,
    SIMPLIFIED,
    answer,
    deepl_router,
    key_of,
    required,
    source_code,
    target_codes,
    target_language,
)
from mtloop.service.compatible.ignored_elements import HiddenElements, element_edges
from mtloop.service.compatible.language_detection import detect_languages
from mtloop.service.compatible.language_names import language_name
from mtloop.service.compatible.language_variants import fits
from mtloop.service.compatible.opened_project import choose_project, opened_projects
from mtloop.service.compatible.request_fields import RequestFields, read_fields
from mtloop.service.problems import NOT_FOUND, ProblemError, invalid_request
from mtloop.service.project_log.models import Role
from mtloop.service.project_log.project_access import AuthorisedProject
from mtloop.service.projects.project_calls import translate_many
from mtloop.service.state import Service, service
from mtloop.text.language_codes import language_of

MAX_TEXTS = 1_000  # of one request; more than `max_texts` go to the engine in several calls
CHARACTER_LIMIT = 1_000_000_000_000  # this service counts requests, not characters
TAG_HANDLING = {"": "plain", "xml": "xml", "html": "html"}
FORMALITY = ("", "default", "prefer_more", "prefer_less")
MAX_IGNORED = 100  # names of elements that are not translated, and characters of each
GLOSSARY = "glossary"
RESOURCES = ("", "translate_text", "translate_document", GLOSSARY)

router = deepl_router()


@router.api_route("/v2/translate", methods=["GET", "POST"])
async def translate(request: Request) -> Response:
    """Translate texts, with everything that was confirmed so far."""
    here = service(request)
    fields = await read_fields(request, here.settings.max_project_body)
    found = await project_of(request, fields, fields.texts("text"))
    texts = _texts(fields)
    await check_options(here, found, fields)
    translations = await _translated(here, request, found, fields, texts)
    language = source_code(found.project.source_language or fields.text("source_lang"))
    rows = [
        {"detected_source_language": language, "text": translation, "billed_characters": len(text)}
        for text, translation in zip(texts, translations, strict=True)
    ]
    return answer({"translations": rows})


async def project_of(request: Request, fields: RequestFields, texts: Sequence[str]) -> AuthorisedProject:
    """The project of the key and the language pair. Without a source language, that of the texts decides."""
    projects = await opened_projects(request, Role.TRANSLATE, key_of(fields))
    source, target = fields.text("source_lang"), target_language(required(fields, "target_lang"))
    sources = {one.project.source_language for one in projects if fits(one.project, source, target)}
    if not source and len(sources) > 1:
        source = language_of((await detect_languages(["\n".join(texts)], sources))[0][0].language)
    return await choose_project(service(request), projects, Role.TRANSLATE, source, target)


def _texts(fields: RequestFields) -> list[str]:
    texts = fields.texts("text")
    if not texts:
        raise ProblemError(invalid_request("text: expected at least one text"))
    if len(texts) > MAX_TEXTS:
        raise ProblemError(invalid_request(f"text: at most {MAX_TEXTS:,} texts in one request"))
    return texts


async def check_options(here: Service, found: AuthorisedProject, fields: RequestFields) -> None:
    """Raise a problem for options that cannot be followed. Those that have no effect are in the docs."""
    if fields.text("formality") not in FORMALITY:
        raise ProblemError(invalid_request("formality: expected default, prefer_more or prefer_less"))
    if fields.text("tag_handling") not in TAG_HANDLING:
        raise ProblemError(invalid_request("tag_handling: expected xml or html"))
    await check_glossary_ids(here, found, [*fields.texts("glossary_id"), *fields.names("glossary_ids")])
    await check_memory_id(here, found, fields.text("translation_memory_id"))


async def _translated(
    here: Service, request: Request, found: AuthorisedProject, fields: RequestFields, texts: Sequence[str]
) -> list[str]:
    """The translations of texts. An empty text stays empty."""
    handling = fields.text("tag_handling")
    edges = element_edges(_ignored(fields) if handling else (), ignore_case=handling == "html")
    hidden = [HiddenElements.of(text, edges) for text in texts]
    filled = [one for one in hidden if one.text.strip()]
    answers = await translate_many(here, request, found, [one.text for one in filled], TAG_HANDLING[handling])
    done = iter([one.shown(str(row["translation"])) for one, row in zip(filled, answers, strict=True)])
    return [next(done) if one.text.strip() else one.text for one in hidden]


def _ignored(fields: RequestFields) -> list[str]:
    """The names of elements that are not translated. All of them are looked for in every text, so they are few."""
    texts = fields.texts("ignore_tags")
    short = len(texts) <= MAX_IGNORED and sum(map(len, texts)) <= MAX_IGNORED * (MAX_IGNORED + 2)  # a comma and a space
    names = fields.names("ignore_tags") if short else []
    if not short or len(names) > MAX_IGNORED or any(len(name) > MAX_IGNORED for name in names):
        raise ProblemError(
            invalid_request(f"ignore_tags: at most {MAX_IGNORED} names of at most {MAX_IGNORED} characters")
        )
    return names


@router.get("/v2/languages")
async def languages(request: Request) -> Response:
    """The languages of the projects that the key opens."""
    fields = await read_fields(request, service(request).settings.max_body)
    projects = await opened_projects(request, Role.TRANSLATE, key_of(fields))
    kind = fields.text("type", "source")
    if kind not in ("source", "target"):
        raise ProblemError(invalid_request("type: expected source or target"))
    codes = _targets(projects) if kind == "target" else _sources(projects)
    if kind == "target" and SIMPLIFIED in codes:
        codes = sorted({*codes, OLD_SIMPLIFIED})
    formality = {"supports_formality": False} if kind == "target" else {}
    return answer([{"language": code, "name": language_name(code)} | formality for code in codes])


@router.get("/v3/languages")
async def language_features(request: Request) -> Response:
    """The languages of the projects that the key opens, and what they can be used for."""
    fields = await read_fields(request, service(request).settings.max_body)
    projects = await opened_projects(request, Role.TRANSLATE, key_of(fields))
    resource = fields.text("resource")
    if resource not in RESOURCES:  # a client that asks for `write` does not offer it then
        raise ProblemError(NOT_FOUND)
    if resource == GLOSSARY:
        pairs = apart(glossary_pairs(projects), [base_pair(one) for one in projects])
        sources, targets = (sorted({pair[side].upper() for pair in pairs}) for side in (0, 1))
    else:
        sources, targets = _sources(projects), _targets(projects)
    rows = [
        {
            "lang": _lower(code),
            "name": language_name(code),
            "usable_as_source": code in sources,
            "usable_as_target": code in targets,
            "features": {},
        }
        for code in dict.fromkeys([*sources, *targets])
    ]
    return answer(rows)


def _lower(code: str) -> str:
    """A code in the case of v3.

    >>> _lower("PT-BR"), _lower("ZH-HANS")
    ('pt-BR', 'zh-Hans')
    """
    language, _, region = code.partition("-")
    return f"{language.lower()}-{region if len(region) < 4 else region.title()}" if region else language.lower()


def _sources(projects: Sequence[AuthorisedProject]) -> list[str]:
    return sorted({source_code(one.project.source_language) for one in projects if one.project.source_language})


def _targets(projects: Sequence[AuthorisedProject]) -> list[str]:
    return target_codes((one.project.source_language, one.project.target_language) for one in projects)


@router.get("/v2/usage")
async def usage(request: Request) -> Response:
    """How much is used: nothing, of very much. This service counts requests, not characters."""
    fields = await read_fields(request, service(request).settings.max_body)
    await opened_projects(request, Role.TRANSLATE, key_of(fields))
    return answer({"character_count": 0, "character_limit": CHARACTER_LIMIT})
