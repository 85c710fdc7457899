"""Routes of the work on the units of a document: list, suggest, complete, draft, confirm, undo."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from time import monotonic
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from sqlalchemy.ext.asyncio import AsyncConnection

from mtloop.service.documents.document_bodies import (
    ChangedUnits,
    CompletionAnswer,
    DraftAnswer,
    DraftBody,
    PrefixBody,
    SuggestionsAnswer,
    SuggestionsBody,
    UnitAnswer,
    UnitConfirmAnswer,
    UnitConfirmBody,
    UnitKind,
    UnitList,
    VersionBody,
    unit_json,
)
from mtloop.service.documents.document_routes import OF_DOCUMENT, files_of, find_document
from mtloop.service.documents.failed_texts import TextRules, checks_of, objection
from mtloop.service.documents.models import (
    LOCKED,
    DocumentGone,
    StoredDocument,
    StoredUnit,
    UnitChanged,
    UnitFilter,
    UnitKey,
    UnitNotConfirmed,
)
from mtloop.service.documents.store import external_id
from mtloop.service.documents.text_parts import parts_of
from mtloop.service.documents.used_corrections import as_written, numbers_of
from mtloop.service.http import check_text, json_response, read_body
from mtloop.service.problems import (
    ENGINE_UNAVAILABLE,
    NO_CORRECTIONS,
    NO_MORE_CORRECTIONS,
    UNIT_CHANGED,
    UNIT_LOCKED,
    UNIT_NOT_CONFIRMED,
    UNKNOWN_DOCUMENT,
    UNKNOWN_PROJECT,
    ProblemError,
    documented,
    protected_text,
)
from mtloop.service.project_log.models import Role, TranslationProject
from mtloop.service.project_log.project_access import AuthorisedProject
from mtloop.service.projects.project_calls import (
    check_size,
    check_texts,
    confirm_translation,
    confirmation,
    translate_texts,
)
from mtloop.service.state import Service, service
from mtloop.service.tasks.run_routes import IN_PARTS, MAX_NUMBER, WITH_BODY, Limit, body_of
from mtloop.text.glossary import Glossary

router = APIRouter(prefix="/v1/projects/{project}/documents/{document}", tags=["documents"])
Place = Annotated[int, Path(ge=0, le=MAX_NUMBER)]
WITH_ENGINE = (*OF_DOCUMENT, *WITH_BODY, ENGINE_UNAVAILABLE)
OF_UNIT = (*OF_DOCUMENT, *WITH_BODY, UNIT_CHANGED, UNIT_LOCKED)
MAX_CHANGED = 500  # units of one answer about changes
SHOWN_OBJECTION = protected_text("A placeholder or tag of the source is missing", may_insist=True)


@router.get("/units", response_model=UnitList, responses=documented(*OF_DOCUMENT, *IN_PARTS))
async def list_units(
    project: str,
    document: str,
    request: Request,
    after: Annotated[int, Query(ge=-1, le=MAX_NUMBER, description="Units after this index.")] = -1,
    filter: Annotated[
        UnitKind,
        Query(
            description="Units in a state; or `changed`: with a draft, or confirmed with another text than that of the "
            "file; or `failing`: their text fails a check."
        ),
    ] = "all",
    search: Annotated[
        str, Query(max_length=200, description="A text in the source, the target or the draft. Case does not matter.")
    ] = "",
    limit: Limit = 100,
) -> Response:
    """List the units of a document in the order of the file."""
    here = service(request)
    _, one = await find_document(request, project, document, Role.TRANSLATE)
    chosen = UnitFilter(filter, check_text(search, "search"), after)
    rows = await here.storage.documents.units(one, chosen, limit + 1)
    following = rows[limit - 1].place if len(rows) > limit else None
    return json_response({"units": list(map(unit_json, rows[:limit])), "next": following, "change": one.change})


@router.get("/changes", response_model=ChangedUnits, responses=documented(*OF_DOCUMENT, *IN_PARTS))
async def list_changes(
    project: str,
    document: str,
    request: Request,
    after: Annotated[int, Query(ge=0, le=MAX_NUMBER, description="The `change` that you know.")] = 0,
) -> Response:
    """List the units that changed since: drafts, confirmations and undos of anybody, also of corrections."""
    here = service(request)
    _, one = await find_document(request, project, document, Role.TRANSLATE)
    rows = await here.storage.documents.changed(one, after, MAX_CHANGED)
    last = rows[-1].change if len(rows) == MAX_CHANGED else max([one.change, *(row.change for row in rows)])
    return json_response({"units": list(map(unit_json, rows)), "change": last})


@router.post(
    "/suggestions",
    response_model=SuggestionsAnswer,
    responses=documented(*WITH_ENGINE),
    openapi_extra=body_of(SuggestionsBody),
)
async def suggest(project: str, document: str, request: Request) -> Response:
    """Translate units with everything that was confirmed so far. For one unit, `words` say where its words come from.

    Locked units and units that are not there are left out.
    """
    here = service(request)
    found, one = await find_document(request, project, document, Role.TRANSLATE)
    body = await read_body(request, SuggestionsBody, here.settings.max_body)
    units = await here.storage.documents.units_at(one, body.units)
    chosen = [units[place] for place in dict.fromkeys(body.units) if place in units and units[place].state != LOCKED]
    answers, state, rebuilding = await _translated(here, request, found, chosen, body.base)
    glossary = await here.glossaries.of(found.project)
    texts = await here.storage.documents.written_texts(found.project.id, numbers_of(answers.values()))

    def shown() -> list[dict[str, Any]]:
        return [_suggestion(unit, answers[unit.place], glossary, found.project, texts) for unit in chosen]

    suggestions = await asyncio.to_thread(shown)  # checks of long texts take a while
    return json_response({"suggestions": suggestions, "state": state, "rebuilding": rebuilding})


async def _translated(
    here: Service, request: Request, found: AuthorisedProject, units: Sequence[StoredUnit], base: bool
) -> tuple[dict[int, dict[str, Any]], int, bool]:
    """The answers of the engine by unit, the state of its learner, and whether it is being rebuilt."""
    answers, state, rebuilding = dict[int, dict[str, Any]](), found.project.number, False
    for syntax in sorted({unit.syntax for unit in units}):
        alike = [unit for unit in units if unit.syntax == syntax]
        texts = [unit.source for unit in alike]
        if base:
            given = await _base_answers(here, found.project, texts, syntax)
        else:
            answer = await translate_texts(here, request, found, texts, syntax)
            given, state, rebuilding = answer["translations"], answer["state"], answer["rebuilding"]
        answers |= {unit.place: one for unit, one in zip(alike, given, strict=True)}
    return answers, state, rebuilding


async def _base_answers(
    here: Service, project: TranslationProject, texts: Sequence[str], syntax: str
) -> list[dict[str, Any]]:
    check_texts(here, texts)
    call = {"texts": list(texts), "syntax": syntax}
    translations = await here.engines.call(project.id, "base", number=project.number, texts=call)
    return [{"translation": str(text), "repeated": False, "corrections": []} for text in translations]


def _suggestion(
    unit: StoredUnit,
    answer: dict[str, Any],
    glossary: Glossary,
    project: TranslationProject,
    texts: Mapping[int, tuple[str, str]],
) -> dict[str, Any]:
    rules = TextRules.of(unit, project.target_language)
    text = rules.fitted(answer["translation"])
    terms = dict.fromkeys((match.term.source, match.term.targets[0]) for match in glossary.find(unit.source))
    return {
        "index": unit.place,
        "translation": text,
        "repeated": answer["repeated"],
        "corrections": as_written(answer["corrections"], texts, unit.syntax),
        "terms": [{"source": source, "target": target} for source, target in terms],
        "checks": checks_of(rules, text),
        "parts": parts_of(text, unit.syntax, unit.source),
    }


@router.post(
    "/units/{index}/complete",
    response_model=CompletionAnswer,
    responses=documented(*WITH_ENGINE, UNIT_LOCKED),
    openapi_extra=body_of(PrefixBody),
)
async def complete(project: str, document: str, index: Place, request: Request) -> Response:
    """Translate a unit so that the translation begins with a prefix."""
    here = service(request)
    found, one = await find_document(request, project, document, Role.TRANSLATE)
    body = await read_body(request, PrefixBody, here.settings.max_project_body)
    unit = await _workable(here, one, index)
    answer = await translate_texts(here, request, found, [unit.source], unit.syntax, prefix=body.prefix)
    text = answer["translations"][0]["translation"]
    fitted = TextRules.of(unit, found.project.target_language).fitted(text)
    return json_response({"translation": fitted if fitted.startswith(body.prefix) else text})


@router.put(
    "/units/{index}/draft",
    response_model=DraftAnswer,
    responses=documented(*OF_UNIT),
    openapi_extra=body_of(DraftBody),
)
async def save_draft(project: str, document: str, index: Place, request: Request) -> Response:
    """Keep what you type, so that it is there after a crash, and others see it."""
    here = service(request)
    found, one = await find_document(request, project, document, Role.CONFIRM)
    body = await read_body(request, DraftBody, here.settings.max_project_body)
    check_size(here, body.text or "")
    unit = await _workable(here, one, index)
    key, language = UnitKey(one.id, index, body.version), found.project.target_language
    shown = unit.target if body.text is None else body.text
    await asyncio.to_thread(checks_of, TextRules.of(unit, language), shown)  # before the transaction needs them
    with unit_problems():
        version, change = await here.storage.documents.set_draft(one, key, body.text, found.participant.id, language)
    return json_response({"version": version, "change": change})


@router.post(
    "/units/{index}/confirm",
    response_model=UnitConfirmAnswer,
    responses=documented(*OF_UNIT, SHOWN_OBJECTION, ENGINE_UNAVAILABLE, NO_CORRECTIONS, NO_MORE_CORRECTIONS),
    openapi_extra=body_of(UnitConfirmBody),
)
async def confirm_unit(project: str, document: str, index: Place, request: Request) -> Response:
    """Confirm the text of a unit. It is stored before the answer, and learned after it.

    A second confirmation replaces the first one. The same request again changes nothing.
    """
    started, here = monotonic(), service(request)
    found, one = await find_document(request, project, document, Role.CONFIRM)
    body = await read_body(request, UnitConfirmBody, here.settings.max_project_body)
    unit = await _workable(here, one, index)
    insisted = await _check_text(request, found.project, one, unit, body)
    event = await confirmation(
        found.project,
        unit.source,
        body.text,
        proposal=body.suggestion,
        document=one.name,
        external_id=external_id(one.token, index),
        syntax=unit.syntax,
    )
    event = replace(event, insisted=insisted)

    async def check(connection: AsyncConnection) -> None:
        key, language = UnitKey(one.id, index, body.version), found.project.target_language
        await here.storage.documents.begin_confirmation(connection, one, key, body.text, language)

    with unit_problems():
        answer = await confirm_translation(here, found, event, "durable", check=check)
    unit = await _workable(here, one, index)
    answer = {"learned": None, "proof": None, "rebuilding": False, **answer, "unit": unit_json(unit)}
    return json_response(answer | {"seconds": round(monotonic() - started, 4)})


async def _check_text(
    request: Request, project: TranslationProject, document: StoredDocument, unit: StoredUnit, body: UnitConfirmBody
) -> bool:
    """Raise a problem if a text breaks what is protected, or if the file cannot hold it.

    Return whether it breaks something, and the person insists on it.
    """
    check_size(service(request), body.text, body.suggestion)
    rules = TextRules.of(unit, project.target_language)
    found, may_insist = await asyncio.to_thread(objection, rules, body.text)
    if found and not (body.force and may_insist):
        raise ProblemError(protected_text(found, may_insist))
    await files_of(request).check(project, document, unit.place, body.text)
    return bool(found)


@router.post(
    "/units/{index}/undo",
    response_model=UnitAnswer,
    responses=documented(*OF_UNIT, UNIT_NOT_CONFIRMED),
    openapi_extra=body_of(VersionBody),
)
async def undo_unit(project: str, document: str, index: Place, request: Request) -> Response:
    """Take the confirmation of a unit back. The unit is open again, and its text is a draft."""
    here = service(request)
    found, one = await find_document(request, project, document, Role.CONFIRM)
    body = await read_body(request, VersionBody, here.settings.max_body)
    unit = await _workable(here, one, index)
    await asyncio.to_thread(checks_of, TextRules.of(unit, found.project.target_language), unit.target)

    async def check(connection: AsyncConnection) -> None:
        await here.storage.documents.begin_undo(connection, one, UnitKey(one.id, index, body.version))

    with unit_problems():
        number = await here.storage.corrections.undo_segment(
            found.project.id, unit.segment, found.participant.id, check
        )
    if number is None:
        raise ProblemError(UNKNOWN_PROJECT)
    here.engines.nudge(found.project.id, number)
    return json_response({"unit": unit_json(await _workable(here, one, index))})


async def _workable(here: Service, document: StoredDocument, place: int) -> StoredUnit:
    """A unit that is not locked. Raise a problem for others."""
    found = await here.storage.documents.units_at(document, [place])
    if place not in found:
        raise ProblemError(UNKNOWN_DOCUMENT)
    if found[place].state == LOCKED:
        raise ProblemError(UNIT_LOCKED)
    return found[place]


@contextmanager
def unit_problems() -> Iterator[None]:
    """Say why a unit cannot be changed."""
    try:
        yield
    except UnitChanged:
        raise ProblemError(UNIT_CHANGED) from None
    except UnitNotConfirmed:
        raise ProblemError(UNIT_NOT_CONFIRMED) from None
    except DocumentGone:
        raise ProblemError(UNKNOWN_DOCUMENT) from None
