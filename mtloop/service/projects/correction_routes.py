"""Routes of corrections: list, search, import, export; the delta; a copy of a project."""

from __future__ import annotations

import asyncio
import io
import zipfile
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel
from starlette.requests import ClientDisconnect

from mtloop.service.audit.models import utc
from mtloop.service.http import BODY_TOO_LARGE, CLIENT_GONE, check_text, json_response, read_body
from mtloop.service.long_work import long_work
from mtloop.service.problems import (
    ENGINE_UNAVAILABLE,
    NO_CORRECTIONS,
    NO_DELTA,
    NO_MORE_CORRECTIONS,
    NO_MORE_PROJECTS,
    NOT_ALLOWED_HERE,
    PROJECT_EXISTS,
    TOO_MANY_UPLOADS,
    UNKNOWN_CORRECTION,
    UNKNOWN_JOB,
    WRONG_CONTENT_TYPE,
    ProblemError,
    documented,
    invalid_request,
)
from mtloop.service.project_log.correction_store import CorrectionFilter, StoredCorrection
from mtloop.service.project_log.models import Role
from mtloop.service.projects.allowed_engines import configuration
from mtloop.service.projects.confirmation_rules import explained
from mtloop.service.projects.correction_files import (
    ANY_TYPE,
    EXPORTS,
    FORMATS,
    TYPES,
    exported,
    read_corrections,
    upload_file,
)
from mtloop.service.projects.project_bodies import (
    CorrectionBody,
    CorrectionList,
    CorrectionState,
    ForkBody,
    ProjectBody,
    project_json,
)
from mtloop.service.projects.project_calls import add_file, check_teachable, job_progress
from mtloop.service.projects.project_routes import OF_PROJECT, creation_explained, most_projects
from mtloop.service.state import service
from mtloop.service.tasks.run_routes import IN_PARTS, MAX_NUMBER, WITH_BODY, Limit, body_of

SNAPSHOT_READS = 3  # a snapshot may be deleted before it is read
DELTA_FILE = "delta.safetensors"
WRONG_FILE_TYPE = replace(
    WRONG_CONTENT_TYPE, detail="Send the file with a content type of its format, or as application/octet-stream."
)
UNREADABLE = invalid_request("The file cannot be read, or a parameter does not match the description.")

router = APIRouter(prefix="/v1/projects/{project}", tags=["corrections"])
Number = Annotated[int, Path(ge=1, le=MAX_NUMBER)]


class ImportAnswer(BaseModel):
    """What an import added. `job` names the range of its numbers; null if everything was known already.

    `known` pairs are in the log already, `refused` new ones are in it and are not learned, `skipped` are not in it.

    `missing_placeholders` counts the pairs of the file whose translation lacks a placeholder of its source, such as %d
    or {name}. They are taken all the same.
    """

    job: str | None
    first: int | None
    last: int | None
    new: int
    known: int
    refused: int
    skipped: dict[str, int]
    missing_placeholders: int


class JobBody(BaseModel):
    """The corrections of a range of numbers. `counted` are lessons, and `learned` is how many of them are done so far.

    `rejected` of them were rejected by the learner.
    """

    job: str
    corrections: int
    counted: int
    learned: int
    rejected: int
    refused: int
    waiting: int
    undone: int
    replaced: int
    done: bool


@router.get(
    "/corrections", response_model=CorrectionList, responses=documented(*OF_PROJECT, *IN_PARTS), tags=["corrections"]
)
async def list_corrections(
    project: str,
    request: Request,
    search: Annotated[
        str, Query(max_length=200, description="A text in the source or the translation. Case does not matter.")
    ] = "",
    state: Annotated[CorrectionState | None, Query(description="Corrections in this state only.")] = None,
    external_id: Annotated[
        str, Query(max_length=200, description="Corrections of the segment with this external id only.")
    ] = "",
    after: Annotated[
        int | None,
        Query(
            ge=1,
            le=MAX_NUMBER,
            description="Continue the list after the correction with this number: the `next` of the part before. "
            "The newest come first, so those that follow have smaller numbers.",
        ),
    ] = None,
    limit: Limit = 100,
) -> Response:
    """List the corrections of a project, the newest first. `state` says what became of each.

    A correction that the learner rejects is `learned` until the engine has tried to learn it.
    """
    here = service(request)
    found = await here.project_access.project(request, project, Role.TRANSLATE)
    texts = check_text(search, "search"), check_text(external_id, "external_id")
    chosen = CorrectionFilter(texts[0], state, after, texts[1])
    rows = await here.storage.corrections.page(found.project.id, chosen, limit + 1)
    shown = [correction_json(one) for one in rows[:limit]]
    return json_response({"corrections": shown, "next": shown[-1]["number"] if len(rows) > limit else None})


@router.get(
    "/corrections/{number}",
    response_model=CorrectionBody,
    responses=documented(*OF_PROJECT, UNKNOWN_CORRECTION, *IN_PARTS),
)
async def show_correction(project: str, number: int, request: Request) -> Response:
    """Show one correction."""
    here = service(request)
    found = await here.project_access.project(request, project, Role.TRANSLATE)
    one = await here.storage.corrections.one(found.project.id, number) if 0 < number <= MAX_NUMBER else None
    if one is None:
        raise ProblemError(UNKNOWN_CORRECTION)
    return json_response(correction_json(one))


def correction_json(one: StoredCorrection) -> dict[str, Any]:
    event = one.event
    return {
        "number": one.number,
        "source": event.source,
        "translation": event.translation,
        "proposal": event.proposal,
        "document": event.document,
        "external_id": event.external_id,
        "format": FORMATS[event.syntax],
        "state": one.state,
        "refused": explained(one.refused, one.rejected),
        "participant": one.participant,
        "time": utc(one.time),
    }


@router.post(
    "/import",
    status_code=202,
    response_model=ImportAnswer,
    responses=documented(
        *OF_PROJECT,
        BODY_TOO_LARGE,
        WRONG_FILE_TYPE,
        UNREADABLE,
        NO_CORRECTIONS,
        NO_MORE_CORRECTIONS,
        TOO_MANY_UPLOADS,
    ),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                kind: {"schema": {"type": "string", "format": "binary"}}
                for kind in [ANY_TYPE, *dict.fromkeys(kind for kinds in TYPES.values() for kind in kinds)]
            },
        }
    },
)
async def import_file(
    project: str,
    request: Request,
    format: Annotated[Literal["tmx", "tsv", "po"], Query(description="The format of the file.")] = "tmx",
) -> Response:
    """Add the pairs of a file to the corrections. The body is the file. Its pairs are learned in the background.

    The answer comes when all pairs are stored. `GET jobs/{job}` says how many are learned so far. If the project is
    full before that, the problem 409 says how many are stored, and as which job.
    """
    here = service(request)
    found = await here.project_access.project(request, project, Role.CONFIRM)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() not in (*TYPES[format], ANY_TYPE):
        allowed = " or ".join([*TYPES[format], ANY_TYPE])
        raise ProblemError(replace(WRONG_FILE_TYPE, detail=f"Send the {format} file as {allowed}."))
    check_teachable(here, found.project)
    with here.uploads.begin(found.participant.id), upload_file(format) as path:
        await receive_body(request, path, here.settings.max_upload)
        async with here.heavy_work:  # not while the file comes: a slow client would let everybody wait
            read = await long_work(read_corrections, path, found.project)
    answer = await add_file(here, found, read)
    headers = {"location": f"/v1/projects/{found.project.name}/jobs/{answer['job']}"} if answer["job"] else {}
    response = json_response(answer, 202)
    response.headers.update(headers)
    return response


async def receive_body(request: Request, path: FilePath, max_bytes: int) -> None:
    """Write the body of a request to a file."""
    size = 0
    try:
        with path.open("wb") as file:
            async for chunk in request.stream():
                size += len(chunk)
                if size > max_bytes:
                    raise ProblemError(BODY_TOO_LARGE)
                file.write(chunk)
    except ClientDisconnect:
        raise ProblemError(CLIENT_GONE) from None


@router.get("/jobs/{first}-{last}", response_model=JobBody, responses=documented(*OF_PROJECT, *IN_PARTS, UNKNOWN_JOB))
async def show_job(project: str, first: Number, last: Number, request: Request) -> Response:
    """Show how many corrections of an import are learned so far. Others that came in between count too."""
    here = service(request)
    found = await here.project_access.project(request, project, Role.TRANSLATE)
    return json_response(await job_progress(here, found.project, first, last))


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses=documented(*OF_PROJECT, *IN_PARTS)
    | {200: {"content": {one.media_type.partition(";")[0]: {} for one in EXPORTS.values()}}},
)
async def export_corrections(
    project: str,
    request: Request,
    format: Annotated[Literal["tmx", "tsv"], Query(description="The format of the file.")] = "tmx",
) -> Response:
    """Export the corrections that count, in the order in which they count. Rejected ones are among them.

    Format and external id are kept. In a TSV file, tabs and line ends of a text become spaces.
    """
    here = service(request)
    found = await here.project_access.project(request, project, Role.CONFIRM)
    chosen = EXPORTS[format]
    return StreamingResponse(
        exported(found.project, chosen, here.storage.corrections.counted(found.project.id)),
        headers=_attachment(f"{found.project.name}.{format}"),
        media_type=chosen.media_type,
    )


@router.get(
    "/delta",
    response_class=Response,
    responses=documented(*OF_PROJECT, NO_DELTA, ENGINE_UNAVAILABLE) | {200: {"content": {ANY_TYPE: {}}}},
)
async def show_delta(project: str, request: Request) -> Response:
    """Get what the project learned as a file for `mtloop translate --delta`, which needs the same base model."""
    here = service(request)
    found = await here.project_access.project(request, project, Role.CONFIRM)
    for _ in range(SNAPSHOT_READS):
        digest = await here.engines.call(found.project.id, "delta", number=found.project.number)
        if digest is None:
            raise ProblemError(NO_DELTA)
        data = await here.storage.projects.read_snapshot(found.project.id, digest)
        if data is not None:
            delta = await asyncio.to_thread(_file_in, data, DELTA_FILE)
            return Response(delta, headers=_attachment(f"{found.project.name}.safetensors"), media_type=ANY_TYPE)
    raise ProblemError(ENGINE_UNAVAILABLE)


def _file_in(archive: bytes, name: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        return files.read(name)


def _attachment(name: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{name}"'}


@router.post(
    "/fork",
    status_code=201,
    response_model=ProjectBody,
    responses=documented(*OF_PROJECT, *WITH_BODY, NOT_ALLOWED_HERE, PROJECT_EXISTS, NO_MORE_PROJECTS),
    openapi_extra=body_of(ForkBody),
)
async def fork(project: str, request: Request) -> Response:
    """Make a copy of a project: its settings, its glossary and the corrections that count. You may organise it.

    Rejected corrections count: the learner of the copy decides about them as that of the original did. The copy is
    there when it is complete.
    """
    here = service(request)
    found = await here.project_access.project(request, project, Role.CONFIRM)
    body = await read_body(request, ForkBody, here.settings.max_body)
    old = found.project
    configured, _ = await asyncio.to_thread(
        configuration, here.settings, old.model, old.method, old.settings, old.review
    )
    with creation_explained():
        made = await here.storage.corrections.fork(
            old, body.name, configured, found.actor, found.participant.id, most_projects(here, found.participant)
        )
    return json_response(project_json(made, Role.ORGANISE), 201)
