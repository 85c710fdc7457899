"""The registry of readers, by file suffix. Add an entry to `READERS` to support another format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from mtloop.core.errors import InputError
from mtloop.core.log import logger
from mtloop.data.formats.corpus import Corpus, Pair, Reader, ReadRequest, reading_messages
from mtloop.data.formats.delimited import read_table
from mtloop.text.files import DECOMPRESSORS, format_suffix, held_in_memory


@dataclass(frozen=True, slots=True)
class LazyReader:
    """A reader that is imported on first use, because its parser is slow to import and most runs do not need it."""

    module: str
    name: str

    def __call__(self, request: ReadRequest, /) -> Iterator[Pair]:
        reader: Reader = getattr(import_module(self.module), self.name)
        return reader(request)


READERS: dict[str, Reader] = {
    ".tsv": read_table,
    ".csv": read_table,
    ".tmx": LazyReader("mtloop.data.formats.tmx", "read_tmx"),
    ".xlf": LazyReader("mtloop.data.formats.xliff", "read_xliff"),
    ".xliff": LazyReader("mtloop.data.formats.xliff", "read_xliff"),
    ".sdlxliff": LazyReader("mtloop.data.formats.segmented", "read_segmented_xliff"),
    ".mqxliff": LazyReader("mtloop.data.formats.segmented", "read_segmented_xliff"),
    ".ts": LazyReader("mtloop.data.formats.segmented", "read_ts"),
    ".po": LazyReader("mtloop.data.formats.gettext", "read_po"),
    ".mo": LazyReader("mtloop.data.formats.gettext", "read_mo"),
}


def read(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    source_lang: str | None = None,
    target_lang: str | None = None,
) -> Corpus:
    """Read the pairs of a file with the reader for its suffix (`READERS`). Decompress .gz, .xz and .zst.

    `columns` maps roles to the columns of a table: `{"source": "English", "target": "German"}`. The languages select
    the texts of a file that has several languages. A table may name its columns by language.
    """
    request = ReadRequest(Path(path), columns or {}, source_lang, target_lang)
    items = tuple(held_in_memory(_reader(request.path)(request), request.path, "pairs"))
    source, target = request.read_languages()
    skipped, rows, notes = dict(request.skipped), tuple(request.rows), tuple(request.notes)
    return Corpus(items, skipped, rows, request.path, source, target, notes)


def stream(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    source_lang: str | None = None,
    target_lang: str | None = None,
) -> Iterator[Pair]:
    """Like `read`, but yield the pairs one at a time. Tables and TMX files are never loaded into memory as a whole.

    A warning about skipped units is logged after the last pair.
    """
    request = ReadRequest(Path(path), columns or {}, source_lang, target_lang)
    return _with_warning(_reader(request.path)(request), request)


def declared_languages(
    path: str | Path, *, source_lang: str | None = None, target_lang: str | None = None
) -> tuple[str, str]:
    """Return the languages of the first pair: those of the file, else the requested ones, else ""."""
    request = ReadRequest(Path(path), {}, source_lang, target_lang)
    if _reader(request.path) is not read_table:  # a table declares no languages
        next(_reader(request.path)(request), None)
    return request.read_languages()


def _with_warning(pairs: Iterator[Pair], request: ReadRequest) -> Iterator[Pair]:
    yield from pairs
    for message in reading_messages(request.path, len(request.rows), request.skipped, request.notes):
        logger.warning(message)


def _reader(path: Path) -> Reader:
    kind = format_suffix(path)
    if kind in READERS:
        return READERS[kind]
    known, compressed = ", ".join(READERS), ", ".join(DECOMPRESSORS)
    message = f"unknown file type {kind!r}; known: {known}, optionally followed by {compressed}"
    hint = (
        "to join two plain text files, use: paste SOURCE TARGET > FILE.tsv, and add the header line source<tab>target"
    )
    raise InputError(f"{message}; {hint}", path=path)
