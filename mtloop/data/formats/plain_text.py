"""Parallel plain text: one file per language, one segment per line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mtloop.core.errors import InputError
from mtloop.core.types import Fields, Segment, Truth
from mtloop.data.formats.corpus import Corpus
from mtloop.text.files import read_lines


def pairs(sources: Sequence[str], references: Sequence[str]) -> list[tuple[Segment, Truth]]:
    """Return a stream of pairs from two lists of sentences, with the ids "1", "2", ...

    >>> pairs(["Open the file."], ["Öffnen Sie die Datei."])
    [(Segment(id='1', source='Open the file.', context={}), Truth(references=('Öffnen Sie die Datei.',), scores={}))]
    """
    if len(sources) != len(references):
        raise InputError(f"{len(sources)} sources but {len(references)} references; expected the same number")
    numbered = enumerate(zip(sources, references, strict=True), start=1)
    return [(Segment(str(number), source), Truth((reference,))) for number, (source, reference) in numbered]


def read_parallel(source: str | Path | None, target: str | Path, mt: str | Path | None = None) -> Corpus:
    """Read a source and a target file, and optionally a file of MT output, which becomes `context["mt"]`.

    The id of a segment is its line number. Empty lines are kept, so that other files, for example hypotheses, can be
    aligned by line. If `source` is None, all sources are empty.
    """
    targets, *others = read_aligned(target, *(path for path in (source, mt) if path is not None))
    blank = [""] * len(targets)
    sources = others[0] if source is not None else blank
    contexts: list[Fields] = [{"mt": text} for text in others[-1]] if mt is not None else [{} for _ in blank]
    rows = enumerate(zip(sources, targets, contexts, strict=True), start=1)
    return Corpus(tuple((Segment(str(line), text, context), Truth((ref,))) for line, (text, ref, context) in rows))


def read_aligned(*paths: str | Path) -> list[list[str]]:
    """Return the lines of files that are aligned by line. Raise InputError if the numbers of lines differ."""
    columns = [read_lines(path) for path in paths]
    for path, column in zip(paths, columns, strict=True):
        if len(column) != len(columns[0]):
            raise _length_error((paths[0], len(columns[0])), (path, len(column)))
    return columns


def _length_error(one: tuple[str | Path, int], other: tuple[str | Path, int]) -> InputError:
    (shorter, fewer), (longer, more) = sorted([one, other], key=lambda file: file[1])
    message = f"{longer} has {more} lines, but {shorter} has {fewer}; expected the same number of lines"
    return InputError(message, path=longer, line=fewer + 1)
