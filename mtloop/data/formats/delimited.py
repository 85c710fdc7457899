"""Tables with a header line: TSV and CSV.

In TSV every tab separates two cells and quotes have no special meaning, because sentences often contain unpaired
quotes. CSV has quoting, and commas, semicolons or tabs between its cells: those of the header line.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from mtloop.core.errors import InputError, UnknownName
from mtloop.core.types import Fields
from mtloop.data.formats.corpus import Pair, ReadRequest, TranslationUnit, to_pairs
from mtloop.data.languages import LanguageChoice, closeness, is_tag, normalise_tag
from mtloop.data.writing_systems import is_language
from mtloop.text.files import MAX_LINE_BYTES, format_suffix, iter_lines
from mtloop.text.messages import join_names

Row: TypeAlias = tuple[int, list[str]]

SEPARATORS = ",;\t"
"""What may stand between the cells of a CSV file. Where comma is the decimal sign, spreadsheets write semicolons."""
_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs"}
_QUOTED = re.compile(r'"(?:[^"]|"")*+"')

ROLES: dict[str, tuple[str, ...]] = {
    "source": ("source",),
    "target": ("target", "post_edit"),
    "document": ("document",),
    "mt": ("mt",),
    "id": ("id",),
    "format": ("format",),
    "external_id": ("external_id",),
}
"""The column roles, and the default column names of each role. The first name found in the header is used."""


OWN = ("format", "external_id")  # of an export of a project; an empty cell says nothing
IN_CONTEXT = ("document", "mt", *OWN)


@dataclass(frozen=True, slots=True)
class DelimitedTable:
    """A header, and rows of (line number, cells). The line number is that of the first line of the row."""

    path: Path
    header: tuple[str, ...]
    rows: Iterator[Row]
    separator: str = "\t"

    def index(self, *names: str) -> int:
        """Return the index of the first of these columns that the table has. Raise InputError if it has none."""
        for name in names:
            if self.header.count(name) > 1:
                raise InputError(f"two columns have the name {name!r}; rename one", path=self.path, line=1)
            if name in self.header:
                return self.header.index(name)
        wanted = " or ".join(repr(name) for name in names)
        message = f"no column {wanted}; the file has: {join_names(self.header)} (is the header line missing?)"
        raise InputError(message, path=self.path, line=1)


def open_table(path: str | Path, separator: str = "") -> DelimitedTable:
    """Open a table. The header is read immediately, the rows are read lazily.

    `separator` is that of a CSV file; "": that of its header line.
    """
    path = Path(path)
    separator = (separator or _separator(path)) if format_suffix(path) == ".csv" else "\t"
    rows = _csv(path, separator) if format_suffix(path) == ".csv" else _tsv(path)
    _, header = next(rows, (0, None))
    if header is None:
        raise InputError("the table has no header line", path=path)
    return DelimitedTable(path, tuple(header), _check_widths(rows, header, path), separator)


def read_table(request: ReadRequest) -> Iterator[Pair]:
    """Return the pairs of a table.

    Columns are found by `request.columns`, else by their default names (`ROLES`), else by the requested languages. A
    column that has the name of a language declares it, if no language was requested.
    """
    table = open_table(request.path)
    by_language = columns_by_language(table, request)
    indices = column_indices(table, by_language | dict(request.columns))
    source, target = (column_language(role, by_language, request) for role in ("source", "target"))
    return to_pairs(_units(table, indices, (source, target)), request)


def parse_columns(text: str) -> dict[str, str]:
    """Parse the value of --columns. An empty name means that the table has no such column.

    >>> parse_columns("source=English,target=German")
    {'source': 'English', 'target': 'German'}
    """
    columns: dict[str, str] = {}
    for part in text.split(",") if text.strip() else ():
        role, equals, name = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise InputError(f"columns {text!r}: {part!r} is not ROLE=NAME; try: source=English,target=German")
        if role in columns:
            raise InputError(f"columns {text!r}: {role} is given twice")
        columns[_role(role)] = name
    return columns


def _role(role: str) -> str:
    if role not in ROLES:
        raise UnknownName("column role", role, ROLES)
    return role


def columns_by_language(table: DelimitedTable, request: ReadRequest) -> dict[str, str]:
    """The names of columns such as "en" and "de-DE", for roles that neither the request nor a default name decides."""
    tags = [name for name in table.header if is_tag(name) and name not in ROLES]
    found: dict[str, str] = {}
    for role, language in (("source", request.source_lang), ("target", request.target_lang)):
        decided = role in request.columns or set(ROLES[role]) & set(table.header)
        if language and not decided and any(map(LanguageChoice(language).matches, tags)):
            found[role] = max(tags, key=partial(closeness, language))
    return found


def column_language(role: str, by_language: Mapping[str, str], request: ReadRequest) -> str:
    """Return the language of a column that is named by its language; "" if its name says nothing, such as "mt"."""
    requested = {"source": request.source_lang, "target": request.target_lang}[role]
    named = "" if requested else request.columns.get(role, "")
    declared = named if is_tag(named) and is_language(named) and named not in ROLES else ""
    return normalise_tag(by_language.get(role, declared))


def column_indices(table: DelimitedTable, columns: Mapping[str, str]) -> dict[str, int]:
    requested = {_role(role): name for role, name in columns.items()}
    indices = {role: _column_index(table, role, requested.get(role)) for role in ROLES}
    return {role: index for role, index in indices.items() if index is not None}


def _column_index(table: DelimitedTable, role: str, name: str | None) -> int | None:
    names = ROLES[role] if name is None else (name,)
    absent = name == "" or (name is None and not set(names) & set(table.header))
    return None if absent and role not in ("source", "target") else table.index(*names)


def _units(table: DelimitedTable, indices: Mapping[str, int], languages: tuple[str, str]) -> Iterator[TranslationUnit]:
    seen: dict[str, int] = {}
    for line, cells in table.rows:
        row = {role: cells[index] for role, index in indices.items()}
        if "id" in row:
            _check_id(row["id"], seen, table.path, line)
        context: Fields = {role: row[role] for role in IN_CONTEXT if role in row and (row[role] or role not in OWN)}
        yield TranslationUnit(row["source"], row["target"], context, id=row.get("id", ""), languages=languages)


def _check_id(name: str, seen: dict[str, int], path: Path, line: int) -> None:
    if not name:
        raise InputError("the id is empty; to use row numbers as ids, give: --columns id=", path=path, line=line)
    if name in seen:
        message = f"id {name!r} is already used on line {seen[name]}; to use row numbers as ids, give: --columns id="
        raise InputError(message, path=path, line=line)
    seen[name] = line


def _check_widths(rows: Iterator[Row], header: Sequence[str], path: Path) -> Iterator[Row]:
    for line, cells in rows:
        if len(cells) != len(header):
            message = f"expected {len(header)} cells ({join_names(header)}), found {len(cells)}"
            raise InputError(message, path=path, line=line)
        yield line, cells


def _separator(path: Path) -> str:
    """Return what stands between the cells of the first line of a CSV file."""
    unquoted = _QUOTED.sub("", next(iter(islice(iter_lines(path), 1)), ""))
    return next((one for one in SEPARATORS if one in unquoted), SEPARATORS[0])


def _tsv(path: Path) -> Iterator[Row]:
    blank = 0  # empty lines at the end of the file are ignored: editors add them
    for number, line in enumerate(iter_lines(path), start=1):
        if not line:
            blank += 1
            continue
        yield from ((number - back, [""]) for back in range(blank, 0, -1))
        blank = 0
        yield number, line.split("\t")


def _csv(path: Path, separator: str) -> Iterator[Row]:
    # The limit is global to the interpreter. It protects against unclosed quotes, and so does our own limit.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE_BYTES))
    reader = csv.reader((line + "\n" for line in iter_lines(path)), strict=True, delimiter=separator)
    start = 1
    try:
        for cells in reader:
            yield start, cells
            start = reader.line_num + 1
    except csv.Error as error:
        message = (
            f"not CSV: {error}; expected {_NAMES[separator]} between cells, and doubled quotes inside a quoted cell"
        )
        raise InputError(message, path=path, line=start) from error
