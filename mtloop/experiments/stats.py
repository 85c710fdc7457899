"""`mtloop.stats`: count the segments, sentences and words of files, what repeats, and what other files do not have."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from mtloop.core.errors import InputError
from mtloop.core.log import logger
from mtloop.data import parse_columns
from mtloop.data.formats.filling import TABLE_FORMATS
from mtloop.experiments.measured_files import (
    PAIR,
    SOURCE,
    TARGET,
    MeasuredFile,
    ReadOptions,
    check_comparable,
    distinct,
    read_measured,
    short_names,
)
from mtloop.experiments.stats_result import OverlapRow, StatsResult, TextRow
from mtloop.experiments.word_splitters import MOSES, Splitters
from mtloop.metrics.text_statistics import (
    KnownText,
    TextStatistics,
    WordSplitter,
    count_duplicates,
    count_known,
    percentage,
)
from mtloop.text.files import format_suffix
from mtloop.text.tokenisers import FAIR_SHARE, lacks_spaces

Paths: TypeAlias = str | Path | Sequence[str | Path]


def stats(
    files: Paths,
    *,
    against: Paths = (),
    overlap: bool = False,
    columns: str = "",
    source_lang: str | None = None,
    target_lang: str | None = None,
    tokenize: str | None = None,
    lowercase: bool = False,
) -> StatsResult:
    """Measure the texts of files: length, repetition, and what they share with other files.

    Args:
        files: A file, or several: pairs (TSV, CSV, TMX, XLIFF, PO, MO), plain text, or traces.
        against: Files to compare with, such as the training data: unknown words, and segments that occur in them.
        overlap: Also compare every two files: which share of the segments of one occurs in the other.
        columns: Column names of tables, such as `source=en,target=de`.
        source_lang: Source language. It selects the texts, and the tokeniser.
        target_lang: Target language. It selects the texts, and the tokeniser.
        tokenize: `moses` or a tokeniser of sacreBLEU (default: `moses`; that of the language if it has no spaces).
        lowercase: Compare words and segments in lower case.
    """
    paths, others = distinct(_paths(files)), distinct(_paths(against))
    every = distinct([*paths, *others])
    if not paths:
        raise InputError("no file to measure; give one or more")
    if overlap and len(every) < 2:
        raise InputError("one file has nothing to overlap with; give a second one, or --against FILE", path=paths[0])
    if columns and not any(format_suffix(path) in TABLE_FORMATS for path in every):
        raise InputError("--columns names the columns of a .tsv or .csv file, and no file is one", path=paths[0])
    splitters = Splitters(tokenize, lowercase)
    options = ReadOptions(parse_columns(columns), source_lang or "", target_lang or "")
    names = short_names(every)
    read = {path.resolve(): read_measured(path, names[path], options) for path in every}
    measured, known = ([read[path.resolve()] for path in group] for group in (paths, others))
    background = Background(known, splitters) if known else None
    rows = [row for file in measured for row in _rows(file, background, splitters)]
    overlaps = _overlaps(measured, [*read.values()], splitters) if overlap else ()
    return StatsResult(rows, [file.name for file in known], list(overlaps))


class Background:
    """The texts of the files to compare with, together."""

    def __init__(self, files: Sequence[MeasuredFile], splitters: Splitters) -> None:
        self.files, self.splitters = files, splitters
        self._known: dict[tuple[str, str], KnownText] = {}

    def of(self, file: MeasuredFile, part: str, split: WordSplitter) -> KnownText:
        """Return the text with which a text of a file is compared. Raise InputError if there is none."""
        parts = [check_comparable(file, part, other) for other in self.files]
        key = part, split.name
        if key not in self._known:
            texts = (other.texts[name] for other, name in zip(self.files, parts, strict=True))
            self._known[key] = KnownText.of(chain.from_iterable(texts), split)
        return self._known[key]

    @cached_property
    def pairs(self) -> frozenset[Hashable]:
        """The pairs of all files."""
        return frozenset(chain.from_iterable(_segments(file, self.splitters).get(PAIR, ()) for file in self.files))


def _rows(file: MeasuredFile, background: Background | None, splitters: Splitters) -> Iterator[TextRow]:
    for part, texts in file.texts.items():
        split = splitters(file.languages[part])
        _warn(file, part, split)
        known = None if background is None else background.of(file, part, split)
        yield TextRow.of(file.name, part, split.name, TextStatistics.of(texts, split, known))
    if pairs := _segments(file, splitters).get(PAIR):
        known_pairs = None if background is None else count_known(pairs, background.pairs)
        yield TextRow(file.name, PAIR, len(pairs), count_duplicates(pairs), known_pairs)


def _warn(file: MeasuredFile, part: str, split: WordSplitter) -> None:
    """Log that the words of a text cannot be found, if the text has no spaces and its language is not known."""
    if split.name.startswith(MOSES) and lacks_spaces(file.texts[part], FAIR_SHARE):
        option = "--source-lang" if part == SOURCE else "--target-lang"
        message = "%s: the %s has no spaces between words; give its language with %s, or the words mean little"
        logger.warning(message, file.path, part, option)


def _overlaps(files: Sequence[MeasuredFile], others: Sequence[MeasuredFile], splitters: Splitters) -> list[OverlapRow]:
    """Return which share of the segments of each file occurs in each other one."""
    segments = {file.path: _segments(file, splitters) for file in others}
    distinct_ones = {path: {part: frozenset(items) for part, items in one.items()} for path, one in segments.items()}
    return [
        OverlapRow(file.name, other.name, _shares(file, segments[file.path], other, distinct_ones[other.path]))
        for file in files
        for other in others
        if file is not other
    ]


def _shares(
    file: MeasuredFile,
    segments: Mapping[str, Sequence[Hashable]],
    other: MeasuredFile,
    known: Mapping[str, frozenset[Hashable]],
) -> dict[str, float | None]:
    """Return the percentage of the segments of each text that occur in another file."""
    parts = {part: other.counterpart(part) if part != PAIR else PAIR for part in segments}
    shared = {part: known[name] for part, name in parts.items() if name in known}
    if not shared:
        have = ", ".join(other.texts)
        message = f"has {have}, and {file.path} has {', '.join(file.texts)}; overlap needs files of one kind"
        raise InputError(message, path=other.path)
    for part in shared:
        if part != PAIR:
            check_comparable(file, part, other)
    return {part: percentage(count_known(segments[part], one), len(segments[part])) for part, one in shared.items()}


def _segments(file: MeasuredFile, splitters: Splitters) -> dict[str, list[Hashable]]:
    """Return the segments of each text as they are compared, and the pairs of source and target."""
    compared = splitters("").compared
    found: dict[str, list[Hashable]] = {part: [*map(compared, texts)] for part, texts in file.texts.items()}
    if SOURCE in found and TARGET in found:
        found[PAIR] = [*zip(found[SOURCE], found[TARGET], strict=True)]
    return found


def _paths(given: Paths) -> list[Path]:
    return [Path(given)] if isinstance(given, str | Path) else [Path(path) for path in given]
