"""Read training data as plain (source, target) pairs from any supported file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from mtloop.core.errors import InputError
from mtloop.data.formats.delimited import parse_columns
from mtloop.data.formats.readers import declared_languages, stream
from mtloop.data.languages import pair_name, same_languages, without_regions
from mtloop.text.files import format_suffix, iter_lines


def text_pairs(
    path: Path, columns: str = "", source_lang: str | None = None, target_lang: str | None = None
) -> Iterator[tuple[str, str]]:
    """Return an iterator over the pairs of a file. A TSV file of two columns needs no header line."""
    if not columns and format_suffix(path) == ".tsv" and _has_no_header(path):
        return _two_columns(path)
    pairs = stream(path, columns=parse_columns(columns), source_lang=source_lang, target_lang=target_lang)
    return ((segment.source, truth.references[0]) for segment, truth in pairs)


def training_languages(paths: Iterable[Path], source_lang: str = "", target_lang: str = "") -> tuple[str, str]:
    """Return the languages of training data: the given ones, else those that a file declares, else "".

    Raise InputError if a file declares other languages.
    """
    source, target = source_lang, target_lang
    for path in paths:
        declared = declared_languages(path, source_lang=source_lang or None, target_lang=target_lang or None)
        if not same_languages(declared, (source, target)):
            message = f"the texts are {pair_name(*declared)}, but the other files are {pair_name(source, target)}"
            raise InputError(f"{message}; train on one pair of languages", path=path)
        languages = without_regions(*declared)
        source, target = source or languages[0], target or languages[1]
    return source, target


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
