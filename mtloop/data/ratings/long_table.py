"""Ratings as a long table: a row for what one system said of one segment, with whatever is known about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from mtloop.core.errors import InputError
from mtloop.data.formats.delimited import Table, open_table
from mtloop.data.ratings.builder import HUMAN, RatingsBuilder
from mtloop.data.ratings.numbers import MISSING, looks_like_number, number
from mtloop.text.messages import listed

SEGMENT = ("segment", "seg_id", "segment_id")
HUMAN_SCORES = ("score", "raw", "z")
"""Columns of human scores; the first of them that is there is read, if none is asked for."""

_NO_METRICS = {"", "system", "lp", "source", "hypothesis", "document", "n", "n_judgments", *SEGMENT, *HUMAN_SCORES}


def read_long(path: Path, score: str | None = None, lp: str | None = None) -> RatingsBuilder:
    """Collect the rows of one language pair."""
    table = open_table(path)
    system, segment = table.header[table.index("system")], table.header[table.index(*SEGMENT)]
    sheet, columns = RatingsBuilder(), _Columns(table, score)
    for line, row in _of_pair(table, lp):
        if not row[system] or not row[segment]:
            raise InputError("a row without a system or a segment", path=path, line=line)
        _add_texts(sheet, row[system], row[segment], row)
        for column, value in columns.scores(row, line):
            sheet.add(column, row[system], row[segment], value)
    sheet.notes += columns.notes()
    return sheet


class _Columns:
    """Which column is what; of those without a known name, the first cell says whether it holds numbers."""

    def __init__(self, table: Table, score: str | None) -> None:
        self._path = table.path
        human = _human(table, score)
        self._known = {human: HUMAN} if human else {}
        named = {*_NO_METRICS, *self._known}
        self._open = [name for name in table.header if name not in named and not name.startswith("reference")]
        self._words: list[str] = []

    def scores(self, row: Mapping[str, str], line: int) -> Iterator[tuple[str, float]]:
        for name in [name for name in self._open if row[name] not in MISSING]:
            self._open.remove(name)
            if looks_like_number(row[name]):
                self._known[name] = name
            else:
                self._words.append(name)
        for name, column in self._known.items():
            if row[name] not in MISSING:
                yield column, number(row[name], self._path, line, name)

    def notes(self) -> list[str]:
        unused = self._words + self._open
        return [f"columns without numbers left out: {listed(unused)}"] if unused else []


def _human(table: Table, score: str | None) -> str | None:
    if score is not None:
        return table.header[table.index(score)]
    return next((name for name in HUMAN_SCORES if name in table.header), None)


def _of_pair(table: Table, lp: str | None) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of the language pair asked for; if none was, there has to be only one."""
    there: set[str] = set()
    for line, cells in table.rows:
        row = dict(zip(table.header, cells, strict=True))
        there.add(row.get("lp", lp or ""))
        if lp is None and len(there) > 1:
            message = f"a second language pair ({listed(sorted(there))}); choose one with lp"
            raise InputError(message, path=table.path, line=line)
        if lp in (None, row.get("lp", lp)):
            yield line, row
    if there and lp is not None and lp not in there:
        raise InputError(f"no rows of {lp!r}; language pairs here: {listed(sorted(there))}", path=table.path)


def _add_texts(sheet: RatingsBuilder, system: str, segment: str, row: Mapping[str, str]) -> None:
    sheet.see(system, segment)
    if source := row.get("source"):
        sheet.say(sheet.sources, segment, source)
    if document := row.get("document"):
        sheet.say(sheet.documents, segment, document)
    if hypothesis := row.get("hypothesis"):
        sheet.say(sheet.hypotheses[system], segment, hypothesis)
    references = tuple(text for name, text in row.items() if name.startswith("reference") and text)
    if references:
        sheet.references.setdefault(segment, references)
