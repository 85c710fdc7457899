"""Read glossaries: TSV and CSV with two columns, and TBX (TermBase eXchange, ISO 30042, versions 2 and 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple, TypeAlias

from mtloop.core.errors import InputError
from mtloop.core.log import logger
from mtloop.core.plural import pluralise
from mtloop.data.formats.delimited import DelimitedTable, open_table
from mtloop.data.formats.xml_stream import StreamedElement, XmlGrammar, stream_units
from mtloop.data.formats.xml_text import check_root
from mtloop.data.languages import LanguageChoice, closeness, is_tag
from mtloop.data.writing_systems import is_language
from mtloop.text.files import format_suffix, held_in_memory, iter_lines
from mtloop.text.glossary import TOKEN, Glossary
from mtloop.text.language_codes import language_of
from mtloop.text.messages import join_names

TBX_ROOTS = ("martif", "tbx")
CONCEPTS, SECTIONS = {"termEntry", "conceptEntry"}, {"langSet", "langSec"}
TERM_SECTIONS = {"tig", "ntig", "termSec"}
GRAMMAR = XmlGrammar(CONCEPTS, SECTIONS | TERM_SECTIONS, {"term", "termNote"}, looks_inside=True)
STATUS_TYPES = {"administrativeStatus", "normativeAuthorization"}
FORBIDDEN = ("deprecatedTerm", "supersededTerm")  # the values are such as "deprecatedTerm-admn-sts"
PREFERRED = ("preferredTerm", "standardizedTerm")

SOURCE_WORDS = frozenset(
    {"source", "term", "word", "original", "quelle", "quellbegriff", "ausgangssprache", "begriff", "wort"}
    | {"source term", "source text", "source language"}
)
TARGET_WORDS = frozenset(
    {"target", "translation", "ziel", "zielbegriff", "zielsprache", "übersetzung"}
    | {"target term", "target text", "target language"}
)
_NAMES = """
ar=arabic,arabisch,العربية bg=bulgarian,bulgarisch,български ca=catalan,katalanisch,català
cs=czech,tschechisch,čeština da=danish,dänisch,dansk de=german,deutsch el=greek,griechisch,ελληνικά
en=english,englisch es=spanish,spanisch,español et=estonian,estnisch,eesti fa=persian,persisch,فارسی
fi=finnish,finnisch,suomi fr=french,französisch,français he=hebrew,hebräisch,עברית hi=hindi,हिन्दी
hr=croatian,kroatisch,hrvatski hu=hungarian,ungarisch,magyar id=indonesian,indonesisch it=italian,italienisch,italiano
ja=japanese,japanisch,日本語 ko=korean,koreanisch,한국어 lt=lithuanian,litauisch,lietuvių lv=latvian,lettisch,latviešu
nb=norwegian,norwegisch,norsk nl=dutch,niederländisch,nederlands pl=polish,polnisch,polski
pt=portuguese,portugiesisch,português ro=romanian,rumänisch,română ru=russian,russisch,русский
sk=slovak,slowakisch,slovenčina sl=slovenian,slowenisch,slovenščina sr=serbian,serbisch,српски
sv=swedish,schwedisch,svenska th=thai tr=turkish,türkisch,türkçe uk=ukrainian,ukrainisch,українська
vi=vietnamese,vietnamesisch zh=chinese,chinesisch,中文
"""
LANGUAGE_NAMES = {
    name: code for code, _, names in (one.partition("=") for one in _NAMES.split()) for name in names.split(",")
}


class TermEntry(NamedTuple):
    """A pair of terms, and the line it was read from."""

    source: str
    target: str
    line: int


Entries: TypeAlias = tuple[Iterable[TermEntry], str, str]
"""The entries of a file, and its source and target language; "" if unknown."""


def read_glossary(path: str | Path, source_lang: str = "", target_lang: str = "") -> Glossary:
    """Read a glossary by its suffix: .tsv, .csv or .tbx, also compressed.

    A table has the columns `source` and `target`, or columns with the names or codes of the languages, or no header
    line and the terms in its first two columns. CSV has commas, semicolons or tabs between the cells. The languages
    choose the terms of a TBX file that has several.

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
    table = open_table(path, _separator(path))
    if len(table.header) < 2:
        raise InputError("expected two columns, the term and its translation", path=path, line=1)
    columns = _columns(table, source_lang, target_lang)
    source, target = columns or (0, 1)
    first = [] if columns else [(1, list(table.header))]
    rows = chain(first, table.rows)
    entries = (TermEntry(cells[source].strip(), cells[target].strip(), line) for line, cells in rows)
    named = [_language(table.header[number]) if columns else "" for number in (source, target)]
    return entries, source_lang or named[0], target_lang or named[1]


def _separator(path: Path) -> str:
    """Return what separates the cells of a CSV file: the first of these that stands in all of its first lines."""
    lines = [line for line in islice(iter_lines(path), 20) if line.strip()]
    return next((one for one in ",;\t" if lines and all(one in line for line in lines)), ",")


def _columns(table: DelimitedTable, source_lang: str, target_lang: str) -> tuple[int, int] | None:
    """Return the columns of source and target by the names in the first line; None if that is no header."""
    names = [name.strip().lower() for name in table.header]
    if {"source", "target"} <= set(names):
        return names.index("source"), names.index("target")
    roles = [_role(name) for name in names[:2]]
    if not all(roles) or roles[0] == roles[1]:  # "word", "Wort" and "German", "Deutsch" are terms
        if all(roles):
            row = " and ".join(repr(cell) for cell in table.header[:2])
            logger.warning(f"{table.path}: {row} in the first line are a term; call them source and target if not")
        return None
    if "source" in roles or "target" in roles:
        is_turned = roles[0] == "target" or roles[1] == "source"
        return (1, 0) if is_turned else (0, 1)
    return _language_columns(table, source_lang, target_lang)


def _role(name: str) -> str:
    """Return what a cell of a header names: "source", "target" or a language; "" if it may be a term."""
    if name in SOURCE_WORDS:
        return "source"
    return "target" if name in TARGET_WORDS else language_of(_language(name))


def _language(name: str) -> str:
    """Return the tag of a language, given as a tag or by its name in English, in German or in itself; "" if unknown."""
    name = name.strip()
    if is_tag(name) and is_language(name):
        return name
    return LANGUAGE_NAMES.get(name.lower().partition("(")[0].strip(), "")


def _language_columns(table: DelimitedTable, source_lang: str, target_lang: str) -> tuple[int, int]:
    """Return the columns of two languages. Raise InputError if the table does not have both."""
    tags = [_language(name) for name in table.header]
    found = [_closest(language, tags) for language in (source_lang, target_lang)]
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
    concepts = held_in_memory(_read_concepts(path), path, "concepts")
    languages = list(dict.fromkeys(term.language for concept in concepts for term in concept))
    source_lang, target_lang = _choose_languages(path, source_lang, target_lang, languages)
    found = [_pairs(concept, source_lang, target_lang) for concept in concepts]
    if skipped := sum(next(_pairs(concept, source_lang, target_lang), None) is None for concept in concepts):
        logger.warning(f"{path}: {pluralise(skipped, 'concept')} without a term in both languages left out")
    return held_in_memory(chain.from_iterable(found), path, "terms"), source_lang, target_lang


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
    for concept in stream_units(path, GRAMMAR):
        yield [term for section in concept.children if section.name in SECTIONS for term in _terms(section, path)]


def _terms(section: StreamedElement, path: Path) -> Iterator[TbxTerm]:
    if not section.language:
        raise InputError(f"<{section.name}> has no xml:lang", path=path, line=section.line)
    for element in section.iter():
        if element.name == "term":
            yield TbxTerm(" ".join(element.text.split()), section.language, _status(element), element.line)


def _status(term: StreamedElement) -> str:
    """Return the status of a term, which is a note beside the term or its group; "" without one."""
    holder = term.parent
    while holder is not None and holder.name not in TERM_SECTIONS:
        holder = holder.parent
    notes = [] if holder is None else [note for note in holder.iter() if note.name == "termNote"]
    return next((note.text for note in notes if note.attributes.get("type") in STATUS_TYPES), "")


GLOSSARY_READERS: dict[str, Callable[[Path, str, str], Entries]] = {
    ".tsv": read_rows,
    ".csv": read_rows,
    ".tbx": read_tbx,
}
