"""Which reader reads which file. A plain dict: add to it to read another format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from mtloop.core.errors import InputError
from mtloop.data.formats.corpus import Corpus, Pair, Reader, Request
from mtloop.data.formats.delimited import read_table
from mtloop.text.files import UNPACK, kind_of


@dataclass(frozen=True, slots=True)
class Late:
    """A reader that is imported when it first reads: its parser is heavy, and most runs need none of them."""

    module: str
    name: str

    def __call__(self, request: Request, /) -> Iterator[Pair]:
        reader: Reader = getattr(import_module(self.module), self.name)
        return reader(request)


READERS: dict[str, Reader] = {
    ".tsv": read_table,
    ".csv": read_table,
    ".tmx": Late("mtloop.data.formats.tmx", "read_tmx"),
    ".xlf": Late("mtloop.data.formats.xliff", "read_xliff"),
    ".xliff": Late("mtloop.data.formats.xliff", "read_xliff"),
    ".po": Late("mtloop.data.formats.gettext", "read_po"),
    ".mo": Late("mtloop.data.formats.gettext", "read_mo"),
}


def read(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    source_lang: str | None = None,
    target_lang: str | None = None,
) -> Corpus:
    """The pairs of a file, by the reader for its suffix (`READERS`), unpacked if it ends in .gz, .xz or .zst.

    `columns` names the columns of a table: `{"source": "English", "target": "German"}`. The languages choose among
    those in a TMX or XLIFF file; other formats name none.
    """
    request = Request(Path(path), columns or {}, source_lang, target_lang)
    items = tuple(_reader(request.path)(request))
    return Corpus(items, dict(request.skipped), tuple(request.rows))


def stream(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    source_lang: str | None = None,
    target_lang: str | None = None,
) -> Iterator[Pair]:
    """The same pairs one at a time, for files that do not fit into memory (tables and TMX are never held whole)."""
    request = Request(Path(path), columns or {}, source_lang, target_lang)
    return _reader(request.path)(request)


def _reader(path: Path) -> Reader:
    kind = kind_of(path)
    if kind in READERS:
        return READERS[kind]
    known, packed = ", ".join(READERS), ", ".join(UNPACK)
    message = f"unknown kind of file {kind!r}; known: {known}, each also with {packed} behind"
    hint = (
        "two files of plain text become one with: paste SOURCE TARGET (and a first line source<tab>target) > FILE.tsv"
    )
    raise InputError(f"{message}; {hint}", path=path)
