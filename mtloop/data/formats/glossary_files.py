"""Read glossaries: TSV and CSV with two columns, and TBX (TermBase eXchange, ISO 30042, versions 2 and 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TypeAlias

from lxml import etree

from mtloop.core.errors import InputError
from mtloop.core.log import logger
from mtloop.core.plural import pluralise
from mtloop.data.formats.delimited import DelimitedTable, open_table
from mtloop.data.formats.xml_text import check_root, local_name, plain_text, xml_errors
from mtloop.data.languages import LanguageChoice, closeness, is_tag
from mtloop.data.writing_systems import is_language
from mtloop.text.files import format_suffix, open_bytes
from mtloop.text.glossary import TOKEN, Glossary
from mtloop.text.messages import join_names

TBX_ROOTS = ("martif", "tbx")
CONCEPTS, SECTIONS = {"termEntry", "conceptEntry"}, {"langSet", "langSec"}
TERM_SECTIONS = {"tig", "ntig", "termSec"}
XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
STATUS_TYPES = {"administrativeStatus", "normativeAuthorization"}
FORBIDDEN = ("deprecatedTerm", "supersededTerm")  # the values are such as "deprecatedTerm-admn-sts"
PREFERRED = ("preferredTerm", "standardizedTerm")


class TermEntry(NamedTuple):
    """A pair of terms, and the line it was read from."""

    source: str
    target: str
    line: int


Entries: TypeAlias = tuple[Iterable[TermEntry], str, str]
"""The entries of a file, and its source and target language; "" if unknown."""


def read_glossary(path: str | Path, source_lang: str = "", target_lang: str = "") -> Glossary:
    """Read a glossary by its suffix: .tsv, .csv or .tbx, also compressed.

    A table has the columns `source` and `target`, or columns with the names of the languages, or no header line and
    the terms in its first two columns. The languages choose the terms of a TBX file that has several.

    Raises:
        InputError: The file cannot be read, a term is empty, or there is no term in these languages.
    """
    path = Path(path)
    suffix = format_suffix(path)
    if suffix not in GLOSSARY_READERS:
        raise InputError(f"a glossary is .tsv, .csv or .tbx, not {suffix or 'a file without a suffix'}", path=path)
    entries, *languages = GLOSSARY_READERS[suffix](path, source_lang, target_lang)
    pairs = [(entry.source, entry.target) for entry in map(partial(_checked, path=path), entries)]
    if not pairs:
        raise InputError("the glossary has no terms", path=path)
    return Glossary.of(pairs, *languages)


def _checked(entry: TermEntry, path: Path) -> TermEntry:
    for name, text in (("source", entry.source), ("target", entry.target)):
        if not TOKEN.search(text):
            message = f"the {name} term is empty; write a term, or remove the entry"
            raise InputError(message, path=path, line=entry.line)
    return entry


def read_rows(path: Path, source_lang: str = "", target_lang: str = "") -> Entries:
    """Return the entries of a table, and its languages if the header names them."""
    table = open_table(path)
    if len(table.header) < 2:
        raise InputError("expected two columns, the term and its translation", path=path, line=1)
    columns = _columns(table, source_lang, target_lang)
    source, target = columns or (0, 1)
    first = [] if columns else [(1, list(table.header))]
    rows = chain(first, table.rows)
    entries = (TermEntry(cells[source].strip(), cells[target].strip(), line) for line, cells in rows)
    named = [table.header[number] if columns and is_tag(table.header[number]) else "" for number in (source, target)]
    return entries, source_lang or named[0], target_lang or named[1]


def _columns(table: DelimitedTable, source_lang: str, target_lang: str) -> tuple[int, int] | None:
    """Return the columns of source and target by the names in the first line; None if that is no header."""
    names = [name.strip().lower() for name in table.header]
    if {"source", "target"} <= set(names):
        return names.index("source"), names.index("target")
    if not all(is_tag(name) and is_language(name) for name in names[:2]):
        return None
    found = [_closest(language, table.header) for language in (source_lang, target_lang)]
    if source_lang and target_lang and None in found:
        raise _no_language(table.path, source_lang, target_lang, table.header, line=1)
    source, target = (default if index is None else index for index, default in zip(found, (0, 1), strict=True))
    return source, target


def _closest(language: str, tags: Sequence[str]) -> int | None:
    """Return the index of the tag that is closest to a language; None if no tag matches it."""
    fitting = [number for number, tag in enumerate(tags) if language and _matches(language, tag)]
    return max(fitting, key=lambda number: closeness(language, tags[number]), default=None)


def _matches(language: str, tag: str) -> bool:
    return LanguageChoice(language, any_variety=True).matches(tag)


def _no_language(
    path: Path, source_lang: str, target_lang: str, found: Sequence[str], line: int | None = None
) -> InputError:
    message = f"no terms from {source_lang or '?'} to {target_lang or '?'}; the file has: {join_names(found)}"
    return InputError(message, path=path, line=line)


@dataclass(frozen=True)
class TbxTerm:
    """A term of a TBX file: its text, language, status and line."""

    text: str
    language: str
    status: str
    line: int

    @property
    def rank(self) -> int:
        """The place among the terms of a concept: preferred ones first."""
        return 0 if self.status.startswith(PREFERRED) else 1

    @property
    def is_forbidden(self) -> bool:
        return self.status.startswith(FORBIDDEN)


def read_tbx(path: Path, source_lang: str = "", target_lang: str = "") -> Entries:
    """Return every source term of each concept with every target term, preferred ones first.

    Deprecated and superseded terms are found in a source, but never written. Without the languages, the file must have
    exactly two; the first is the source.
    """
    check_root(path, *TBX_ROOTS)
    with xml_errors(path):
        concepts = list(_read_concepts(path))
    languages = list(dict.fromkeys(term.language for concept in concepts for term in concept))
    source_lang, target_lang = _choose_languages(path, source_lang, target_lang, languages)
    pairs = [list(_pairs(concept, source_lang, target_lang)) for concept in concepts]
    if skipped := sum(not found for found in pairs):
        logger.warning(f"{path}: {pluralise(skipped, 'concept')} without a term in both languages left out")
    return chain.from_iterable(pairs), source_lang, target_lang


def _pairs(concept: Sequence[TbxTerm], source_lang: str, target_lang: str) -> Iterator[TermEntry]:
    targets = [term for term in _terms_in(target_lang, concept) if not term.is_forbidden]
    for source in _terms_in(source_lang, concept):
        yield from (TermEntry(source.text, target.text, source.line) for target in targets)


def _choose_languages(path: Path, source: str, target: str, found: Sequence[str]) -> tuple[str, str]:
    if not (source and target) and len(found) != 2:
        message = f"name the source and the target language; the file has: {join_names(found) if found else 'none'}"
        raise InputError(message, path=path)
    source, target = source or _other(found, target, 0), target or _other(found, source, 1)
    if not all(any(_matches(language, tag) for tag in found) for language in (source, target)):
        raise _no_language(path, source, target, found)
    return source, target


def _other(found: Sequence[str], known: str, default: int) -> str:
    """Return the one of two languages that is not the known one."""
    return next((tag for tag in found if not _matches(known, tag)), "") if known else found[default]


def _terms_in(language: str, concept: Sequence[TbxTerm]) -> list[TbxTerm]:
    tags = [term.language for term in concept]
    closest = _closest(language, tags)
    chosen = tags[closest] if closest is not None else None
    return sorted((term for term in concept if term.language == chosen), key=lambda term: term.rank)


def _read_concepts(path: Path) -> Iterator[list[TbxTerm]]:
    with open_bytes(path) as file:
        for _, element in etree.iterparse(file, events=("end",), resolve_entities=False, no_network=True):
            if local_name(element) in CONCEPTS:
                yield [term for section in element if local_name(section) in SECTIONS for term in _terms(section, path)]
                element.clear()


def _terms(section: etree._Element, path: Path) -> Iterator[TbxTerm]:
    language = section.get(XML_LANG) or section.get("lang") or ""
    if not language:
        raise InputError(f"<{local_name(section)}> has no xml:lang", path=path, line=_line(section))
    for element in section.iter():
        if local_name(element) == "term":
            text = " ".join(plain_text(element, path).split())
            yield TbxTerm(text, language, _status(element), _line(element))


def _line(element: etree._Element) -> int:
    line: object = element.sourceline
    return line if isinstance(line, int) else 0


def _status(term: etree._Element) -> str:
    """Return the status of a term, which is a note beside the term or its group; "" without one."""
    holder = term.getparent()
    while holder is not None and local_name(holder) not in TERM_SECTIONS:
        holder = holder.getparent()
    notes = [] if holder is None else [note for note in holder.iter() if local_name(note) == "termNote"]
    return next((note.text or "" for note in notes if note.get("type") in STATUS_TYPES), "")


GLOSSARY_READERS: dict[str, Callable[[Path, str, str], Entries]] = {
    ".tsv": read_rows,
    ".csv": read_rows,
    ".tbx": read_tbx,
}
