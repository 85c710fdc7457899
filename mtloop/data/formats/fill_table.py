"""Tables, filled in: TSV and CSV with a source column and a target column. A cell keeps its quotes.

A column `status` or `state`, if there is one, tells which targets must be reviewed, and gets the mark for review. The
words are those that the column has, else "needs-review" and "translated".
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, TypeAlias

from mtloop.core.errors import InputError
from mtloop.core.types import Fields
from mtloop.data.formats.corpus import ReadRequest
from mtloop.data.formats.delimited import (
    SEPARATORS,
    DelimitedTable,
    column_indices,
    column_language,
    columns_by_language,
    open_table,
)
from mtloop.data.formats.filling import (
    BilingualFile,
    Edit,
    FileUnit,
    Filling,
    OpenRequest,
    UnitState,
    check_targets,
    splice,
)
from mtloop.data.formats.unit_groups import with_unique_ids
from mtloop.text.files import format_suffix

STATUS_COLUMNS = ("status", "state")
REVIEW_WORDS = ("needs-review", "needs review", "needs-review-translation", "fuzzy", "unfinished", "draft", "review")
DONE_WORDS = ("translated", "approved", "final", "reviewed", "confirmed", "done", "signed-off")
LOCKED_WORDS = ("locked", "do not translate", "obsolete")

_TSV_CELL = re.compile(rb"[^\t\n]*")
_CSV_CELLS = {one: re.compile(rb'"(?:[^"]|"")*+"|[^' + one.encode() + rb"\n]*") for one in SEPARATORS}
_NOT_IN_TSV = re.compile("[\t\n\r\0]")
_NOT_IN_CSV = re.compile("\0")

Span: TypeAlias = tuple[int, int]


def open_fillable_table(request: OpenRequest) -> BilingualFile:
    """Open a TSV or CSV file. Raise InputError if it has no column for the targets."""
    content, table = request.content(), open_table(request.path)
    reading = ReadRequest(request.path, request.columns, request.source_lang, request.target_lang)
    by_language = columns_by_language(table, reading)
    columns = _columns(table, by_language | dict(request.columns))
    source, target = (column_language(role, by_language, reading) for role in ("source", "target"))
    languages = source or request.source_lang or "", target or request.target_lang or ""
    rows = [cells for _, cells in table.rows]
    return FillableTable(request.path, content, rows, columns, languages, table.separator)


@dataclass(frozen=True)
class FillableTable:
    """A table to be filled in. `columns` are the indices of the columns by role; "status" is one, if there is such."""

    path: Path
    content: bytes
    rows: Sequence[Sequence[str]]
    columns: Mapping[str, int]
    languages: tuple[str, str]
    separator: str
    notes: ClassVar[Sequence[str]] = ()

    @property
    def marks_review(self) -> bool:
        """Whether the table has a column for the mark."""
        return "status" in self.columns

    @cached_property
    def units(self) -> Sequence[FileUnit]:
        return list(with_unique_ids(self._unit(number, cells) for number, cells in enumerate(self.rows, start=1)))

    def filled(self, targets: Mapping[int, Filling]) -> bytes:
        """Return the table with these targets filled in."""
        forbidden = _NOT_IN_CSV if self._is_csv else _NOT_IN_TSV
        check_targets(self, targets, lambda text, _: self._checked(text, forbidden))
        return splice(self.content, self._edits(targets) if targets else [])

    def _edits(self, targets: Mapping[int, Filling]) -> Iterator[Edit]:
        for index, spans in enumerate(_row_spans(self.content, self.separator if self._is_csv else "")):
            if index in targets:
                yield self._edit(spans, "target", targets[index].text)
                if self.marks_review:
                    yield self._edit(spans, "status", self._words[targets[index].approved])

    def _edit(self, spans: Sequence[Span], role: str, text: str) -> Edit:
        start, end = spans[self.columns[role]]
        if not self._is_csv:
            return Edit(start, end, self._checked(text, _NOT_IN_TSV).encode())
        first, last = spans[self.columns["source"]]
        newline = "\r\n" if b"\r\n" in self.content[first:last] else "\n"
        new = self._checked(text, _NOT_IN_CSV).replace("\r\n", "\n").replace("\n", newline)
        quoted = self.content[start : start + 1] == b'"' or any(sign in new for sign in f'"\r\n{self.separator}')
        return Edit(start, end, ('"' + new.replace('"', '""') + '"' if quoted else new).encode())

    def _checked(self, text: str, forbidden: re.Pattern[str]) -> str:
        if found := forbidden.search(text):
            raise InputError(f"a cell cannot hold {found[0]!r}, as in {text[:60]!r}; remove it", path=self.path)
        return text

    def _unit(self, number: int, cells: Sequence[str]) -> FileUnit:
        row = {role: cells[index] for role, index in self.columns.items()}
        context: Fields = {role: row[role] for role in ("document", "mt") if role in row}
        state = _state(row["source"], row["target"], row.get("status", "").strip().lower())
        return FileUnit(row.get("id") or str(number), row["source"], row["target"], state, context)

    @cached_property
    def _is_csv(self) -> bool:
        return format_suffix(self.path) == ".csv"

    @cached_property
    def _words(self) -> tuple[str, str]:
        """The words for targets that must be reviewed, and for those that are approved."""
        used = dict.fromkeys(cells[self.columns["status"]] for cells in self.rows)
        review = (word for word in used if word.strip().lower() in REVIEW_WORDS)
        done = (word for word in used if word.strip().lower() in DONE_WORDS)
        return next(review, REVIEW_WORDS[0]), next(done, DONE_WORDS[0])


def _columns(table: DelimitedTable, named: Mapping[str, str]) -> dict[str, int]:
    try:
        columns = column_indices(table, named)
    except InputError as error:
        message = f"{error}; add an empty column for the translations, or name the columns: --columns source=A,target=B"
        raise InputError(message) from error
    status = [index for index, name in enumerate(table.header) if name.strip().lower() in STATUS_COLUMNS]
    return columns | ({"status": status[0]} if status and status[0] not in columns.values() else {})


def _state(source: str, target: str, status: str) -> UnitState:
    if not source.strip() or status in LOCKED_WORDS:
        return UnitState.LOCKED
    if not target.strip():
        return UnitState.UNTRANSLATED
    return UnitState.FUZZY if status in REVIEW_WORDS else UnitState.TRANSLATED


def _row_spans(content: bytes, separator: str) -> Iterator[list[Span]]:
    """Yield the places of the cells of each row, without the header. `separator`: of a CSV file."""
    rows = _rows(content, *((_CSV_CELLS[separator], separator.encode()) if separator else (_TSV_CELL, b"\t")))
    next(rows)
    return rows


def _rows(content: bytes, cell: re.Pattern[bytes], delimiter: bytes) -> Iterator[list[Span]]:
    position, row = len(codecs.BOM_UTF8) if content.startswith(codecs.BOM_UTF8) else 0, list[Span]()
    while position < len(content) or row:
        found = cell.match(content, position)
        assert found is not None  # it also matches nothing
        start, end = found.span()
        position = end + 1 if content.startswith(b"\r", end) else end
        is_last = not content.startswith(delimiter, position)
        row.append((start, end - 1 if is_last and content[start:end].endswith(b"\r") else end))
        position += 1
        if is_last:
            yield row
            row = []
