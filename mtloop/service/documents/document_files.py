"""The files of documents: what an upload holds, and the file with what was confirmed.

A file is opened from its stored bytes. A worker keeps the files that were used last, because a large one takes a while
to open. The bytes of a document never change, so a kept file is never stale.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from mtloop.core.errors import InputError
from mtloop.data.formats.filling import FILES, TEMPLATE_FORMATS, BilingualFile, FileUnit, Filling, UnitState
from mtloop.service.accounts.keys import new_token
from mtloop.service.cache import LRUCache
from mtloop.service.documents.failed_texts import TextRules, checks_of
from mtloop.service.documents.models import LOCKED, OPEN, TRANSLATED, NewDocument, NewUnit, StoredDocument
from mtloop.service.documents.store import DocumentStore
from mtloop.service.long_work import long_work
from mtloop.service.problems import ProblemError, invalid_request
from mtloop.service.project_log.models import TranslationProject
from mtloop.service.projects.correction_files import file_error, upload_file
from mtloop.service.projects.project_bodies import storable
from mtloop.translation.file_plan import FilePlan
from mtloop.translation.fill_units import FillOptions, OpenedFile, filled_as_possible

MAX_UNITS = 50_000
MAX_KEPT = 4  # opened files in a worker
KEEP_SECONDS = 900  # then it is opened anew
MAX_KEPT_BYTES = 1 << 23  # of one of these; larger files are kept apart
MAX_LARGE = 1  # larger files that are kept, or opened at the same time
MAX_OPENINGS = 2  # others that are opened at the same time
TEXT = ".txt"  # takes a template, and does without: then its lines are the source texts
SUFFIXES = tuple(suffix for suffix in FILES if suffix == TEXT or suffix not in TEMPLATE_FORMATS)
_XLIFF_MARKS = ((b"<trans-unit ", b"<segment>", b"<segment "), ())
_SEGMENT_MARKS = (b'mtype="seg"', b"mtype='seg'")
_UNIT_MARKS: Mapping[str, tuple[Sequence[bytes], Sequence[bytes]]] = {  # what begins a unit, what makes it obsolete
    **dict.fromkeys((".xlf", ".xliff", ".sdlxliff", ".mqxliff"), _XLIFF_MARKS),
    ".po": ((b"\nmsgid ",), ()),
    ".pot": ((b"\nmsgid ",), ()),
    ".ts": ((b"<message>", b"<message "), (b"obsolete", b"vanished")),
    ".tmx": ((b"<tu>", b"<tu "), ()),
}
HEAD = 2  # marks or lines before the first unit: an empty line, the head of a table, the header of a PO file
TOO_MANY_UNITS = invalid_request(f"file: more than {MAX_UNITS:,} units; split it")
_STATES = {UnitState.TRANSLATED: TRANSLATED, UnitState.LOCKED: LOCKED}


def check_name(name: str) -> str:
    """The suffix of a file's name. Raise the problem 422 if there can be no document of this name."""
    try:
        storable(name)
    except ValueError:
        raise ProblemError(invalid_request("name: it has characters that cannot be stored")) from None
    if not name.isprintable() or "/" in name or "\\" in name:
        raise ProblemError(invalid_request("name: expected the name of a file, without folders"))
    suffix = Path(name).suffix.lower()
    if suffix not in SUFFIXES:
        raise ProblemError(invalid_request(f"name: unknown format; expected a file of {', '.join(SUFFIXES)}"))
    return suffix


def read_document(name: str, path: Path, project: TranslationProject) -> NewDocument:
    """Read the units of a file that was uploaded. A wrong file raises the problem 422."""
    if _least_units(path) > MAX_UNITS:
        raise ProblemError(TOO_MANY_UNITS)
    file = _open(path, project)
    places = _places(file)
    if not places:
        raise ProblemError(invalid_request("file: it has nothing to translate"))
    if len(places) > MAX_UNITS:
        raise ProblemError(TOO_MANY_UNITS)
    try:
        units = [_new_unit(file.units[place], project.target_language) for place in places]
    except ValueError:
        raise ProblemError(invalid_request("file: a text has characters that cannot be stored")) from None
    return NewDocument(new_token(), name, path.suffix[1:], path.read_bytes(), units)


def _least_units(path: Path) -> int:
    """About how many units a file has at least. It is not parsed for this: very many units take much memory, and long.

    A file in UTF-16 has none of the marks. Obsolete messages do not count, nor does the head of a file.
    """
    content = path.read_bytes()
    if path.suffix in _UNIT_MARKS:
        marks, obsolete = _UNIT_MARKS[path.suffix]
        return sum(map(content.count, marks)) + _more_segments(content) - sum(map(content.count, obsolete)) - HEAD
    if path.suffix == ".csv" and b'"' in content:
        return 0  # a quoted cell may have several lines
    lines = content.translate(None, b" \t\r")
    while b"\n\n" in lines:
        lines = lines.replace(b"\n\n", b"\n")
    return lines.count(b"\n") - HEAD


def _more_segments(content: bytes) -> int:
    """How many segments the units of XLIFF 1.2 have beyond the first. Their targets have the same ones, not counted."""
    sources = (part.partition(b"</seg-source>")[0] for part in content.split(b"<seg-source")[1:])
    return sum(max(sum(map(source.count, _SEGMENT_MARKS)) - 1, 0) for source in sources)


def _open(path: Path, project: TranslationProject) -> BilingualFile:
    try:
        return OpenedFile.open(FilePlan(path), FillOptions(), (project.source_language, project.target_language)).file
    except InputError as error:
        raise ProblemError(invalid_request(file_error(error, path))) from None


def _places(file: BilingualFile, count: int | None = None) -> list[int]:
    """Where the units of a document stand in its file. Empty ones, as the header of a PO file, are left out.

    So are obsolete ones, but not from documents of earlier versions: those have another `count` of units.
    """
    filled = [place for place, unit in enumerate(file.units) if unit.source.strip()]
    used = [place for place in filled if not file.units[place].obsolete]
    return used if count in (None, len(used)) else filled


def _new_unit(unit: FileUnit, language: str) -> NewUnit:
    """A unit as it is stored. A text that a database cannot store raises ValueError."""
    context = dict(_storable_context(unit.context))
    for text in (unit.id, unit.source, unit.target, json.dumps(context, ensure_ascii=False)):
        storable(text)
    state = _STATES.get(unit.state, OPEN)
    checks = checks_of(TextRules.of(unit, language), unit.target) if state != LOCKED else []
    is_fuzzy = unit.state is UnitState.FUZZY
    return NewUnit(unit.id, unit.source, unit.target, state, is_fuzzy, context, unit.syntax, checks)


def _storable_context(context: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in context.items():
        if value not in ("", None):
            yield name, value


class DocumentFiles:
    """Opened files of documents. Each worker process has one."""

    def __init__(self, store: DocumentStore) -> None:
        self._store = store
        self._kept = LRUCache[int, BilingualFile](MAX_KEPT)
        self._large = LRUCache[int, BilingualFile](MAX_LARGE)
        self._locks = WeakValueDictionary[int, asyncio.Lock]()  # of documents that are opened or waited for
        self._openings, self._large_openings = asyncio.Semaphore(MAX_OPENINGS), asyncio.Semaphore(MAX_LARGE)

    async def check(self, project: TranslationProject, document: StoredDocument, place: int, text: str) -> None:
        """Raise the problem 422 if the file cannot hold this text for a unit."""
        file = await self._file(project, document)
        await asyncio.to_thread(_check, file, _places(file, document.units)[place], Filling(text, approved=True))

    async def filled(
        self, project: TranslationProject, document: StoredDocument, texts: Mapping[int, str]
    ) -> tuple[bytes, list[int]]:
        """The file with these texts, by the index of their unit; and the units whose text it cannot hold."""
        file = await self._file(project, document)
        return await asyncio.to_thread(_filled, file, _places(file, document.units), texts)

    def forget(self) -> None:
        """Drop all files: something was deleted."""
        self._kept.clear()
        self._large.clear()

    async def _file(self, project: TranslationProject, document: StoredDocument) -> BilingualFile:
        """The opened file. Who waits for another document waits for a free place only."""
        async with self._locks.setdefault(document.id, asyncio.Lock()):
            found = self._kept.get(document.id) or self._large.get(document.id)
            if found is not None:
                return found
            content = await self._store.content(document.id)
            kept = self._kept if len(content) <= MAX_KEPT_BYTES else self._large
            async with self._openings if kept is self._kept else self._large_openings:
                if kept is self._large:
                    kept.clear()  # it takes much memory, and so does the next one while it is opened
                found = await long_work(_reopened, content, document.format, project)
            kept.update({document.id: found})
            asyncio.get_running_loop().call_later(KEEP_SECONDS, kept.remove, document.id)  # it may be deleted elsewhere
            return found


def _reopened(content: bytes, kind: str, project: TranslationProject) -> BilingualFile:
    with upload_file(kind) as path:
        path.write_bytes(content)
        file = _open(path, project)
        len(file.units)  # they may be found when they are first used; the file is gone then
        return file


def _check(file: BilingualFile, place: int, filling: Filling) -> None:
    try:
        file.filled({place: filling})
    except InputError as error:
        raise ProblemError(invalid_request(file_error(error, file.path))) from None


def _filled(file: BilingualFile, places: Sequence[int], texts: Mapping[int, str]) -> tuple[bytes, list[int]]:
    indices = {places[index]: index for index in sorted(texts)}
    fillings = {place: Filling(texts[index], approved=True) for place, index in indices.items()}
    content, unfilled = filled_as_possible(file, fillings)
    return content, sorted(indices[place] for place in unfilled)
