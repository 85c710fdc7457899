"""Read training data as plain (source, target) pairs from any supported file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mtloop.core.errors import InputError
from mtloop.data.formats.delimited import parse_columns
from mtloop.data.formats.readers import stream
from mtloop.text.files import format_suffix, iter_lines


def text_pairs(path: Path, columns: str = "") -> Iterator[tuple[str, str]]:
    """Return an iterator over the pairs of a file. A TSV file of two columns needs no header line."""
    if not columns and format_suffix(path) == ".tsv" and _has_no_header(path):
        return _two_columns(path)
    return (
        (segment.source, truth.references[0])
        for segment, truth in stream(path, columns=parse_columns(columns))
        if truth is not None
    )


def _has_no_header(path: Path) -> bool:
    """Whether the first line has two cells, neither of which is the column name "source"."""
    first = next(iter_lines(path)).split("\t")
    return len(first) == 2 and "source" not in first


def _two_columns(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(iter_lines(path), start=1):
        cells = line.split("\t")
        if len(cells) != 2:
            message = f"{len(cells)} column{'s' * (len(cells) != 1)}; expected two, source and target"
            raise InputError(message, path=path, line=number)
        yield cells[0], cells[1]
