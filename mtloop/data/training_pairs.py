"""Training text: source and target, as plain pairs, whatever they are kept in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mtloop.core.errors import InputError
from mtloop.data.formats.delimited import parse_columns
from mtloop.data.formats.readers import stream
from mtloop.text.files import kind_of, lines


def text_pairs(path: Path, columns: str = "") -> Iterator[tuple[str, str]]:
    """Every pair of a file, one at a time; a table of two columns needs no header line."""
    if not columns and kind_of(path) == ".tsv" and _headless(path):
        return _two_columns(path)
    return (
        (segment.source, truth.references[0])
        for segment, truth in stream(path, columns=parse_columns(columns))
        if truth is not None
    )


def _headless(path: Path) -> bool:
    """A table of two columns whose first line does not name them."""
    first = next(lines(path)).split("\t")
    return len(first) == 2 and "source" not in first


def _two_columns(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines(path), start=1):
        cells = line.split("\t")
        if len(cells) != 2:
            message = f"{len(cells)} column{'s' * (len(cells) != 1)}; expected two, source and target"
            raise InputError(message, path=path, line=number)
        yield cells[0], cells[1]
