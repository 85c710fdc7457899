"""Routes of a person's work: translate, confirm, rate, undo, redo, review."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from time import monotonic
from typing import Any

from fastapi import APIRouter, Request, Response

from mtloop.core.types import Proposal, Segment
from mtloop.service.documents.used_corrections import as_written, numbers_of
from mtloop.service.http import json_response, read_body
from mtloop.service.problems import (
    ENGINE_UNAVAILABLE,
    EQUAL_CORRECTION,
    NO_CORRECTIONS,
    NO_MORE_CORRECTIONS,
    NO_RATINGS,
    UNKNOWN_CORRECTION,
    UNKNOWN_PROJECT,
    UNKNOWN_PROPOSAL,
    ProblemError,
    documented,
)
from mtloop.service.project_log.correction_store import EqualCorrection
from mtloop.service.project_log.event_log import Confirmed, Rated, Redone, Reviewed, Undone
from mtloop.service.project_log.models import Role
from mtloop.service.project_log.project_access import AuthorisedProject
from mtloop.service.projects.learning_kinds import learns_from_ratings
from mtloop.service.projects.project_bodies import (
    SYNTAX,
    ConfirmAnswer,
    ConfirmBody,
    EventAnswer,
    RateAnswer,
    RateBody,
    ReviewBody,
    TranslateAnswer,
    TranslateBody,
)
from mtloop.service.projects.project_calls import (
    check_room_to_redo,
    confirm_translation,
    confirmation,
    full_explained,
    translate_texts,
)
from mtloop.service.projects.project_routes import OF_PROJECT
from mtloop.service.state import Service, service
from mtloop.service.tasks.run_routes import IN_PARTS, MAX_NUMBER, WITH_BODY, body_of

router = APIRouter(prefix="/v1/projects/{project}", tags=["translation"])
OF_CORRECTION = (*OF_PROJECT, *IN_PARTS, UNKNOWN_CORRECTION)
WITH_ENGINE = (*OF_PROJECT, *WITH_BODY, ENGINE_UNAVAILABLE)


@router.post(
    "/translate",
    response_model=TranslateAnswer,
    responses=documented(*WITH_ENGINE),
    openapi_extra=body_of(TranslateBody),
)
async def translate(project: str, request: Request) -> Response:
    """Translate one text or several, with everything that was confirmed so far."""
    here = service(request)
    found = await here.project_access.project(request, project, Role.TRANSLATE)
    body = await read_body(request, TranslateBody, here.settings.max_project_body)
    answer = await translate_texts(
        here,
        request,
        found,
        body.texts,
        SYNTAX[body.format],
        prefix=body.prefix,
        candidates=body.candidates,
        documents=body.documents,
    )
    translations = await _with_written_corrections(here, found, answer["translations"], SYNTAX[body.format])
    return json_response(answer | {"translations": translations})


async def _with_written_corrections(
    here: Service, found: AuthorisedProject, answers: Sequence[dict[str, Any]], syntax: str
) -> list[dict[str, Any]]:
    """The answers of the engine, with the corrections as people wrote them."""
    texts = await here.storage.documents.written_texts(found.project.id, numbers_of(answers))

    def shown() -> list[dict[str, Any]]:
        return [one | {"corrections": as_written(one["corrections"], texts, syntax)} for one in answers]

    return await asyncio.to_thread(shown)  # words of a long text take a while


@router.post(
    "/confirm",
    response_model=ConfirmAnswer,
    responses=documented(*WITH_ENGINE, NO_CORRECTIONS, NO_MORE_CORRECTIONS),
    openapi_extra=body_of(ConfirmBody),
)
async def confirm(project: str, request: Request) -> Response:
    """Confirm a translation. It is stored before the answer, and learned too unless you send `"wait": "durable"`."""
    started, here = monotonic(), service(request)
    found = await here.project_access.project(request, project, Role.CONFIRM)
    body = await read_body(request, ConfirmBody, here.settings.max_project_body)
    event = await confirmation(
        found.project,
        body.source,
        body.translation,
        proposal=body.proposal,
        document=body.document,
        external_id=body.external_id,
        syntax=SYNTAX[body.format],
    )
    answer = await confirm_translation(here, found, event, body.wait, body.proof)
    return json_response(answer | {"seconds": round(monotonic() - started, 4)})


@router.post(
    "/rate",
    response_model=RateAnswer,
    responses=documented(*WITH_ENGINE, UNKNOWN_PROPOSAL, NO_RATINGS, NO_MORE_CORRECTIONS),
    openapi_extra=body_of(RateBody),
)
async def rate(project: str, request: Request) -> Response:
    """Rate a proposal of `translate` from 0 to 1. Only methods that learn from rewards take ratings."""
    here = service(request)
    found = await here.project_access.project(request, project, Role.CONFIRM)
    body = await read_body(request, RateBody, here.settings.max_body)
    if not learns_from_ratings(found.project.method):
        raise ProblemError(NO_RATINGS)
    rated = Rated(Proposal(Segment("", ""), ""), body.value, body.proposal)  # the stored proposal takes its place
    with full_explained():
        number = await here.storage.projects.append_rating(
            found.project.id, rated, found.participant.id, here.settings.max_corrections
        )
    if number is None:
        raise ProblemError(UNKNOWN_PROPOSAL)
    answer = await here.engines.call(found.project.id, "learn", number=number, proof=False, wait=False)
    if answer["rebuilding"]:
        here.engines.nudge(found.project.id, number)
    return json_response({"number": number, "learned": answer["learned"], "rebuilding": answer["rebuilding"]})


@router.post("/corrections/{number}/undo", response_model=EventAnswer, responses=documented(*OF_CORRECTION))
async def undo(project: str, number: int, request: Request) -> Response:
    """Take a correction or rating back. The memory drops it at once; the model is rebuilt without it."""
    found = await service(request).project_access.project(request, project, Role.CONFIRM)
    return await _about(request, found, number, Undone(number))


@router.post(
    "/corrections/{number}/redo",
    response_model=EventAnswer,
    responses=documented(*OF_CORRECTION, EQUAL_CORRECTION, NO_MORE_CORRECTIONS),
)
async def redo(project: str, number: int, request: Request) -> Response:
    """Let a correction or rating that was taken back count again, at its old place.

    If it was confirmed anew meanwhile, or if its proposal was rated anew, the answer is 409: the same would be learned
    twice.
    """
    found = await service(request).project_access.project(request, project, Role.CONFIRM)
    return await _about(request, found, number, Redone(number))


@router.post(
    "/corrections/{number}/review",
    response_model=EventAnswer,
    responses=documented(*OF_CORRECTION, *WITH_BODY, EQUAL_CORRECTION),
    openapi_extra=body_of(ReviewBody),
)
async def review(project: str, number: int, request: Request) -> Response:
    """For organisers: decide whether a confirmation that waits is learned."""
    here = service(request)
    found = await here.project_access.project(request, project, Role.ORGANISE)
    body = await read_body(request, ReviewBody, here.settings.max_body)
    return await _about(request, found, number, Reviewed(number, body.accepted))


async def _about(
    request: Request, found: AuthorisedProject, number: int, event: Undone | Redone | Reviewed
) -> Response:
    """Add an event about a correction or a rating."""
    here = service(request)
    stored = await here.storage.projects.event(found.project.id, number) if 0 < number <= MAX_NUMBER else None
    if stored is None or not isinstance(stored.event, Confirmed | Rated):
        raise ProblemError(UNKNOWN_CORRECTION)
    if isinstance(event, Reviewed) and not (isinstance(stored.event, Confirmed) and stored.event.waits):
        raise ProblemError(UNKNOWN_CORRECTION)
    if isinstance(event, Redone):
        check_room_to_redo(here, found.project)
    try:
        added = await here.storage.corrections.add_about(found.project.id, event, found.participant.id)
    except EqualCorrection:
        raise ProblemError(EQUAL_CORRECTION) from None
    if added is None:
        raise ProblemError(UNKNOWN_PROJECT)
    here.engines.nudge(found.project.id, added)
    return json_response({"number": added})
