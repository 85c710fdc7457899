"""Glossaries of the DeepL API, version 2 and 3. A project has one glossary, and every translation uses it.

A new glossary replaces the one before. A glossary that was set in another way has no id of its own: it is shown under
one that follows from the project and the time of the change.
"""

from __future__ import annotations

import csv
import io
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4, uuid5

from fastapi import Request, Response

from mtloop.service.compatible.deepl_protocol import answer, deepl_router, key_of, required, time_stamp, unknown
from mtloop.service.compatible.language_variants import Pair, fits
from mtloop.service.compatible.opened_project import choose_project, opened_projects
from mtloop.service.compatible.request_fields import RequestFields, read_fields
from mtloop.service.problems import ROLE_TOO_WEAK, ProblemError, invalid_request
from mtloop.service.project_log.event_log import GlossaryChanged
from mtloop.service.project_log.models import Role, StoredGlossary
from mtloop.service.project_log.project_access import AuthorisedProject
from mtloop.service.projects.correction_files import tsv_cell
from mtloop.service.projects.project_calls import change_glossary
from mtloop.service.state import Service, service
from mtloop.text.language_codes import language_of

NAMESPACE = UUID("6f1b2f0a-6a43-4c40-9f2c-6d746c6f6f70")  # of the ids of glossaries that have none of their own
MAX_TERMS = 10_000
MAX_TERM = 200  # characters
MAX_NAME = 200
FORMATS = ("tsv", "csv")
TSV = "text/tab-separated-values"
_DICTIONARY_FIELD = re.compile(r"dictionaries\[(\d{1,3})\]\.(\w+)")

router = deepl_router()


@dataclass(frozen=True)
class ProjectGlossary:
    """The glossary of a project, as a client sees it."""

    found: AuthorisedProject
    id: str
    name: str
    terms: Mapping[str, str]
    created: float
    has_own_id: bool = True

    def is_that(self, stored: GlossaryChanged) -> bool:
        """Whether it is the glossary that is stored now. One that had no id may have got this one meanwhile."""
        return stored.id == self.id or (not self.has_own_id and not stored.id and bool(stored.terms))

    @property
    def pair(self) -> dict[str, str]:
        project = self.found.project
        return {
            "source_lang": language_of(project.source_language),
            "target_lang": language_of(project.target_language),
        }

    @property
    def tsv(self) -> str:
        return "\n".join(f"{tsv_cell(term)}\t{tsv_cell(target)}" for term, target in self.terms.items())

    @property
    def dictionaries(self) -> list[dict[str, Any]]:
        """One dictionary, because a project has one language pair; none if there are no terms."""
        return [{**self.pair, "entry_count": len(self.terms)}] if self.terms else []

    def to_json(self) -> dict[str, Any]:
        """Its description in version 2."""
        whole = {"glossary_id": self.id, "name": self.name, "ready": True, **self.pair}
        return whole | {"creation_time": time_stamp(self.created), "entry_count": len(self.terms)}

    def to_json_v3(self) -> dict[str, Any]:
        head = {"glossary_id": self.id, "name": self.name, "creation_time": time_stamp(self.created)}
        return head | {"dictionaries": self.dictionaries}


async def project_glossary(here: Service, found: AuthorisedProject) -> ProjectGlossary | None:
    """The glossary of a project. None: it has none, or it was deleted."""
    return next(iter(await _glossaries_of(here, [found])), None)


async def _glossaries_of(here: Service, projects: Sequence[AuthorisedProject]) -> list[ProjectGlossary]:
    """The glossaries of projects, by one query: a key may open many. Those that have none are left out."""
    stored = await here.storage.projects.newest_glossaries([one.project.id for one in projects])
    known = [(one, stored[one.project.id]) for one in projects if one.project.id in stored]
    return [_shown(found, newest) for found, newest in known if newest.event.terms or newest.event.id]


def _shown(found: AuthorisedProject, stored: StoredGlossary) -> ProjectGlossary:
    event = stored.event
    id = event.id or str(uuid5(NAMESPACE, f"{found.project.id} {stored.time!r}"))
    created = event.created or stored.time
    return ProjectGlossary(found, id, event.name or found.project.name, event.terms, created, bool(event.id))


async def check_glossary_ids(here: Service, found: AuthorisedProject, ids: Sequence[str]) -> None:
    """Raise a problem if a translation asks for a glossary that is not that of its project."""
    wanted = {one for one in ids if one}
    glossary = await project_glossary(here, found) if wanted else None
    if wanted and (glossary is None or wanted != {glossary.id}):
        raise unknown("glossary")


async def _glossaries(request: Request, fields: RequestFields) -> list[ProjectGlossary]:
    """The glossaries of all projects that the key opens."""
    here = service(request)
    projects = await opened_projects(request, Role.TRANSLATE, key_of(fields))
    return await _glossaries_of(here, projects)


async def _glossary(request: Request, fields: RequestFields, id: str, role: Role = Role.TRANSLATE) -> ProjectGlossary:
    """The glossary with an id. Raise a problem if the key may not do what this role may."""
    glossary = next((one for one in await _glossaries(request, fields) if one.id == id), None)
    if glossary is None:
        raise unknown("glossary")
    if not glossary.found.role.includes(role):
        raise ProblemError(ROLE_TOO_WEAK)
    return glossary


async def _fields(request: Request) -> RequestFields:
    return await read_fields(request, service(request).settings.max_project_body)


async def _store(
    here: Service, found: AuthorisedProject, change: Callable[[GlossaryChanged], GlossaryChanged]
) -> ProjectGlossary:
    """Store what `change` makes of the glossary of a project. The answer is what a client sees of it."""

    def limited(old: GlossaryChanged) -> GlossaryChanged:
        new = change(old)
        if len(new.terms) > MAX_TERMS:
            raise ProblemError(invalid_request(f"entries: at most {MAX_TERMS:,} terms"))
        return new

    return _shown(found, await change_glossary(here, found, limited))


async def _change(
    here: Service, glossary: ProjectGlossary, terms_of: Callable[[Mapping[str, str]], Mapping[str, str]], name: str = ""
) -> ProjectGlossary:
    """Give a glossary the terms that `terms_of` makes of those it has now, and a name.

    Raise a problem if somebody has replaced or deleted it meanwhile.
    """

    def changed(old: GlossaryChanged) -> GlossaryChanged:
        if not glossary.is_that(old):
            raise unknown("glossary")
        shown = name or old.name or glossary.name
        return old.replaced(dict(terms_of(old.terms)), glossary.id, shown, glossary.created)

    return await _store(here, glossary.found, changed)


async def _delete(request: Request, id: str) -> Response:
    """Take all terms away."""
    glossary = await _glossary(request, await _fields(request), id, Role.ORGANISE)

    def emptied(old: GlossaryChanged) -> GlossaryChanged:
        if not glossary.is_that(old):
            raise unknown("glossary")
        return GlossaryChanged({})

    await _store(service(request), glossary.found, emptied)
    return Response(status_code=204)


def _name(fields: RequestFields) -> str:
    return required(fields, "name")[:MAX_NAME]


def read_terms(fields: RequestFields) -> dict[str, str]:
    """The terms of a dictionary, in one of two formats. Of equal terms the last one counts."""
    format, entries = fields.text("entries_format", "tsv"), fields.text("entries")
    if format not in FORMATS:
        raise ProblemError(invalid_request("entries_format: expected tsv or csv"))
    try:
        rows = list(csv.reader(io.StringIO(entries), strict=True)) if format == "csv" else _tsv_rows(entries)
    except csv.Error:
        raise ProblemError(invalid_request("entries: not a valid CSV table")) from None
    terms = dict(_term(number, row) for number, row in enumerate(rows, start=1) if any(map(str.strip, row)))
    if not terms:
        raise ProblemError(invalid_request("entries: expected at least one term"))
    return terms


def _tsv_rows(entries: str) -> list[list[str]]:
    return [line.rstrip("\r").split("\t") for line in entries.split("\n")]


def _term(number: int, row: Sequence[str]) -> tuple[str, str]:
    """The term of a row. Tables of DeepL may name the languages in two more columns."""
    cells = [cell.strip() for cell in row]
    if len(cells) < 2 or not all(0 < len(cell) <= MAX_TERM for cell in cells[:2]):
        expected = f"a term and its translation, with at most {MAX_TERM} characters each"
        raise ProblemError(invalid_request(f"entries: row {number}: expected {expected}"))
    return cells[0], cells[1]


def base_pair(one: AuthorisedProject) -> Pair:
    """The languages of a project without region and script, which is how DeepL names those of glossaries."""
    return language_of(one.project.source_language), language_of(one.project.target_language)


def glossary_pairs(projects: Sequence[AuthorisedProject]) -> list[Pair]:
    """The pairs of the projects whose glossary this key may change. Some clients try to change them all.

    A pair of several projects is not among them: a client could not say which one it means.
    """
    known = Counter(base_pair(one) for one in projects)
    mine = [base_pair(one) for one in projects if one.role.includes(Role.ORGANISE)]
    return [pair for pair in mine if all(pair) and known[pair] == 1]


def apart(pairs: Sequence[Pair], known: Iterable[Pair]) -> list[Pair]:
    """Pairs whose sources and targets, combined in every way, make no other known pair: version 3 lists them apart.

    >>> apart([("en", "de"), ("fr", "it")], [("en", "de"), ("fr", "it"), ("fr", "de")])
    [('en', 'de')]
    """
    others, chosen = set(known) - set(pairs), list[Pair]()
    sources, targets = set[str](), set[str]()
    for source, target in pairs:
        made = {(source, one) for one in {*targets, target}} | {(one, target) for one in sources}
        if not made & others:
            chosen.append((source, target))
            sources.add(source)
            targets.add(target)
    return chosen


# Version 2


@router.get("/v2/glossary-language-pairs")
async def language_pairs(request: Request) -> Response:
    projects = await opened_projects(request, Role.TRANSLATE, key_of(await _fields(request)))
    pairs = [{"source_lang": source, "target_lang": target} for source, target in glossary_pairs(projects)]
    return answer({"supported_languages": pairs})


@router.post("/v2/glossaries")
async def create_glossary(request: Request) -> Response:
    """Set the glossary of the project with a language pair."""
    return answer((await _created(request)).to_json(), 201)


async def _created(request: Request, multilingual: bool = False) -> ProjectGlossary:
    here, fields = service(request), await _fields(request)
    projects = await opened_projects(request, Role.TRANSLATE, key_of(fields))
    dictionary = _dictionary(fields) if multilingual else fields
    name, terms = _name(fields), read_terms(dictionary)
    pair = required(dictionary, "source_lang"), required(dictionary, "target_lang")
    found = await choose_project(here, projects, Role.ORGANISE, *pair)
    id, now = str(uuid4()), time.time()
    return await _store(here, found, lambda old: old.replaced(terms, id, name, now))


@router.get("/v2/glossaries")
async def list_glossaries(request: Request) -> Response:
    return answer({"glossaries": [one.to_json() for one in await _glossaries(request, await _fields(request))]})


@router.get("/v2/glossaries/{id}")
async def show_glossary(id: str, request: Request) -> Response:
    return answer((await _glossary(request, await _fields(request), id)).to_json())


@router.get("/v2/glossaries/{id}/entries")
async def show_entries(id: str, request: Request) -> Response:
    glossary = await _glossary(request, await _fields(request), id)
    return Response(glossary.tsv, media_type=TSV)


@router.delete("/v2/glossaries/{id}")
async def delete_glossary(id: str, request: Request) -> Response:
    return await _delete(request, id)


# Version 3


def _dictionaries(fields: RequestFields) -> list[RequestFields]:
    """The dictionaries of a request: a list in JSON, or fields such as `dictionaries[0].entries` in a form."""
    given = fields.values.get("dictionaries", [])
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise ProblemError(invalid_request("dictionaries: expected a list of objects"))
    rows: dict[int, dict[str, Any]] = dict(enumerate(given))
    for name, value in fields.values.items():
        if match := _DICTIONARY_FIELD.fullmatch(name):
            rows.setdefault(int(match[1]), {})[match[2]] = value
    return [RequestFields(rows[index]) for index in sorted(rows)]


def _dictionary(fields: RequestFields) -> RequestFields:
    """The only dictionary of a request."""
    found = _dictionaries(fields)
    if len(found) != 1:
        raise ProblemError(invalid_request("dictionaries: expected one; a glossary here has one language pair"))
    return found[0]


def _check_pair(glossary: ProjectGlossary, fields: RequestFields) -> None:
    pair = required(fields, "source_lang"), required(fields, "target_lang")
    if not fits(glossary.found.project, *pair):
        raise unknown("dictionary of this language pair in the glossary")


@router.post("/v3/glossaries")
async def create_multilingual_glossary(request: Request) -> Response:
    return answer((await _created(request, multilingual=True)).to_json_v3(), 201)


@router.get("/v3/glossaries")
async def list_multilingual_glossaries(request: Request) -> Response:
    return answer({"glossaries": [one.to_json_v3() for one in await _glossaries(request, await _fields(request))]})


@router.get("/v3/glossaries/{id}")
async def show_multilingual_glossary(id: str, request: Request) -> Response:
    return answer((await _glossary(request, await _fields(request), id)).to_json_v3())


@router.patch("/v3/glossaries/{id}")
async def edit_glossary(id: str, request: Request) -> Response:
    """Rename a glossary, and add terms to it."""
    fields = await _fields(request)
    glossary = await _glossary(request, fields, id, Role.ORGANISE)
    name, terms = _name(fields) if "name" in fields else "", dict[str, str]()
    if _dictionaries(fields):
        dictionary = _dictionary(fields)
        _check_pair(glossary, dictionary)
        terms = read_terms(dictionary)
    changed = await _change(service(request), glossary, lambda old: {**old, **terms}, name)
    return answer(changed.to_json_v3())


@router.delete("/v3/glossaries/{id}")
async def delete_multilingual_glossary(id: str, request: Request) -> Response:
    return await _delete(request, id)


@router.get("/v3/glossaries/{id}/entries")
async def show_dictionary_entries(id: str, request: Request) -> Response:
    fields = await _fields(request)
    glossary = await _glossary(request, fields, id)
    _check_pair(glossary, fields)
    return answer({"dictionaries": [{**glossary.pair, "entries": glossary.tsv, "entries_format": "tsv"}]})


@router.put("/v3/glossaries/{id}/dictionaries")
async def replace_dictionary(id: str, request: Request) -> Response:
    """Replace all terms."""
    fields = await _fields(request)
    glossary = await _glossary(request, fields, id, Role.ORGANISE)
    _check_pair(glossary, fields)
    terms = read_terms(fields)
    changed = await _change(service(request), glossary, lambda _: terms)
    return answer(changed.dictionaries[0])


@router.delete("/v3/glossaries/{id}/dictionaries")
async def delete_dictionary(id: str, request: Request) -> Response:
    """Take all terms away. The glossary stays, without terms."""
    fields = await _fields(request)
    glossary = await _glossary(request, fields, id, Role.ORGANISE)
    _check_pair(glossary, fields)
    await _change(service(request), glossary, lambda _: {})
    return Response(status_code=204)
