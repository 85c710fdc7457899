"""Translate a whole file with a project: its untranslated units are filled in, and every other byte stays.

A client sends one file, so the formats are those that need no second file with the source texts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from starlette.requests import Request

from mtloop.core.errors import InputError
from mtloop.data.formats.filling import FILES, TEMPLATE_FORMATS, Filling
from mtloop.service.accounts.keys import HEADER
from mtloop.service.accounts.metering import caller_of
from mtloop.service.compatible.opened_project import opened_projects
from mtloop.service.compatible.request_fields import MULTIPART, RequestFields, content_kind, read_fields
from mtloop.service.http import BODY_TOO_LARGE
from mtloop.service.long_work import long_work
from mtloop.service.problems import UNKNOWN_PROJECT, Problem, ProblemError, invalid_request
from mtloop.service.project_log.client_store import StoredFile
from mtloop.service.project_log.models import Role, TooManyFiles, TranslationProject
from mtloop.service.project_log.project_access import AuthorisedProject
from mtloop.service.projects.correction_files import file_error, upload_file
from mtloop.service.projects.project_bodies import storable
from mtloop.service.projects.project_calls import translate_many
from mtloop.service.state import Service, service
from mtloop.translation.file_plan import FilePlan
from mtloop.translation.fill_units import FillOptions, OpenedFile, filled_as_possible

NO_MORE_FILES = Problem(
    409,
    "",
    "No more files",
    "The translated files of this project take as many bytes as this service allows. They are deleted after a day.",
)
TEXT = ".txt"  # takes a template, and does without: then its lines are the source texts
DETECTED_BYTES = 8192  # of a file: so much of it says which language it has


def supported_suffixes() -> list[str]:
    """The suffixes of the files that can be translated."""
    return [suffix for suffix in FILES if suffix == TEXT or suffix not in TEMPLATE_FORMATS]


def check_suffix(name: str) -> str:
    """The suffix of a file. Raise a problem if files of this kind cannot be translated."""
    suffix, known = Path(name).suffix.lower(), supported_suffixes()
    if suffix not in known:
        raise ProblemError(invalid_request(f"file: unknown format; expected a file of {', '.join(known)}"))
    return suffix


def beginning(content: bytes) -> str:
    """The first characters of a file, to find its language by. A whole file would take long to decode."""
    return content[:DETECTED_BYTES].decode(errors="replace")


async def read_file_form(request: Request) -> RequestFields:
    """The fields of a request that sends a file. Who has no valid key is refused before a large body is read.

    A key in the body is known only when the body is read, so a body with one may not be large.
    """
    here = service(request)
    small = min(here.settings.max_project_body, here.settings.max_upload)
    if HEADER not in request.headers:
        await here.metering.check_address(caller_of(request), "")
        return await read_fields(request, small)
    projects = await opened_projects(request, Role.TRANSLATE)
    if not projects or content_kind(request) != MULTIPART:
        return await read_fields(request, small)
    with here.uploads.begin(projects[0].participant.id):
        return await read_fields(request, here.settings.max_upload, small)


async def keep_file(here: Service, file: StoredFile) -> None:
    """Keep a file for a day. Raise a problem if the project has no room for it."""
    try:
        if not await here.storage.clients.add_file(file, here.settings.max_project_bytes):
            raise ProblemError(UNKNOWN_PROJECT)
    except TooManyFiles:
        raise ProblemError(NO_MORE_FILES) from None


async def translated_file(
    here: Service, request: Request | None, found: AuthorisedProject, name: str, content: bytes
) -> bytes:
    """Translate the untranslated units of a file. Those that are translated stay as they are.

    What the model leaves empty, and what the file cannot hold, stays untranslated. Work without a client, in the
    background, has no request. A file that cannot be read raises the problem 422.
    """
    suffix = check_suffix(name)
    if len(content) > here.settings.max_upload:
        raise ProblemError(BODY_TOO_LARGE)
    with upload_file(suffix[1:]) as path:
        async with here.heavy_work:
            opened = await long_work(_opened, path, content, found.project)
        translations = await _translations(here, request, found, opened)
        filled, _ = await asyncio.to_thread(filled_as_possible, opened.file, translations)
    return filled


def _opened(path: Path, content: bytes, project: TranslationProject) -> OpenedFile:
    path.write_bytes(content)
    try:
        opened = OpenedFile.open(FilePlan(path), FillOptions(), (project.source_language, project.target_language))
        for source in opened.sources:
            storable(source)
    except InputError as error:
        raise ProblemError(invalid_request(file_error(error, path))) from None
    except ValueError:
        raise ProblemError(invalid_request("file: a text has characters that cannot be stored")) from None
    return opened


async def _translations(
    here: Service, request: Request | None, found: AuthorisedProject, opened: OpenedFile
) -> Mapping[int, Filling]:
    """The texts for the units that are to be filled, by their index."""
    texts = dict[int, str]()
    for syntax, indexes in _by_syntax(opened).items():
        sources = [opened.file.units[index].source for index in indexes]
        answers = await translate_many(here, request, found, sources, syntax)
        texts |= {index: str(answer["translation"]) for index, answer in zip(indexes, answers, strict=True)}
    return {index: Filling(text) for index, text in texts.items() if text.strip()}


def _by_syntax(opened: OpenedFile) -> Mapping[str, Sequence[int]]:
    """The units that are to be filled, by the syntax of their texts: a call has texts of one syntax."""
    found = dict[str, list[int]]()
    for index in opened.to_fill:
        found.setdefault(opened.file.units[index].syntax, []).append(index)
    return found
