"""Plain text in parallel: a file a side, a segment a line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mtloop.core.errors import InputError
from mtloop.core.types import Fields, Segment, Truth
from mtloop.data.formats.corpus import Corpus
from mtloop.text.files import read_lines


def pairs(sources: Sequence[str], references: Sequence[str]) -> list[tuple[Segment, Truth]]:
    """A stream out of two lists of sentences, with the ids "1", "2", ...

    >>> pairs(["Open the file."], ["Öffnen Sie die Datei."])
    [(Segment(id='1', source='Open the file.', context={}), Truth(references=('Öffnen Sie die Datei.',), scores={}))]
    """
    if len(sources) != len(references):
        raise InputError(f"{len(sources)} sources but {len(references)} references; expected as many of each")
    numbered = enumerate(zip(sources, references, strict=True), start=1)
    return [(Segment(str(number), source), Truth((reference,))) for number, (source, reference) in numbered]


def read_parallel(source: str | Path | None, target: str | Path, mt: str | Path | None = None) -> Corpus:
    """Two files, source and target, or three: what an MT system had said goes into `context["mt"]`.

    The id of a segment is its line number. No line is skipped, not even an empty one: the lines of further files,
    hypotheses for example, have to find their partners. Where no file has the sources, they are empty.
    """
    targets, *others = read_aligned(target, *(path for path in (source, mt) if path is not None))
    blank = [""] * len(targets)
    sources = others[0] if source is not None else blank
    contexts: list[Fields] = [{"mt": text} for text in others[-1]] if mt is not None else [{} for _ in blank]
    rows = enumerate(zip(sources, targets, contexts, strict=True), start=1)
    return Corpus(tuple((Segment(str(line), text, context), Truth((ref,))) for line, (text, ref, context) in rows))


def read_aligned(*paths: str | Path) -> list[list[str]]:
    """The lines of files that belong together line by line; files of different lengths are an error."""
    columns = [read_lines(path) for path in paths]
    for path, column in zip(paths, columns, strict=True):
        if len(column) != len(columns[0]):
            raise _uneven((paths[0], len(columns[0])), (path, len(column)))
    return columns


def _uneven(one: tuple[str | Path, int], other: tuple[str | Path, int]) -> InputError:
    (shorter, few), (longer, many) = sorted([one, other], key=lambda file: file[1])
    message = f"no partner in {shorter}: {longer} has {many} lines, {shorter} has {few}; expected as many in each"
    return InputError(message, path=longer, line=few + 1)
