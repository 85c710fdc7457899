"""Ratings as a long table: one row per system and segment, with scores, texts and other columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from mtloop.core.errors import InputError
from mtloop.data.formats.delimited import DelimitedTable, open_table
from mtloop.data.ratings.builder import HUMAN, RatingsBuilder
from mtloop.data.ratings.numbers import MISSING, looks_like_number, parse_number
from mtloop.text.messages import join_names

SEGMENT = ("segment", "seg_id", "segment_id")
HUMAN_SCORES = ("score", "raw", "z")
"""Default columns of human scores. The first one that the table has is used."""

_NOT_METRICS = {"", "system", "lp", "source", "hypothesis", "document", "n", "n_judgments", *SEGMENT, *HUMAN_SCORES}


def read_long(path: Path, score: str | None = None, language_pair: str | None = None) -> RatingsBuilder:
    """Read the rows of one language pair. `score` selects the column of human scores, see `HUMAN_SCORES`."""
    table = open_table(path)
    system, segment = table.header[table.index("system")], table.header[table.index(*SEGMENT)]
    builder, columns = RatingsBuilder(), _ScoreColumns(table, score)
    for line, row in _rows_of_pair(table, language_pair):
        if not row[system] or not row[segment]:
            raise InputError("the row has no system or no segment", path=path, line=line)
        _add_texts(builder, row[system], row[segment], row)
        for column, value in columns.scores(row, line):
            builder.add(column, row[system], row[segment], value)
    builder.notes += columns.notes()
    return builder


class _ScoreColumns:
    """The columns of scores. A column with an unknown name is a metric if its first non-empty cell is a number."""

    def __init__(self, table: DelimitedTable, score: str | None) -> None:
        self._path = table.path
        human = _human_column(table, score)
        self._scores = {human: HUMAN} if human else {}
        known = {*_NOT_METRICS, *self._scores}
        self._undecided = [name for name in table.header if name not in known and not name.startswith("reference")]
        self._not_numeric: list[str] = []

    def scores(self, row: Mapping[str, str], line: int) -> Iterator[tuple[str, float]]:
        for name in [name for name in self._undecided if row[name] not in MISSING]:
            self._undecided.remove(name)
            if looks_like_number(row[name]):
                self._scores[name] = name
            else:
                self._not_numeric.append(name)
        for name, column in self._scores.items():
            if row[name] not in MISSING:
                yield column, parse_number(row[name], self._path, line, name)

    def notes(self) -> list[str]:
        unused = self._not_numeric + self._undecided
        return [f"columns without numbers left out: {join_names(unused)}"] if unused else []


def _human_column(table: DelimitedTable, score: str | None) -> str | None:
    if score is not None:
        return table.header[table.index(score)]
    return next((name for name in HUMAN_SCORES if name in table.header), None)


def _rows_of_pair(table: DelimitedTable, language_pair: str | None) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a language pair. If `language_pair` is None, raise InputError at a second language pair."""
    found: set[str] = set()
    for line, cells in table.rows:
        row = dict(zip(table.header, cells, strict=True))
        found.add(row.get("lp", language_pair or ""))
        if language_pair is None and len(found) > 1:
            message = f"several language pairs ({join_names(sorted(found))}); choose one with --language-pair"
            raise InputError(message, path=table.path, line=line)
        if language_pair in (None, row.get("lp", language_pair)):
            yield line, row
    if found and language_pair is not None and language_pair not in found:
        message = f"no rows of --language-pair {language_pair!r}; the file has: {join_names(sorted(found))}"
        raise InputError(message, path=table.path)


def _add_texts(builder: RatingsBuilder, system: str, segment: str, row: Mapping[str, str]) -> None:
    builder.add_cell(system, segment)
    if source := row.get("source"):
        builder.add_text(builder.sources, segment, source)
    if document := row.get("document"):
        builder.add_text(builder.documents, segment, document)
    if hypothesis := row.get("hypothesis"):
        builder.add_text(builder.hypotheses[system], segment, hypothesis)
    references = tuple(text for name, text in row.items() if name.startswith("reference") and text)
    if references:
        builder.references.setdefault(segment, references)
