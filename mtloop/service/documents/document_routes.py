"""Routes of documents: upload, list, delete, download."""

from __future__ import annotations

import re
from typing import Annotated, cast
from urllib.parse import quote

from fastapi import APIRouter, Query, Request, Response

from mtloop.service.documents.document_bodies import DocumentBody, DocumentList, document_json
from mtloop.service.documents.document_files import DocumentFiles, check_name, read_document
from mtloop.service.documents.models import StoredDocument, TooManyDocuments
from mtloop.service.http import BODY_TOO_LARGE, json_response
from mtloop.service.long_work import long_work
from mtloop.service.problems import (
    NO_MORE_DOCUMENTS,
    TOO_MANY_UPLOADS,
    UNKNOWN_DOCUMENT,
    ProblemError,
    documented,
)
from mtloop.service.project_log.models import Role
from mtloop.service.project_log.project_access import AuthorisedProject
from mtloop.service.projects.correction_files import ANY_TYPE, upload_file
from mtloop.service.projects.correction_routes import UNREADABLE, receive_body
from mtloop.service.projects.project_routes import OF_PROJECT
from mtloop.service.state import service
from mtloop.service.tasks.run_routes import IN_PARTS, MAX_NUMBER, Limit

router = APIRouter(prefix="/v1/projects/{project}/documents", tags=["documents"])
OF_DOCUMENT = (*OF_PROJECT, UNKNOWN_DOCUMENT)
LEFT_OUT = "x-mtloop-left-out"
MAX_NAMED = 100  # units in this header
_TOKEN = re.compile(r"[0-9a-f]{32}")
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9._ -]")


@router.post(
    "",
    status_code=201,
    response_model=DocumentBody,
    responses=documented(*OF_PROJECT, BODY_TOO_LARGE, UNREADABLE, NO_MORE_DOCUMENTS, TOO_MANY_UPLOADS),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {ANY_TYPE: {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def upload_document(
    project: str,
    request: Request,
    name: Annotated[str, Query(max_length=200, description="The name of the file, with its suffix.")] = "",
) -> Response:
    """Upload a file to work on. The body is the file. What it has translated is not learned."""
    here = service(request)
    found = await here.project_access.project(request, project, Role.CONFIRM)
    suffix = check_name(name)
    with here.uploads.begin(found.participant.id), upload_file(suffix[1:]) as path:
        await receive_body(request, path, here.settings.max_upload)
        async with here.heavy_work:  # not while the file comes: a slow client would let everybody wait
            new = await long_work(read_document, name, path, found.project)
    try:
        made = await here.storage.documents.add(
            found.project, new, found.participant.id, here.settings.max_project_bytes
        )
    except TooManyDocuments:
        raise ProblemError(NO_MORE_DOCUMENTS) from None
    response = json_response(document_json(made), 201)
    response.headers["location"] = f"/v1/projects/{found.project.name}/documents/{made.token}"
    return response


@router.get("", response_model=DocumentList, responses=documented(*OF_PROJECT, *IN_PARTS))
async def list_documents(
    project: str,
    request: Request,
    after: Annotated[
        int | None, Query(ge=1, le=MAX_NUMBER, description="Continue the list: the `next` of the part before.")
    ] = None,
    limit: Limit = 100,
) -> Response:
    """List the documents of a project, the newest first."""
    here = service(request)
    found = await here.project_access.project(request, project, Role.TRANSLATE)
    rows = await here.storage.documents.page(found.project.id, after, limit + 1)
    following = rows[limit - 1].id if len(rows) > limit else None
    return json_response({"documents": [document_json(one) for one in rows[:limit]], "next": following})


@router.get("/{document}", response_model=DocumentBody, responses=documented(*OF_DOCUMENT))
async def show_document(project: str, document: str, request: Request) -> Response:
    """Show one document."""
    _, shown = await find_document(request, project, document, Role.TRANSLATE)
    return json_response(document_json(shown))


@router.delete("/{document}", status_code=204, responses=documented(*OF_DOCUMENT))
async def delete_document(project: str, document: str, request: Request) -> Response:
    """For organisers: delete a document. Its corrections stay in the project."""
    found, old = await find_document(request, project, document, Role.ORGANISE)
    if not await service(request).storage.documents.delete(found.project, old, found.actor):
        raise ProblemError(UNKNOWN_DOCUMENT)
    service(request).forget_texts()
    return Response(status_code=204)


@router.get(
    "/{document}/file",
    response_class=Response,
    responses=documented(*OF_DOCUMENT) | {200: {"content": {ANY_TYPE: {}}}},
)
async def download_document(project: str, document: str, request: Request) -> Response:
    """Get the file with the confirmed units filled in. Every other byte is as it came.

    The header `x-mtloop-left-out` has the indexes of units whose confirmed text the file cannot hold; of many, the
    first ones. They are as they came.
    """
    here = service(request)
    found, one = await find_document(request, project, document, Role.TRANSLATE)
    texts = await here.storage.documents.confirmed_texts(one)
    content, left_out = await files_of(request).filled(found.project, one, texts)
    headers = {"content-disposition": attachment(one.name)}
    headers |= {LEFT_OUT: ", ".join(map(str, left_out[:MAX_NAMED]))} if left_out else {}
    return Response(content, headers=headers, media_type=ANY_TYPE)


async def find_document(
    request: Request, project: str, document: str, role: Role
) -> tuple[AuthorisedProject, StoredDocument]:
    """A document of a project, if the participant has this role. Raise a problem otherwise."""
    here = service(request)
    found = await here.project_access.project(request, project, role)
    one = await here.storage.documents.find(found.project.id, document) if _TOKEN.fullmatch(document) else None
    if one is None:
        raise ProblemError(UNKNOWN_DOCUMENT)
    return found, one


def files_of(request: Request) -> DocumentFiles:
    """The opened files of the worker that a request came to."""
    return cast(DocumentFiles, request.app.state.document_files)


def attachment(name: str) -> str:
    """A Content-Disposition for a name of any characters.

    >>> attachment("Menü.po")
    'attachment; filename="Men_.po"; filename*=UTF-8\\'\\'Men%C3%BC.po'
    """
    return f"attachment; filename=\"{_NOT_PLAIN.sub('_', name)}\"; filename*=UTF-8''{quote(name, safe='')}"
