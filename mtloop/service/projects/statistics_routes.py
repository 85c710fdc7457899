"""The route of statistics: effort, learned words, repeated errors and collateral of a project."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict

from mtloop.service.engines.engine_pool import unless_gone
from mtloop.service.http import client_gone, json_response
from mtloop.service.problems import ENGINE_UNAVAILABLE, documented
from mtloop.service.project_log.correction_store import StoredCorrection
from mtloop.service.project_log.models import Role, TranslationProject
from mtloop.service.projects.project_routes import OF_PROJECT
from mtloop.service.projects.statistics import lacks_base_translation, measure
from mtloop.service.state import Service, service
from mtloop.service.tasks.run_routes import IN_PARTS

MAX_CORRECTIONS = 5000
MAX_BASE = 200  # translations of the base model in one request
BASE_PER_CALL = 10  # so that people who translate meanwhile do not wait long

router = APIRouter(prefix="/v1/projects/{project}", tags=["projects"])


class StatisticsPoint(BaseModel):
    """The score of a block of corrections that ends with this one, and that of the base model on the same block."""

    corrections: int
    number: int
    time: str
    value: float | None
    base: float | None


class ScoreBody(BaseModel):
    """A score as `mtloop score` prints it. Null: nothing to measure."""

    model_config = ConfigDict(extra="allow")
    name: str
    value: float | None
    numerator: float | None
    denominator: float | None
    signature: str


class MetricBody(ScoreBody):
    """A score of the project, that of the frozen base model, and the points of both in time."""

    base: ScoreBody | None
    points: list[StatisticsPoint]


class StatisticsBody(BaseModel):
    """`measured` corrections have a proposal. `without_base` of them still wait for the base model: ask again.

    Until then the scores of the base model are null from the first of these corrections on. Those of near-better,
    near-worse and flips are of the corrections that it has translated.
    """

    corrections: int
    measured: int
    without_base: int
    metrics: list[MetricBody]


@router.get(
    "/statistics",
    response_model=StatisticsBody,
    responses=documented(*OF_PROJECT, *IN_PARTS, ENGINE_UNAVAILABLE),
)
async def show_statistics(
    project: str,
    request: Request,
    last: Annotated[
        int, Query(ge=1, le=MAX_CORRECTIONS, description="How many of the newest corrections that count are measured.")
    ] = 1000,
) -> Response:
    """Measure what learning did: effort (TER), new words (R0, R1), repeated errors, harm to similar sentences.

    All are compared with the base model that never learned. Its translations are computed once, a few hundred in each
    request.
    """
    here = service(request)
    found = await here.project_access.project(request, project, Role.TRANSLATE)
    return json_response(await unless_gone(measured_statistics(here, found.project, last), client_gone(request)))


async def measured_statistics(here: Service, project: TranslationProject, last: int) -> dict[str, Any]:
    """The statistics. When the client is gone, no more of the base model is computed."""
    corrections = await _with_base(here, project, await here.storage.corrections.newest_counted(project.id, last))
    languages = project.source_language, project.target_language
    async with here.heavy_work:
        measuring = asyncio.ensure_future(asyncio.to_thread(measure, corrections, languages))
        try:
            return await asyncio.shield(measuring)
        except asyncio.CancelledError:
            await asyncio.wait([measuring])  # a thread cannot be stopped, and it is heavy work until its end
            raise


async def _with_base(
    here: Service, project: TranslationProject, corrections: Sequence[StoredCorrection]
) -> list[StoredCorrection]:
    """The corrections, some more of them with the translation of the base model."""
    missing = [one for one in corrections if lacks_base_translation(one)][:MAX_BASE]
    texts: dict[int, str] = {}
    for syntax in sorted({one.event.syntax for one in missing}):
        alike = [one for one in missing if one.event.syntax == syntax]
        for start in range(0, len(alike), BASE_PER_CALL):
            texts |= await _base_translations(here, project, syntax, alike[start : start + BASE_PER_CALL])
    return [replace(one, base_translation=texts.get(one.number, one.base_translation)) for one in corrections]


async def _base_translations(
    here: Service, project: TranslationProject, syntax: str, corrections: Sequence[StoredCorrection]
) -> dict[int, str]:
    """Let the base model translate the sources of corrections, and keep its translations."""
    texts: dict[str, Any] = {"texts": [one.event.source for one in corrections], "syntax": syntax}
    answers = await here.engines.call(project.id, "base", number=project.number, texts=texts)
    translations = {one.number: str(text) for one, text in zip(corrections, answers, strict=True)}
    await here.storage.corrections.set_base_translations(project, translations)
    return translations
