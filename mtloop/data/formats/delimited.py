"""Tables with a header line: TSV and CSV.

In TSV a tab always parts two cells and a quote is a quote: sentences are full of lone ones. CSV has quoting.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from mtloop.core.errors import InputError, UnknownName
from mtloop.core.types import Fields
from mtloop.data.formats.corpus import Pair, Request, Unit, fit
from mtloop.text.files import LONGEST_LINE, kind_of, lines
from mtloop.text.messages import listed

Row: TypeAlias = tuple[int, list[str]]

ROLES: dict[str, tuple[str, ...]] = {
    "source": ("source",),
    "target": ("target", "post_edit"),
    "document": ("document",),
    "mt": ("mt",),
    "id": ("id",),
}
"""What a column can be to a reader, and the names it goes by when nobody says; the first found wins."""


@dataclass(frozen=True, slots=True)
class Table:
    """A header, and rows that come with the number of the line they begin on."""

    path: Path
    header: tuple[str, ...]
    rows: Iterator[Row]

    def index(self, *names: str) -> int:
        """Where the first of these columns that is there stands."""
        for name in names:
            if self.header.count(name) > 1:
                raise InputError(f"two columns are called {name!r}; rename one", path=self.path, line=1)
            if name in self.header:
                return self.header.index(name)
        wanted = " or ".join(repr(name) for name in names)
        message = f"no column {wanted}; columns here: {listed(self.header)} (is the header line missing?)"
        raise InputError(message, path=self.path, line=1)


def open_table(path: str | Path) -> Table:
    """The header is read at once, the rows as they are asked for."""
    path = Path(path)
    rows = _csv(path) if kind_of(path) == ".csv" else _tsv(path)
    _, header = next(rows)
    return Table(path, tuple(header), _even(rows, header, path))


def read_table(request: Request) -> Iterator[Pair]:
    """The pairs of a table. Columns are found by their usual names (`ROLES`) or by those in `request.columns`."""
    table = open_table(request.path)
    return fit(_units(table, _places(table, request.columns)), request)


def parse_columns(text: str) -> dict[str, str]:
    """What a user writes on the command line. An empty name says that there is no such column.

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


def _places(table: Table, columns: Mapping[str, str]) -> dict[str, int]:
    asked = {_role(role): name for role, name in columns.items()}
    places = {role: _place(table, role, asked.get(role)) for role in ROLES}
    return {role: place for role, place in places.items() if place is not None}


def _place(table: Table, role: str, name: str | None) -> int | None:
    names = ROLES[role] if name is None else (name,)
    absent = name == "" or (name is None and not set(names) & set(table.header))
    return None if absent and role not in ("source", "target") else table.index(*names)


def _units(table: Table, places: Mapping[str, int]) -> Iterator[Unit]:
    seen: dict[str, int] = {}
    for line, cells in table.rows:
        row = {role: cells[place] for role, place in places.items()}
        if "id" in row:
            _check_id(row["id"], seen, table.path, line)
        context: Fields = {role: row[role] for role in ("document", "mt") if role in row}
        yield Unit(row["source"], row["target"], context, id=row.get("id", ""))


def _check_id(name: str, seen: dict[str, int], path: Path, line: int) -> None:
    if not name:
        raise InputError("the id is empty; number the rows instead with: --columns id=", path=path, line=line)
    if name in seen:
        message = f"id {name!r} stands on line {seen[name]} already; number the rows instead with: --columns id="
        raise InputError(message, path=path, line=line)
    seen[name] = line


def _even(rows: Iterator[Row], header: Sequence[str], path: Path) -> Iterator[Row]:
    for line, cells in rows:
        if len(cells) != len(header):
            message = f"expected {len(header)} cells ({listed(header)}), found {len(cells)}"
            raise InputError(message, path=path, line=line)
        yield line, cells


def _tsv(path: Path) -> Iterator[Row]:
    blank = 0  # empty lines at the end are the editor's, not the table's
    for number, line in enumerate(lines(path), start=1):
        if not line:
            blank += 1
            continue
        yield from ((number - back, [""]) for back in range(blank, 0, -1))
        blank = 0
        yield number, line.split("\t")


def _csv(path: Path) -> Iterator[Row]:
    # The limit is the interpreter's; it guards against a quote that nobody closes, as ours does.
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    reader = csv.reader((line + "\n" for line in lines(path)), strict=True)
    begin = 1
    try:
        for cells in reader:
            yield begin, cells
            begin = reader.line_num + 1
    except csv.Error as error:
        message = f"not CSV: {error}; expected commas between cells, and quotes inside a quoted cell doubled"
        raise InputError(message, path=path, line=begin) from error
