"""ModernMT's memories over projects: a memory is a name for some corrections of a project.

What is added to a memory teaches its project. `hints` limit exact matches and similar corrections to memories; the
weights of the model are those of the project.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request, Response

from mtloop.service.audit.models import utc
from mtloop.service.compatible.memory_files import unpacked
from mtloop.service.compatible.memory_glossaries import add_terms, gave_terms, read_terms, remove_terms
from mtloop.service.compatible.memory_lookup import (
    UNKNOWN_MEMORY,
    MemoryNames,
    OpenedMemory,
    list_memories,
    newest,
    open_memory,
    pair_in_name,
)
from mtloop.service.compatible.modernmt_answers import (
    bad_field,
    data_response,
    limited_text,
    listed_names,
    modernmt_problem,
    required_text,
)
from mtloop.service.compatible.opened_project import choose_project, open_project, opened_projects
from mtloop.service.compatible.protocol_errors import protocol_route
from mtloop.service.compatible.request_fields import MULTIPART, RequestFields, UploadedFile, read_fields
from mtloop.service.long_work import long_work
from mtloop.service.problems import ROLE_TOO_WEAK, UNKNOWN_JOB, UNKNOWN_PROJECT, Problem, ProblemError
from mtloop.service.project_log.client_store import MAX_MEMORIES, TranslationMemory
from mtloop.service.project_log.event_log import Confirmed
from mtloop.service.project_log.models import Role, TooManyMemories, TranslationProject
from mtloop.service.project_log.project_access import AuthorisedProject
from mtloop.service.projects.correction_files import ImportedFile, read_corrections, upload_file
from mtloop.service.projects.project_calls import (
    add_file,
    check_teachable,
    confirm_translation,
    confirmation,
    job_progress,
)
from mtloop.service.state import Service, service

MAX_NAME, MAX_DESCRIPTION, MAX_TUID, MAX_TEXT = 200, 1_000, 150, 1 << 22
MAX_OF_WEBLATE = MAX_MEMORIES // 2  # every key may make them, so they leave room for others
MAX_AT_ONCE = 20  # memories that one request names
UNDONE_AT_ONCE = 1_000  # people who confirm meanwhile wait for one transaction at most
NUMBER_BITS = 48  # of the number of a correction, in the id of a job
NO_MORE_MEMORIES = Problem(409, "", "No more memories", f"A project has at most {MAX_MEMORIES:,} memories.")

router = APIRouter(route_class=protocol_route(modernmt_problem), include_in_schema=False)


@router.get("/memories")
async def show_memories(request: Request) -> Response:
    """All memories of a key."""
    return data_response([memory_json(one.found, one.memory) for one in await list_memories(request)])


@router.post("/memories")
async def create_memory(request: Request) -> Response:
    """Make a memory. One with the same external id is found again.

    Weblate keeps its glossaries in memories, and gives up if it cannot make one: so every key may make those.
    """
    here = service(request)
    projects = await opened_projects(request, Role.TRANSLATE)
    fields = await read_fields(request, here.settings.max_body)
    name, description = required_text(fields, "name", MAX_NAME), limited_text(fields, "description", MAX_DESCRIPTION)
    external_id = limited_text(fields, "external_id", MAX_NAME)
    if pair := pair_in_name(name):
        found = await choose_project(here, projects, Role.TRANSLATE, *pair)
        return data_response(memory_json(found, await _of_weblate(here, found, name)))
    found = await choose_project(here, projects, Role.CONFIRM)
    return data_response(memory_json(found, await _known_or_new(here, found, name, description, external_id)))


@router.post("/memories/connect")
async def connect_memories(request: Request) -> Response:
    """Make external ids known: in each project of the key, a memory for each."""
    here = service(request)
    projects = await opened_projects(request, Role.CONFIRM)
    fields = await read_fields(request, here.settings.max_body)
    names = _at_most(listed_names(fields, "external_ids"), "external_ids", MAX_NAME)
    made = [(one, await _known_or_new(here, one, name, "", name)) for one in projects for name in names]
    return data_response([memory_json(one, memory) for one, memory in made])


@router.post("/memories/content")
@router.put("/memories/content")
async def add_to_memories(request: Request) -> Response:
    """Teach a pair, in several memories. Without `memories`, it belongs to the project alone."""
    here = service(request)
    await opened_projects(request, Role.TRANSLATE)  # who has no valid key is refused before the body is read
    fields = _checked_content(request, await read_fields(request, here.settings.max_project_body))
    names = _at_most(listed_names(fields, "memories"), "memories", MAX_NAME) if "memories" in fields else []
    pair = fields.text("source"), fields.text("target")
    if not names:
        found, replaces = await open_project(request, Role.CONFIRM, *pair), request.method == "PUT"
        return data_response([await _taught(here, found, None, fields, replaces)])
    opened = [await open_memory(request, name, Role.CONFIRM, *pair) for name in dict.fromkeys(names)]
    return data_response(
        [await _taught(here, one.found, one.memory, fields, request.method == "PUT") for one in opened]
    )


@router.get("/memories/{name}")
async def show_memory(name: str, request: Request) -> Response:
    """One memory."""
    one = await open_memory(request, name, Role.TRANSLATE)
    return data_response(memory_json(one.found, one.memory))


@router.put("/memories/{name}")
async def change_memory(name: str, request: Request) -> Response:
    """Change the name or the description of a memory."""
    here = service(request)
    one = await open_memory(request, name, Role.CONFIRM)
    fields, old = await read_fields(request, here.settings.max_body), one.memory
    given = required_text(fields, "name", MAX_NAME) if "name" in fields else old.name
    description = limited_text(fields, "description", MAX_DESCRIPTION) if "description" in fields else old.description
    await here.storage.clients.change_memory(old, given, description)
    return data_response(memory_json(one.found, replace(old, name=given, description=description)))


@router.delete("/memories/{name}")
async def delete_memory(name: str, request: Request) -> Response:
    """Delete a memory with its terms, and undo its corrections. They stay in the list of corrections, as undone."""
    here = service(request)
    one = await open_memory(request, name, Role.CONFIRM, of_weblate=Role.TRANSLATE)
    await _check_deletion(here, one)
    await _undo_all(here, one)
    await remove_terms(here, one.found, one.memory)
    await here.storage.clients.delete_memory(one.memory)
    await _undo_all(here, one)  # what came before the memory was gone
    return data_response(memory_json(one.found, one.memory))


@router.post("/memories/{name}/content")
@router.put("/memories/{name}/content")
async def add_to_memory(name: str, request: Request) -> Response:
    """Teach a pair or a TMX file. With `tuid`, a pair replaces the one of the same tuid."""
    here = service(request)
    projects = await opened_projects(request, Role.TRANSLATE)  # who has no valid key is refused before the body is read
    if not projects:
        raise ProblemError(UNKNOWN_MEMORY)
    is_upload = _is_multipart(request)
    with here.uploads.begin(projects[0].participant.id) if is_upload else nullcontext():
        most = here.settings.max_upload if is_upload else here.settings.max_project_body
        fields = _checked_content(request, await read_fields(request, most))
        one = await open_memory(request, name, Role.CONFIRM, fields.text("source"), fields.text("target"))
        file = fields.file("tmx")
        read = await _read_in_turn(here, fields, file, one) if file else None
    if read is not None:
        return data_response(await _added(here, one, read))
    return data_response(await _taught(here, one.found, one.memory, fields, request.method == "PUT"))


@router.post("/memories/{name}/glossary")
@router.put("/memories/{name}/glossary")
async def add_to_glossary(name: str, request: Request) -> Response:
    """Add terms to the glossary of the project. A term that is there gets the new translation.

    The terms of a Weblate whose key may not change the glossary are not used: it gets translations all the same.
    """
    here = service(request)
    one = await open_memory(request, name, Role.ORGANISE, of_weblate=Role.TRANSLATE)
    fields, terms = await read_fields(request, here.settings.max_project_body), dict[str, str]()
    if one.found.role.includes(Role.ORGANISE):
        async with here.heavy_work:
            terms = await long_work(read_terms, fields, one.found.project, here.settings.max_project_body)
        await add_terms(here, one.found, one.memory, terms)
    return data_response(_finished_job(one.found.project, one.memory, len(terms)))


@router.get("/import-jobs/{job}")
async def show_job(job: str, request: Request) -> Response:
    """How far an import is."""
    here = service(request)
    projects = {one.project.id: one for one in await opened_projects(request, Role.TRANSLATE)}
    project_id, first, last = _job_numbers(job)
    if project_id not in projects:
        raise ProblemError(UNKNOWN_JOB)
    project = (await newest(here, projects[project_id])).project
    if first:
        return data_response(await _progress(here, project, first, last))
    if last not in {one.id for one in await here.storage.clients.memories(project_id)}:
        raise ProblemError(UNKNOWN_JOB)
    return data_response(job_json(job, last, 0, 1.0))


def memory_json(found: AuthorisedProject, memory: TranslationMemory) -> dict[str, Any]:
    """A memory as clients read it."""
    return {
        "id": memory.id,
        "name": memory.name,
        "description": memory.description,
        "externalId": memory.external_id,
        "creationDate": utc(memory.created),
        "owner": {"user": found.participant.id},
    }


def job_json(job: str, memory: int | None, size: int, progress: float) -> dict[str, Any]:
    """An import as clients read it. `progress` is from 0 to 1."""
    return {"id": job, "memory": memory, "size": size, "progress": round(progress, 4)}


def job_id(project_id: int, first: int, last: int) -> str:
    """The id of an import. `first` and `last` are the numbers of its corrections.

    >>> job_id(1, 2, 3)
    '00000001-0000-0000-0002-000000000003'
    """
    return str(UUID(int=(project_id << 2 * NUMBER_BITS) | (first << NUMBER_BITS) | last))


def _job_numbers(job: str) -> tuple[int, int, int]:
    try:
        number = UUID(job).int
    except ValueError:
        raise ProblemError(UNKNOWN_JOB) from None
    mask = (1 << NUMBER_BITS) - 1
    return number >> 2 * NUMBER_BITS, number >> NUMBER_BITS & mask, number & mask


async def _known_or_new(
    here: Service, found: AuthorisedProject, name: str, description: str, external_id: str
) -> TranslationMemory:
    known = await here.storage.clients.memories(found.project.id)
    if external_id and (same := MemoryNames(known).with_external_id(external_id)):
        return same[0]
    try:
        made = await here.storage.clients.add_memory(found.project.id, name, description, external_id or None)
    except TooManyMemories:
        raise ProblemError(NO_MORE_MEMORIES) from None
    if made is None:
        raise ProblemError(UNKNOWN_PROJECT)
    return made


async def _of_weblate(here: Service, found: AuthorisedProject, name: str) -> TranslationMemory:
    """The memory in which Weblate keeps a glossary. Of one name there is one, as Weblate expects."""
    mine = [one for one in await here.storage.clients.memories(found.project.id) if pair_in_name(one.name)]
    if same := [one for one in mine if one.name == name]:
        return same[0]
    if len(mine) >= MAX_OF_WEBLATE:
        raise ProblemError(NO_MORE_MEMORIES)
    return await _known_or_new(here, found, name, "", "")


async def _check_deletion(here: Service, one: OpenedMemory) -> None:
    """Raise a problem if a key may not take back what a memory holds. Whoever may translate may delete an empty one."""
    if await gave_terms(here, one.memory):
        needed = Role.ORGANISE
    else:
        holds_corrections = bool(await here.storage.clients.corrections_of(one.memory, 0, 1))
        needed = Role.CONFIRM if holds_corrections else Role.TRANSLATE
    if not one.found.role.includes(needed):
        raise ProblemError(ROLE_TOO_WEAK)


def _at_most(names: Sequence[str], field: str, most: int) -> Sequence[str]:
    if not names or len(names) > MAX_AT_ONCE or max(map(len, names)) > most:
        raise bad_field(field, f"expected 1 to {MAX_AT_ONCE} ids, each of at most {most} characters")
    return names


def _checked_content(request: Request, fields: RequestFields) -> RequestFields:
    if request.method == "PUT" and not fields.text("tuid") and not fields.file("tmx"):
        raise bad_field("tuid", "expected the id of the unit to replace")
    return fields


def _is_multipart(request: Request) -> bool:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() == MULTIPART


async def _taught(
    here: Service, found: AuthorisedProject, memory: TranslationMemory | None, fields: RequestFields, replaces: bool
) -> dict[str, Any]:
    """Learn a pair, in its turn if the project is being rebuilt. One that may not be learned is refused.

    With `replaces`, it takes the place of a pair that was sent before without a tuid.
    """
    tuid, document = limited_text(fields, "tuid", MAX_TUID), memory.document if memory else ""
    event = await confirmation(
        found.project,
        required_text(fields, "sentence", MAX_TEXT),
        required_text(fields, "translation", MAX_TEXT),
        document=document,
        external_id=_external_id(document, tuid),
    )
    older = await _unnamed(here, found.project, event) if replaces else None
    answer = await confirm_translation(here, found, event)
    if answer["refused"]:
        raise bad_field("translation", f"not learned: {answer['refused']}")
    if older is not None and not answer["waiting"]:
        last = await here.storage.corrections.undo_many(found.project.id, [older], found.participant.id)
        here.engines.nudge(found.project.id, last or 0)
        answer["rebuilding"] = True
    number, progress = answer["number"], 0.0 if answer.get("rebuilding") else 1.0
    return job_json(job_id(found.project.id, number, number), memory.id if memory else None, 1, progress)


async def _unnamed(here: Service, project: TranslationProject, event: Confirmed) -> int | None:
    """The newest pair of the same source that came without a tuid, into the same memory; None if the tuid is known.

    MateCat confirms a segment without a tuid at first, and with one when it is confirmed again.
    """
    clients = here.storage.clients
    if await clients.newest_confirmation(project.id, event.segment_key) is not None:
        return None
    return await clients.newest_confirmation(project.id, replace(event, external_id="").segment_key)


async def _added(here: Service, one: OpenedMemory, read: ImportedFile) -> dict[str, Any]:
    """Add the pairs of a file. They are learned in the background."""
    check_teachable(here, one.found.project)
    added = await add_file(here, one.found, read)
    if added["first"] is None:
        return _finished_job(one.found.project, one.memory, added["known"])
    return await _progress(here, (await newest(here, one.found)).project, added["first"], added["last"])


async def _read_in_turn(here: Service, fields: RequestFields, file: UploadedFile, one: OpenedMemory) -> ImportedFile:
    async with here.heavy_work:  # not while the file comes: a slow client would let everybody wait
        return await long_work(_read_tmx, here, fields, file, one)


def _read_tmx(here: Service, fields: RequestFields, file: UploadedFile, one: OpenedMemory) -> ImportedFile:
    content = unpacked("tmx", file.content, fields.text("compression"), here.settings.max_upload)
    with upload_file("tmx") as path:
        path.write_bytes(content)
        read = read_corrections(path, one.found.project)
    return replace(read, events=[_of_memory(event, one.memory.document) for event in read.events])


def _of_memory(event: Confirmed, document: str) -> Confirmed:
    """A pair of a file as one of a memory: its tuid names it in this memory only."""
    tuid = event.external_id.removeprefix(f"{document}/")
    return replace(event, document=document, external_id=_external_id(document, tuid))


def _external_id(document: str, tuid: str) -> str:
    return f"{document or 'project'}/{tuid}" if 0 < len(tuid) <= MAX_TUID else ""


async def _progress(here: Service, project: TranslationProject, first: int, last: int) -> dict[str, Any]:
    """How many corrections of an import are learned so far."""
    correction = await here.storage.corrections.one(project.id, first)
    if correction is None or not first <= last <= project.number:
        raise ProblemError(UNKNOWN_JOB)
    progress, document = await job_progress(here, project, first, last), correction.event.document
    memory = int(number) if (number := document.removeprefix("memory/")).isdecimal() else None
    share = progress["learned"] / progress["counted"] if progress["counted"] else 1.0
    return job_json(job_id(project.id, first, last), memory, progress["corrections"], share)


def _finished_job(project: TranslationProject, memory: TranslationMemory, size: int) -> dict[str, Any]:
    """A job that has nothing more to do. Its id names the memory, for it has no corrections."""
    return job_json(job_id(project.id, 0, memory.id), memory.id, size, 1.0)


async def _undo_all(here: Service, one: OpenedMemory) -> None:
    """Undo all corrections of a memory, also those that others replaced: they would count again."""
    project_id, done = one.found.project.id, 0
    while numbers := await here.storage.clients.corrections_of(one.memory, done, UNDONE_AT_ONCE):
        last = await here.storage.corrections.undo_many(project_id, numbers, one.found.participant.id)
        if last is None:
            raise ProblemError(UNKNOWN_PROJECT)
        here.engines.nudge(project_id, last)
        done = numbers[-1]
