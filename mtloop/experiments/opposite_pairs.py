"""Pairs of opposites: a lesson, and a sentence that is almost the same and means something else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mtloop.core.errors import InputError, UnknownName
from mtloop.data.formats.delimited import DelimitedTable, open_table
from mtloop.metrics.collateral import words_of
from mtloop.text.files import format_suffix

PACKAGED = Path(__file__).with_name("opposites.en-de.tsv")
PACKAGED_LANGUAGES = "en", "de"
TEXTS = "lesson_source", "lesson_target", "opposite_source", "opposite_target"
LABELS = "kind", "part"


@dataclass(frozen=True)
class OppositePair:
    """A lesson and its opposite, each with its reference. `kind` says what differs, such as `negation`.

    `part` is the part of the set: settings are chosen on one, results are reported on another.
    """

    lesson_source: str
    lesson_target: str
    opposite_source: str
    opposite_target: str
    kind: str = ""
    part: str = ""


def read_pairs(path: str | Path = PACKAGED, part: str | None = None) -> list[OppositePair]:
    """Read the pairs of a table, all or those of one part. The columns `kind` and `part` may be missing.

    Raises:
        InputError: The table cannot be read, a text is missing, a pair occurs twice, or its two sides are equal.

    >>> len(read_pairs())
    240
    """
    path = Path(path)
    if format_suffix(path) not in (".tsv", ".csv"):
        raise InputError(f"expected a table, .tsv or .csv, with the columns {', '.join(TEXTS)}", path=path)
    table = open_table(path)
    pairs = list(_pairs(table))
    if not pairs:
        raise InputError("the table has no pairs", path=path)
    if part is None:
        return pairs
    if "part" not in table.header:
        raise InputError("the table has no column 'part'; leave out --part", path=path, line=1)
    found = [pair for pair in pairs if pair.part == part]
    if not found:
        raise UnknownName("part", part, {pair.part for pair in pairs}, path=path)
    return found


def _pairs(table: DelimitedTable) -> Iterator[OppositePair]:
    columns = {name: table.index(name) for name in TEXTS}
    columns |= {name: table.index(name) for name in LABELS if name in table.header}
    lines: dict[tuple[str, ...], int] = {}
    for line, cells in table.rows:
        texts = {name: cells[column].strip() for name, column in columns.items()}
        if problem := _problem(texts):
            raise InputError(problem, path=table.path, line=line)
        first = lines.setdefault(tuple(texts[name] for name in TEXTS), line)
        if first != line:
            raise InputError(f"the same pair is on line {first}; remove one", path=table.path, line=line)
        yield OppositePair(**texts)


def _problem(texts: Mapping[str, str]) -> str:
    """Return what is wrong with a pair; empty if nothing is."""
    empty = [name for name in TEXTS if not texts[name]]
    if empty:
        return f"{empty[0]} is empty; write a text, or remove the pair"
    for side in ("source", "target"):
        if words_of(texts[f"lesson_{side}"]) == words_of(texts[f"opposite_{side}"]):
            return f"lesson_{side} and opposite_{side} have the same words; expected two different texts"
    return ""
