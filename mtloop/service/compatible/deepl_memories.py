"""Translation memories of the DeepL API. What a client imports becomes corrections of the project.

A memory is one import: a name for its corrections. They teach the whole project, so every translation uses them.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from fastapi import Request, Response
from fastapi.responses import StreamingResponse

from mtloop.service.accounts.keys import hash_key
from mtloop.service.accounts.metering import caller_of
from mtloop.service.compatible.deepl_protocol import (
    answer,
    api_address,
    check_background,
    deepl_router,
    key_of,
    shown_id,
    stored_id,
    time_stamp,
    unknown,
)
from mtloop.service.compatible.opened_project import choose_project, opened_projects
from mtloop.service.compatible.request_fields import RequestFields, read_fields
from mtloop.service.error_problems import problem_of
from mtloop.service.http import BODY_TOO_LARGE
from mtloop.service.long_work import long_work
from mtloop.service.problems import (
    ROLE_TOO_WEAK,
    TOO_MANY_UPLOADS,
    UNKNOWN_PROJECT,
    Problem,
    ProblemError,
    invalid_request,
)
from mtloop.service.project_log.client_store import MAX_MEMORIES, StoredUpload
from mtloop.service.project_log.correction_store import COUNTED, CorrectionFilter, StoredCorrection
from mtloop.service.project_log.models import Role, TooManyMemories, TranslationProject
from mtloop.service.project_log.project_access import AuthorisedProject
from mtloop.service.projects.correction_files import ANY_TYPE, EXPORTS, TYPES, exported, read_corrections, upload_file
from mtloop.service.projects.correction_routes import receive_body
from mtloop.service.projects.project_calls import ImportStoppedError, add_file, check_teachable, job_progress
from mtloop.service.state import Service, service
from mtloop.service.tasks.run_routes import MAX_NUMBER

AWAITING, PROCESSING, COMPLETED, FAILED, EXPIRED = "awaiting_input", "processing", "completed", "failed", "expired"
EXPORT = "export"  # the status of a row that is an export; its name is the job of the import
ADDRESS_SECONDS = 900  # an address for an upload or a download works so long
FAILED_SECONDS = 86_400  # so long after that a client can ask why an import failed
PROCESSING_SECONDS = 600  # an import that takes longer after that was interrupted
ANSWER_SECONDS = 3  # an import that is done sooner is done when the upload is answered
MAX_DELETED = 1_000
MAX_NAME = 200
MAX_ERROR = 500
PAGE, MAX_PAGE = 50, 100
LIST_PAGE = MAX_LIST_PAGE = 25
ROWS_PER_READ = 500
NO_MORE_UPLOADS = Problem(
    409,
    "",
    "No more memories",
    f"A project has at most {MAX_MEMORIES:,} memories, imports and exports. Delete a memory, or wait a day.",
)
INTERRUPTED = "The server was stopped during the import. Import the file again: nothing is added twice."

router = deepl_router()


@dataclass(frozen=True)
class OwnUpload:
    """An import or export, and its project as the key opens it."""

    found: AuthorisedProject
    stored: StoredUpload

    @property
    def project(self) -> TranslationProject:
        return self.found.project

    @property
    def status(self) -> str:
        """The status as a client sees it: an import may have been forgotten by its client or its server."""
        now, stored = time.time(), self.stored
        if stored.status == AWAITING and now >= stored.expires:
            return EXPIRED
        return FAILED if stored.status == PROCESSING and now >= stored.expires + PROCESSING_SECONDS else stored.status


async def check_memory_id(here: Service, found: AuthorisedProject, id: str) -> None:
    """Raise a problem if a translation asks for a memory that its project does not have."""
    if not id:
        return
    uploads = await here.storage.clients.uploads(found.project.id)
    if not any(one.job == stored_id(id) and one.status == COMPLETED for one in uploads):
        raise unknown("translation memory")


async def _fields(request: Request) -> RequestFields:
    return await read_fields(request, service(request).settings.max_body)


async def _uploads(request: Request, fields: RequestFields) -> list[OwnUpload]:
    """The imports and exports of all projects that the key opens, the oldest first. Clients ask for them often."""
    projects = {one.project.id: one for one in await opened_projects(request, Role.TRANSLATE, key_of(fields))}
    stored = await service(request).storage.clients.uploads(*projects)
    return [OwnUpload(projects[one.project_id], one) for one in stored]


async def _memory(request: Request, fields: RequestFields, id: str, role: Role = Role.TRANSLATE) -> OwnUpload:
    """The memory with an id. Raise a problem if the key may not do what this role may."""
    uploads = await _uploads(request, fields)
    memory = next((one for one in uploads if one.stored.job == stored_id(id) and one.status == COMPLETED), None)
    if memory is None:
        raise unknown("translation memory")
    if not memory.found.role.includes(role):
        raise ProblemError(ROLE_TOO_WEAK)
    return memory


# Import


@router.post("/v3/translation_memories/import")
async def begin_import(request: Request) -> Response:
    """Say to which address the file of a new memory is to be sent. The address works once."""
    here, fields = service(request), await _fields(request)
    projects = await opened_projects(request, Role.TRANSLATE, key_of(fields))
    found = await choose_project(here, projects, Role.CONFIRM)
    check_teachable(here, found.project)
    name, token = _announced(here, fields), secrets.token_urlsafe(32)
    upload = await _add(here, found, name, AWAITING, token)
    body = {
        "job_id": shown_id(upload.job),
        "upload_url": f"{api_address(request)}/v3/translation_memories/uploads/{token}",
        "expires_at": time_stamp(upload.expires),
    }
    return answer(body, 202)


def _announced(here: Service, fields: RequestFields) -> str:
    """The name of the memory that a client announces."""
    file = _part(fields, "source_file")
    kind, size, file_name = file.text("content_type"), file.number("content_length"), file.text("file_name").strip()
    if not file_name or size <= 0:
        raise ProblemError(invalid_request("source_file: expected file_name and content_length"))
    if kind and kind not in (*TYPES["tmx"], ANY_TYPE):
        raise ProblemError(invalid_request("source_file.content_type: expected application/xml, for a TMX file"))
    if size > here.settings.max_upload:
        raise ProblemError(BODY_TOO_LARGE)
    return (_part(fields, "parameters").text("display_name").strip() or file_name)[:MAX_NAME]


def _part(fields: RequestFields, name: str) -> RequestFields:
    """An object inside a JSON body; an empty one if it is missing."""
    value = fields.values.get(name)
    if not isinstance(value, dict | None):
        raise ProblemError(invalid_request(f"{name}: expected an object"))
    return RequestFields(value or {})


async def _add(
    here: Service, found: AuthorisedProject, name: str, status: str, token: str, numbers: tuple[Any, Any] = (None, None)
) -> StoredUpload:
    """Store an import or export, and forget those that nobody came for, and those that failed a day ago."""
    clients, now = here.storage.clients, time.time()
    await clients.delete_old_uploads(found.project.id, (AWAITING, EXPORT), now - ADDRESS_SECONDS)
    await clients.delete_old_uploads(found.project.id, (FAILED, PROCESSING), now - FAILED_SECONDS)
    owner = found.project.id, found.participant.id
    upload = StoredUpload(uuid4().hex, hash_key(token), *owner, name, status, *numbers, "", now + ADDRESS_SECONDS, now)
    try:
        if not await clients.add_upload(upload):
            raise ProblemError(UNKNOWN_PROJECT)
    except TooManyMemories:
        raise ProblemError(NO_MORE_UPLOADS) from None
    return upload


@router.put("/v3/translation_memories/uploads/{token}")
async def receive_memory(token: str, request: Request) -> Response:
    """Receive the file of a memory. The address is the secret, so clients send no key.

    The answer comes when the file is there. What is wrong with it, the job says.
    """
    here = service(request)
    await here.metering.check_address(caller_of(request), "")
    check_background(here)
    upload = await here.storage.clients.take_upload(hash_key(token), AWAITING, PROCESSING)
    if upload is None:
        raise unknown("upload that waits for a file")
    await here.metering.admit(caller_of(request), upload.address_hash, upload.participant_id)
    received = asyncio.Event()
    task = here.background.start(_import(here, request, upload, received))
    waiting = asyncio.ensure_future(received.wait())
    await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    await asyncio.wait({task}, timeout=ANSWER_SECONDS)
    problem = task.result() if task.done() and not received.is_set() else None
    if problem is not None:
        raise ProblemError(problem)
    return Response()


async def _import(here: Service, request: Request, upload: StoredUpload, received: asyncio.Event) -> Problem | None:
    """Read a file, and add its pairs to the corrections. What went wrong is stored, and returned."""
    try:
        found = await _uploader(here, upload)
        with here.uploads.begin(found.participant.id), upload_file("tmx") as path:
            await receive_body(request, path, here.settings.max_upload)
            received.set()
            async with here.heavy_work:  # not while the file comes: a slow client would let everybody wait
                read = await long_work(read_corrections, path, found.project)
        added = await add_file(here, found, read)
        await here.storage.clients.change_upload(upload.job, status=COMPLETED, first=added["first"], last=added["last"])
        return None
    except asyncio.CancelledError:
        await _fail(here, upload, INTERRUPTED)
        raise
    except ImportStoppedError as error:
        await _fail(here, upload, error.problem.detail, first=error.first, last=error.last)
        return error.problem
    except Exception as error:
        problem = problem_of(error)
        if problem == TOO_MANY_UPLOADS:  # nothing was received: the address can be used later
            await here.storage.clients.change_upload(upload.job, status=AWAITING)
        else:
            await _fail(here, upload, problem.detail)
        return problem


async def _fail(here: Service, upload: StoredUpload, error: str, **numbers: int | None) -> None:
    await here.storage.clients.change_upload(upload.job, status=FAILED, error=error[:MAX_ERROR], **numbers)


async def _uploader(here: Service, upload: StoredUpload) -> AuthorisedProject:
    """Who began an import, if the role still suffices."""
    project = await here.storage.projects.find_by_id(upload.project_id)
    participant = await here.storage.accounts.participant(upload.participant_id)
    if project is None or participant is None:
        raise ProblemError(UNKNOWN_PROJECT)
    found = await here.project_access.for_participant(participant, project.name, Role.CONFIRM)
    check_teachable(here, found.project)
    return found


# Jobs


@router.get("/v3/translation_memories/jobs/{id}")
async def show_job(id: str, request: Request) -> Response:
    """What became of an import or export. An import is complete when it is learned."""
    uploads = await _uploads(request, await _fields(request))
    job = next((one for one in uploads if one.stored.job == stored_id(id)), None)
    if job is None:
        raise unknown("job")
    if job.stored.status == EXPORT:
        return answer(_job_json(job.stored, "export", await _export_result(request, job)))
    return answer(_job_json(job.stored, "import", await _import_result(service(request), job)))


def _job_json(stored: StoredUpload, operation: str, result: dict[str, Any]) -> dict[str, Any]:
    head = {"job_id": shown_id(stored.job), "product": "translation_memory", "operation": operation}
    parameters = (
        {"translation_memory_id": shown_id(stored.name)} if operation == "export" else {"display_name": stored.name}
    )
    return head | {"creation_time": time_stamp(stored.created), "parameters": parameters, "results": [result]}


async def _import_result(here: Service, job: OwnUpload) -> dict[str, Any]:
    status, stored = job.status, job.stored
    if status == FAILED:
        return {"status": status, "error": {"message": stored.error or INTERRUPTED}}
    if status in (AWAITING, EXPIRED):
        return {"status": status, "expires_at": time_stamp(stored.expires)}
    if status == COMPLETED and await _is_learned(here, stored):
        return {"status": COMPLETED, "translation_memory_id": shown_id(stored.job)}
    return {"status": PROCESSING}


async def _is_learned(here: Service, stored: StoredUpload) -> bool:
    """Whether all corrections of an import are learned. An import of known pairs has none."""
    project = await here.storage.projects.find_by_id(stored.project_id)
    if project is None or stored.first is None or stored.last is None:
        return True
    return bool((await job_progress(here, project, stored.first, stored.last))["done"])


async def _export_result(request: Request, job: OwnUpload) -> dict[str, Any]:
    """A new address for the file: only the hash of an address is stored. Earlier ones stop working."""
    here, token, expires = service(request), secrets.token_urlsafe(32), time.time() + ADDRESS_SECONDS
    await here.storage.clients.change_upload(job.stored.job, address_hash=hash_key(token), expires=expires)
    address = f"{api_address(request)}/v3/translation_memories/downloads/{token}"
    return {"status": COMPLETED, "download_url": address, "expires_at": time_stamp(expires)}


# Memories


@router.get("/v3/translation_memories")
async def list_memories(request: Request) -> Response:
    """The memories of all projects that the key opens, the oldest first."""
    here, fields = service(request), await _fields(request)
    memories = [one for one in await _uploads(request, fields) if one.status == COMPLETED]
    page, size = fields.number("page"), fields.number("page_size", LIST_PAGE)
    if page < 0 or not 1 <= size <= MAX_LIST_PAGE:
        raise ProblemError(invalid_request(f"page: expected 0 or more, with a page_size from 1 to {MAX_LIST_PAGE}"))
    shown = memories[page * size : (page + 1) * size]
    rows = [await _memory_json(here, one) for one in shown]
    return answer({"translation_memories": rows, "total_count": len(memories)})


async def _memory_json(here: Service, memory: OwnUpload) -> dict[str, Any]:
    created = time_stamp(memory.stored.created)
    return {
        "translation_memory_id": shown_id(memory.stored.job),
        "name": memory.stored.name,
        "source_language": memory.project.source_language,
        "target_languages": [memory.project.target_language],
        "segment_count": await _segment_count(here, memory.stored),
        "creation_time": created,
        "updated_time": created,
    }


async def _segment_count(here: Service, stored: StoredUpload) -> int:
    if stored.first is None or stored.last is None:
        return 0
    states = await here.storage.corrections.state_counts(stored.project_id, stored.first, stored.last)
    return sum(states.get(state, 0) for state in COUNTED)


@router.get("/v3/translation_memories/{id}")
async def show_memory(id: str, request: Request) -> Response:
    return answer(await _memory_json(service(request), await _memory(request, await _fields(request), id)))


@router.get("/v3/translation_memories/{id}/segments")
async def list_segments(id: str, request: Request) -> Response:
    """The corrections of a memory that count, the newest first."""
    here, fields = service(request), await _fields(request)
    memory = await _memory(request, fields, id)
    size, before = fields.number("page_size", PAGE), fields.number("page_cursor", MAX_NUMBER)
    if not 1 <= size <= MAX_PAGE or not 1 <= before <= MAX_NUMBER:
        raise ProblemError(invalid_request(f"page_size: expected 1 to {MAX_PAGE}, with a page_cursor of this memory"))
    text = fields.text("filter_text")
    exact = text if fields.text("filter_case_sensitive") in ("1", "true") else ""
    shown = list[StoredCorrection]()
    async for one in corrections_of(here, memory.stored, before, text):
        if exact in one.event.source or exact in one.event.translation:
            shown.append(one)
        if len(shown) > size:
            break
    body: dict[str, Any] = {"segments": [_segment_json(memory.project, one) for one in shown[:size]]}
    body["segment_count"] = await _segment_count(here, memory.stored)
    return answer(body | ({"next_page_cursor": str(shown[size - 1].number)} if len(shown) > size else {}))


def _segment_json(project: TranslationProject, one: StoredCorrection) -> dict[str, Any]:
    number, created = str(one.number), time_stamp(one.time)
    target = {
        "target_segment_id": number,
        "target_language": project.target_language,
        "target_text": one.event.translation,
        "creation_time": created,
    }
    head = {"source_segment_id": number, "source_text": one.event.source, "creation_time": created}
    return head | {"targets": [target]}


async def corrections_of(
    here: Service, stored: StoredUpload, before: int = MAX_NUMBER, search: str = ""
) -> AsyncIterator[StoredCorrection]:
    """The corrections of an import that count, the newest first, without those that people confirmed meanwhile."""
    if stored.first is None or stored.last is None:
        return
    after: int | None = min(before, stored.last + 1)
    while after is not None:
        chosen = CorrectionFilter(search, after=after)
        rows = await here.storage.corrections.page(stored.project_id, chosen, ROWS_PER_READ)
        for one in rows:
            if one.number < stored.first:
                return
            if one.counts and one.event.imported:
                yield one
        after = rows[-1].number if len(rows) == ROWS_PER_READ else None


@router.delete("/v3/translation_memories/{id}")
async def delete_memory(id: str, request: Request) -> Response:
    """Undo the corrections of a memory."""
    here, memory = service(request), await _memory(request, await _fields(request), id, Role.CONFIRM)
    numbers = list[int]()
    async for one in corrections_of(here, memory.stored):
        numbers.append(one.number)
        if len(numbers) > MAX_DELETED:
            raise ProblemError(invalid_request(f"The memory has more than {MAX_DELETED:,} segments. Undo some first."))
    await _undo(here, memory.found, numbers)
    await here.storage.clients.delete_upload(memory.stored.job)
    return Response(status_code=204)


async def _undo(here: Service, found: AuthorisedProject, numbers: Sequence[int]) -> None:
    if not numbers:
        return
    last = await here.storage.corrections.undo_many(found.project.id, sorted(numbers), found.participant.id)
    if last is None:
        raise ProblemError(UNKNOWN_PROJECT)
    here.engines.nudge(found.project.id, last)


# Export


@router.post("/v3/translation_memories/{id}/export")
async def begin_export(id: str, request: Request) -> Response:
    """Begin an export. Its job says where the file is."""
    memory = await _memory(request, await _fields(request), id, Role.CONFIRM)
    numbers = memory.stored.first, memory.stored.last
    token = secrets.token_urlsafe(32)
    job = await _add(service(request), memory.found, memory.stored.job, EXPORT, token, numbers)
    parameters = {"translation_memory_id": shown_id(memory.stored.job)}
    return answer({"job_id": shown_id(job.job), "parameters": parameters}, 202)


@router.get("/v3/translation_memories/downloads/{token}")
async def download_memory(token: str, request: Request) -> Response:
    """The TMX file of an export. The address is the secret, so clients send no key."""
    here = service(request)
    await here.metering.check_address(caller_of(request), "")
    stored = await here.storage.clients.take_upload(hash_key(token), EXPORT, EXPORT)
    project = await here.storage.projects.find_by_id(stored.project_id) if stored is not None else None
    if stored is None or project is None:
        raise unknown("export at this address")
    chosen = EXPORTS["tmx"]
    return StreamingResponse(exported(project, chosen, _exported_parts(here, stored)), media_type=chosen.media_type)


async def _exported_parts(here: Service, stored: StoredUpload) -> AsyncIterator[Sequence[StoredCorrection]]:
    """The corrections of an import, in the order in which they count."""
    first, last = stored.first or 0, stored.last or 0
    async for part in here.storage.corrections.counted(stored.project_id):
        yield [one for one in part if first <= one.number <= last and one.event.imported]
