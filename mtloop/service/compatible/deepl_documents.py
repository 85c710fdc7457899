"""Documents of the DeepL API: a file is translated in the background, and its client asks whether it is done."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import PurePath
from typing import Any
from uuid import uuid4

from fastapi import Request, Response

from mtloop.service.accounts.keys import hash_key
from mtloop.service.compatible.deepl import check_options, project_of
from mtloop.service.compatible.deepl_protocol import (
    answer,
    check_background,
    deepl_router,
    key_of,
    shown_id,
    stored_id,
    unknown,
)
from mtloop.service.compatible.file_translation import (
    beginning,
    check_suffix,
    keep_file,
    read_file_form,
    translated_file,
)
from mtloop.service.compatible.opened_project import opened_projects
from mtloop.service.compatible.request_fields import RequestFields, read_fields
from mtloop.service.error_problems import problem_of
from mtloop.service.problems import Problem, ProblemError, invalid_request
from mtloop.service.project_log.client_store import FILE_SECONDS, StoredFile
from mtloop.service.project_log.models import Role
from mtloop.service.project_log.project_access import AuthorisedProject
from mtloop.service.state import Service, service

QUEUED, TRANSLATING, DONE, ERROR = "queued", "translating", "done", "error"
MAX_NAME = 200
MAX_ERROR = 500
BEAT_SECONDS = 60.0  # so often a document that is being translated says so
SILENT_SECONDS = 600.0  # after which its server must have been stopped
INTERRUPTED = "The server was stopped before the document was translated. Send it again."
NOT_READY = Problem(503, "", "Not ready", "The document is not translated yet. Ask for its status.", 5)

router = deepl_router()


@router.post("/v2/document")
async def upload_document(request: Request) -> Response:
    """Take a document, and translate it in the background."""
    here = service(request)
    fields = await read_file_form(request)
    upload = fields.file("file")
    if upload is None:
        await project_of(request, fields, [""])  # who has no valid key is refused for that
        raise ProblemError(invalid_request("file: expected a file in a multipart form"))
    name = PurePath(fields.text("filename") or upload.name).name
    _check_format(fields, check_suffix(name))
    content = upload.content
    found = await project_of(request, fields, [beginning(content)])
    await check_options(here, found, fields)
    check_background(here)
    key = secrets.token_hex(32)
    file = StoredFile(
        uuid4().hex, found.project.id, hash_key(key), name[-MAX_NAME:], QUEUED, len(content), None, "", time.time()
    )
    await keep_file(here, file)
    here.background.start(_translate(here, found, file, content))
    return answer({"document_id": shown_id(file.token), "document_key": key})


def _check_format(fields: RequestFields, suffix: str) -> None:
    wanted = fields.text("output_format")
    if wanted and f".{wanted.lower()}" != suffix:
        raise ProblemError(invalid_request(f"output_format: expected {suffix[1:]}, the format of the document"))


async def _translate(here: Service, found: AuthorisedProject, file: StoredFile, content: bytes) -> None:
    """Translate a document, and store the result or the reason why there is none."""
    change = here.storage.clients.change_file
    try:
        async with _beating(here, file):
            result = await translated_file(here, None, found, file.name, content)
        await change(file.token, status=DONE, result=result)
    except asyncio.CancelledError:
        await change(file.token, status=ERROR, error=INTERRUPTED)
        raise
    except Exception as error:
        await change(file.token, status=ERROR, error=problem_of(error).detail[:MAX_ERROR])


@asynccontextmanager
async def _beating(here: Service, file: StoredFile) -> AsyncIterator[None]:
    """Say from time to time that a document is still being translated."""
    task = asyncio.create_task(_beat(here, file))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})  # else it could overwrite what is stored next


async def _beat(here: Service, file: StoredFile) -> None:
    while True:
        await here.storage.clients.change_file(file.token, status=TRANSLATING, created=time.time())
        await asyncio.sleep(BEAT_SECONDS)


async def _document(id: str, request: Request) -> StoredFile:
    """The document with an id, for whoever has its key and a key of its project."""
    here = service(request)
    fields = await read_fields(request, here.settings.max_body)
    projects = await opened_projects(request, Role.TRANSLATE, key_of(fields))
    file = await here.storage.clients.file(stored_id(id)) if stored_id(id) else None
    given = hash_key(fields.text("document_key"))
    if file is None or file.project_id not in {one.project.id for one in projects}:
        raise unknown("document")
    if not hmac.compare_digest(given, file.key_hash):
        raise unknown("document")
    if file.created < time.time() - FILE_SECONDS:  # it is deleted when the next one comes
        raise unknown("document")
    return file


def _status(file: StoredFile) -> tuple[str, str]:
    """The status of a document and what went wrong. One of which nothing was heard for long was interrupted."""
    if file.status in (QUEUED, TRANSLATING) and time.time() >= file.created + SILENT_SECONDS:
        return ERROR, INTERRUPTED
    return file.status, file.error


@router.api_route("/v2/document/{id}", methods=["GET", "POST"])
async def show_document(id: str, request: Request) -> Response:
    """Whether a document is translated."""
    file = await _document(id, request)
    status, error = _status(file)
    body: dict[str, Any] = {"document_id": shown_id(file.token), "status": status}
    body |= {"billed_characters": file.characters} if status == DONE else {}
    return answer(body | ({"error_message": error} if status == ERROR else {}))


@router.api_route("/v2/document/{id}/result", methods=["GET", "POST"])
async def load_document(id: str, request: Request) -> Response:
    """The translated document. It is kept for a day."""
    file = await _document(id, request)
    status, error = _status(file)
    if status == ERROR:
        raise ProblemError(invalid_request(error))
    if file.result is None:
        raise ProblemError(NOT_READY)
    headers = {"content-disposition": f'attachment; filename="translated{PurePath(file.name).suffix.lower()}"'}
    return Response(file.result, headers=headers, media_type="application/octet-stream")
