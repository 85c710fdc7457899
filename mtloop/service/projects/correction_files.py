"""Corrections in files: what an import reads, and what an export writes."""

from __future__ import annotations

import re
import tempfile
from collections.abc import AsyncIterator, Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from mtloop import __version__
from mtloop.core.errors import InputError
from mtloop.data.formats.corpus import Pair, ReadRequest
from mtloop.data.formats.readers import READERS
from mtloop.service.documents.text_parts import missing_parts
from mtloop.service.problems import ProblemError, invalid_request
from mtloop.service.project_log.client_store import MEMORY_DOCUMENT
from mtloop.service.project_log.correction_store import StoredCorrection
from mtloop.service.project_log.event_log import Confirmed
from mtloop.service.project_log.models import TranslationProject
from mtloop.service.projects.confirmation_rules import refusal
from mtloop.service.projects.project_bodies import SYNTAX, storable

MAX_IMPORTED = 100_000  # pairs of one file
MAX_NAME = 200  # characters of the name of a document, or of an external id
FORMATS = {syntax: name for name, syntax in SYNTAX.items()}
MAX_DETAIL = 300  # characters of a message about a file
NOT_STORABLE = "with characters that cannot be stored"
TYPES = {
    "tmx": ("application/x-tmx+xml", "application/xml", "text/xml"),
    "tsv": ("text/tab-separated-values", "text/plain"),
    "po": ("text/x-gettext-translation", "application/x-gettext", "text/x-po", "text/plain"),
}
ANY_TYPE = "application/octet-stream"
UNKNOWN_LANGUAGE = "und"
_OPTIONS = re.compile(
    r"(?:; (?:choose (?:one )?with|to use row numbers as ids, give:|give another)|, or name the columns:) --[^;]*"
)
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_FILLED_IN = re.compile(r"[%{]|\$\{")
REPLACEMENT = "\ufffd"
_TSV_HEAD = "source\ttarget\tmt\tdocument\tformat\texternal_id\n"
_COUNTER = re.compile(r"\d{1,6}")  # the number of a unit in its file: other files have the same numbers
_CELL_ENDS = str.maketrans("\t\n\r", "   ")


@dataclass(frozen=True)
class ImportedFile:
    """The confirmations of a file, and the number of units that were skipped, by reason.

    `missing_placeholders` is the number of confirmations that lack a placeholder of their source.
    """

    events: Sequence[Confirmed]
    skipped: dict[str, int]
    missing_placeholders: int = 0


@contextmanager
def upload_file(kind: str) -> Iterator[Path]:
    """The path of a file for an upload. The file is deleted at the end."""
    with tempfile.TemporaryDirectory(prefix="mtloop-import-") as folder:
        yield Path(folder) / f"file.{kind}"


def read_corrections(path: Path, project: TranslationProject) -> ImportedFile:
    """Read a file. What may not be learned is kept with the reason. A wrong file raises the problem 422."""
    languages = project.source_language or None, project.target_language or None
    request = ReadRequest(path, {}, *languages, keeps_elements=True)
    try:
        pairs = list(islice(READERS[path.suffix](request), MAX_IMPORTED + 1))
    except InputError as error:
        raise ProblemError(invalid_request(file_error(error, path))) from None
    if len(pairs) > MAX_IMPORTED:
        raise ProblemError(invalid_request(f"file: more than {MAX_IMPORTED:,} pairs; split it"))
    ids = _unit_ids(pairs)
    events = [event for pair in pairs if (event := _event(pair, project, ids)) is not None]
    skipped = dict(request.skipped)
    if len(events) < len(pairs):
        skipped[NOT_STORABLE] = len(pairs) - len(events)
    return ImportedFile(events, skipped, sum(map(_lacks_placeholder, events)))


def _lacks_placeholder(event: Confirmed) -> bool:
    """Whether a translation lacks a placeholder of its source that a program fills in, such as %d or {name}."""
    if event.refused or not _FILLED_IN.search(event.source):
        return False
    return any(map(_FILLED_IN.match, missing_parts(event.source, event.translation, event.syntax)))


def _unit_ids(pairs: Sequence[Pair]) -> frozenset[str]:
    """The ids of TMX units that name one unit each. Numbers of units in a file do not, nor ids of several sources."""
    sources = dict[str, set[str]]()
    for segment, _ in pairs:
        sources.setdefault(str(segment.context.get("tuid", "")), set()).add(segment.source)
    return frozenset(
        id
        for id, texts in sources.items()
        if len(texts) == 1 and 0 < len(id) <= MAX_NAME and not _COUNTER.fullmatch(id)
    )


def _event(pair: Pair, project: TranslationProject, ids: Container[str] = ()) -> Confirmed | None:
    """The confirmation of a pair. `ids` are those of TMX units that serve as external ids.

    None: a database cannot store it.
    """
    segment, truth = pair
    source, translation = segment.source, truth.references[0]
    proposal, document = str(segment.context.get("mt", "")), segment.document[:MAX_NAME]
    tuid = str(segment.context.get("tuid", ""))
    external_id = str(segment.context.get("external_id", ""))[:MAX_NAME] or (tuid if tuid in ids else "")
    syntax = SYNTAX.get(str(segment.context.get("format", "")), "plain")
    try:
        for text in (source, translation, proposal, document, external_id):
            storable(text)
    except ValueError:
        return None
    refused = refusal(source, translation, project.source_language, project.target_language)
    waits = project.review and not refused
    return Confirmed(source, translation, proposal, document, external_id, syntax, refused, waits, imported=True)


def file_error(error: InputError, path: Path) -> str:
    """The message of a reader, without the path and without options of the command line."""
    text = _OPTIONS.sub("", f"file{str(error).removeprefix(str(path))}")
    return text.encode(errors="replace").decode()[:MAX_DETAIL]


@dataclass(frozen=True)
class ExportFormat:
    """A format of exports: its media type, and what it writes before, for and after corrections."""

    media_type: str
    head: Callable[[TranslationProject], str]
    body: Callable[[TranslationProject, Iterable[StoredCorrection]], str]
    tail: str = ""


async def exported(
    project: TranslationProject, chosen: ExportFormat, parts: AsyncIterator[Sequence[StoredCorrection]]
) -> AsyncIterator[bytes]:
    """The bytes of an export, piece by piece."""
    yield chosen.head(project).encode()
    async for part in parts:
        yield chosen.body(project, part).encode()
    yield chosen.tail.encode()


def _tmx_head(project: TranslationProject) -> str:
    attributes = {
        "creationtool": "mtloop",
        "creationtoolversion": __version__,
        "segtype": "block",
        "o-tmf": "mtloop",
        "adminlang": "en",
        "srclang": project.source_language or UNKNOWN_LANGUAGE,
        "datatype": "plaintext",
    }
    written = " ".join(f"{name}={quoteattr(value)}" for name, value in attributes.items())
    first = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4">\n'
    return f"{first}<header {written}/>\n<body>\n"


def _tmx_body(project: TranslationProject, corrections: Iterable[StoredCorrection]) -> str:
    return "".join(_tmx_unit(project, one.event) for one in corrections)


def _tmx_unit(project: TranslationProject, event: Confirmed) -> str:
    properties = {"document": event.document, "x-mtloop-external-id": event.external_id}
    properties |= {"x-mtloop-format": _format(event)}
    written = "".join(
        f"<prop type={quoteattr(kind)}>{xml_text(text)}</prop>\n" for kind, text in properties.items() if text
    )
    texts = (
        f"<tuv xml:lang={quoteattr(language or UNKNOWN_LANGUAGE)}><seg>{xml_text(text)}</seg></tuv>\n"
        for language, text in (
            (project.source_language, event.source),
            (project.target_language, event.translation),
        )
    )
    return f"<tu{_tuid(event)}>\n{written}{''.join(texts)}</tu>\n"


def _tuid(event: Confirmed) -> str:
    """The attribute with the id of a unit. That of a memory's unit is without the name of the memory."""
    id = event.external_id.removeprefix(f"{event.document}/" if event.document.startswith(MEMORY_DOCUMENT) else "")
    return f" tuid={quoteattr(_NOT_IN_XML.sub(REPLACEMENT, id))}" if id else ""


def _format(event: Confirmed) -> str:
    """The format of an event; empty if it is plain text, as in most files."""
    return "" if event.syntax == "plain" else FORMATS[event.syntax]


def xml_text(text: str) -> str:
    """A text in XML. Characters that XML does not allow become U+FFFD.

    >>> xml_text("a < b\\r")
    'a &lt; b&#13;'
    """
    return escape(_NOT_IN_XML.sub(REPLACEMENT, text), {"\r": "&#13;"})


def _tsv_body(project: TranslationProject, corrections: Iterable[StoredCorrection]) -> str:
    return "".join("\t".join(map(tsv_cell, _tsv_row(one.event))) + "\n" for one in corrections)


def _tsv_row(event: Confirmed) -> tuple[str, ...]:
    return event.source, event.translation, event.proposal, event.document, _format(event), event.external_id


def tsv_cell(text: str) -> str:
    """A text in a cell of a TSV file, which cannot hold tabs and line ends: they become spaces.

    >>> tsv_cell("Save\\nall")
    'Save all'
    """
    return text.translate(_CELL_ENDS)


EXPORTS = {
    "tmx": ExportFormat("application/x-tmx+xml; charset=utf-8", _tmx_head, _tmx_body, "</body>\n</tmx>\n"),
    "tsv": ExportFormat("text/tab-separated-values; charset=utf-8", lambda project: _TSV_HEAD, _tsv_body),
}
