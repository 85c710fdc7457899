"""Terms that ModernMT's clients send, as the glossary of a project. They go when their memory is deleted."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mtloop.service.compatible.memory_files import unpacked
from mtloop.service.compatible.modernmt_answers import bad_field
from mtloop.service.compatible.opened_project import pair_of
from mtloop.service.compatible.request_fields import RequestFields, UploadedFile
from mtloop.service.project_log.client_store import TranslationMemory
from mtloop.service.project_log.event_log import GlossaryChanged
from mtloop.service.project_log.models import TranslationProject
from mtloop.service.project_log.project_access import AuthorisedProject
from mtloop.service.projects.project_bodies import storable
from mtloop.service.projects.project_calls import change_glossary
from mtloop.service.state import Service
from mtloop.text.language_codes import language_of

TYPES = ("unidirectional", "equivalent")
MAX_TERM, MAX_TERMS = 200, 10_000


def read_terms(fields: RequestFields, project: TranslationProject, max_bytes: int) -> dict[str, str]:
    """The terms of a request, with their translations: a list, or a file with a row of languages at first."""
    if fields.text("type", TYPES[0]) not in TYPES:
        raise bad_field("type", f"expected {' or '.join(TYPES)}")
    file = fields.file("csv")
    pairs = (
        _in_file(fields, file, project, max_bytes) if file else iter([_in_list(fields.values.get("terms"), project)])
    )
    return dict(_checked(*pair) for pair in pairs)


async def add_terms(
    here: Service, found: AuthorisedProject, memory: TranslationMemory, terms: Mapping[str, str]
) -> None:
    """Add terms of a memory to the glossary of a project; its other terms, its id and its name stay.

    A term that the project has already, from no memory, remains the project's own.
    """

    def added(old: GlossaryChanged) -> GlossaryChanged:
        merged = {**old.terms, **terms}
        if len(merged) > MAX_TERMS:
            raise bad_field("terms", f"a glossary has at most {MAX_TERMS:,} terms")
        of_memories = {term for given in old.from_memories.values() for term in given}
        own = {term for term in terms if old.terms.get(term) == terms[term]} - of_memories
        given = {**old.from_memories.get(memory.document, {}), **terms}
        its = {term: translation for term, translation in given.items() if term not in own}
        tagged = replace(old, from_memories={**old.from_memories, memory.document: its})
        return tagged.replaced(merged, old.id, old.name, old.created)

    await change_glossary(here, found, added)


async def gave_terms(here: Service, memory: TranslationMemory) -> bool:
    """Whether there are terms of a memory in the glossary of its project."""
    known = await here.storage.projects.newest_glossary(memory.project_id)
    return known is not None and memory.document in known.event.from_memories


async def remove_terms(here: Service, found: AuthorisedProject, memory: TranslationMemory) -> None:
    """Take the terms of a memory out of the glossary of its project, except those that other memories gave too."""

    def removed(old: GlossaryChanged) -> GlossaryChanged:
        others = {document: given for document, given in old.from_memories.items() if document != memory.document}
        theirs = {term for given in others.values() for term in given}
        gone = old.from_memories.get(memory.document, {}).keys() - theirs
        left = {term: translation for term, translation in old.terms.items() if term not in gone}
        return replace(old, terms=left, from_memories=others)

    if await gave_terms(here, memory):
        await change_glossary(here, found, removed)


def _in_list(terms: Any, project: TranslationProject) -> tuple[str, str]:
    """The pair in a list such as [{"term": "file", "language": "en"}, {"term": "Datei", "language": "de"}]."""
    by_language = {language_of(language): term for term, language in _terms(terms)}
    source, target = language_of(project.source_language), language_of(project.target_language)
    if source not in by_language or target not in by_language:
        raise bad_field("terms", f"expected a term of each language of {pair_of(project)}")
    return by_language[source], by_language[target]


def _terms(terms: Any) -> Iterator[tuple[str, str]]:
    try:
        found = json.loads(terms) if isinstance(terms, str) else terms  # a form has it as JSON in a text
    except (ValueError, RecursionError):
        found = None
    for one in found if isinstance(found, list) else [None]:
        values = (one.get("term"), one.get("language")) if isinstance(one, dict) else (None, None)
        if not isinstance(values[0], str) or not isinstance(values[1], str):
            raise bad_field("terms", "expected a list of objects with term and language")
        yield values[0], values[1]


def _in_file(
    fields: RequestFields, file: UploadedFile, project: TranslationProject, max_bytes: int
) -> Iterator[tuple[str, str]]:
    """The pairs of a CSV file. Its first row has the languages of the columns."""
    content = unpacked("csv", file.content, fields.text("compression"), max_bytes)
    try:
        rows = [row for row in csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")) if any(row)]
    except (UnicodeDecodeError, csv.Error):
        raise bad_field("csv", "not a CSV file in UTF-8") from None
    source, target = _columns(rows[0] if rows else [], project)
    for number, row in enumerate(rows[1:], start=2):
        if max(source, target) >= len(row):
            raise bad_field("csv", f"row {number} has too few columns")
        yield row[source], row[target]


def _columns(head: Sequence[str], project: TranslationProject) -> tuple[int, int]:
    languages = [language_of(cell) for cell in head]
    try:
        return (
            languages.index(language_of(project.source_language)),
            languages.index(language_of(project.target_language)),
        )
    except ValueError:
        raise bad_field("csv", f"expected a first row with the languages of {pair_of(project)}") from None


def _checked(term: str, translation: str) -> tuple[str, str]:
    for text in (term, translation):
        try:
            storable(text)
        except ValueError:
            raise bad_field("terms", "characters that cannot be stored") from None
        if not text.strip() or len(text) > MAX_TERM:
            raise bad_field("terms", f"a term has 1 to {MAX_TERM} characters")
    return term.strip(), translation.strip()
