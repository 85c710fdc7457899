"""WMT metric files: automatic scores of every system on every segment. Join them with human scores.

The columns are: metric, language pair, test set, reference, system, document, segment, score. Segments count from 1
within their document, and documents are in the order of the test set. Files of human scores have other segment names:
`document_index`, where the index counts from 0, or the line number in the test set, from 1. With an off-by-one error
most rows would still be joined, but with the wrong segment. So the numbering is checked, and never guessed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from mtloop.core.errors import InputError, UnknownName
from mtloop.data.ratings.builder import HUMAN, RatingsBuilder
from mtloop.data.ratings.numbers import is_whole, parse_number
from mtloop.data.ratings.rankings import is_human
from mtloop.text.files import iter_lines
from mtloop.text.messages import join_names

MIN_JOINED_SHARE = 0.9
"""If a smaller share of human scores can be joined, the notes contain a warning."""


class MetricRow(NamedTuple):
    """A line of a metric file."""

    line: int
    metric: str
    language_pair: str
    testset: str
    reference: str
    system: str
    document: str
    segment: int
    score: float


@dataclass(frozen=True, slots=True)
class MetricFile:
    """The rows of one language pair and reference, and the segments (document, number) in the order of the test set."""

    path: Path
    rows: list[MetricRow]
    order: list[tuple[str, int]]
    notes: tuple[str, ...]

    def segment_names(self, segments: Iterable[str]) -> dict[tuple[str, int], str]:
        """Map each segment of the test set, in order, to its name in the naming scheme of `segments`."""
        names = list(segments)
        if all(map(is_whole, names)):
            return self._line_numbers(names)
        parts = [name.rpartition("_") for name in names]
        if all(document and is_whole(index) for document, _, index in parts):
            return self._document_indices([(document, int(index)) for document, _, index in parts])
        message = "cannot be joined: segment names are neither line numbers nor DOCUMENT_INDEX"
        raise InputError(f"{message}, for example {names[0]!r}", path=self.path)

    def _line_numbers(self, names: list[str]) -> dict[tuple[str, int], str]:
        if "0" in names:
            raise InputError("cannot be joined: line numbers count from 1, but there is a segment 0", path=self.path)
        return {segment: str(line) for line, segment in enumerate(self.order, start=1)}

    def _document_indices(self, given: list[tuple[str, int]]) -> dict[tuple[str, int], str]:
        lengths = Counter(document for document, _ in self.order)
        beyond = [f"{document}_{index}" for document, index in given if index == lengths[document] > 0]
        if beyond and not any(index == 0 for _, index in given):
            message = "cannot be joined: DOCUMENT_INDEX counts from 0, but no index is 0 and"
            raise InputError(f"{message} {beyond[0]!r} is one beyond the end of its document", path=self.path)
        return {(document, segment): f"{document}_{segment - 1}" for document, segment in self.order}


def read_metric_file(path: str | Path, *, language_pair: str | None = None, reference: str | None = None) -> MetricFile:
    """Read the rows of one language pair and reference.

    By default, the reference that has the same name as the test set.
    """
    path = Path(path)
    all_rows = list(_rows(path))
    language_pairs = sorted({row.language_pair for row in all_rows})
    if language_pair not in language_pairs and (language_pair or len(language_pairs) > 1):
        problem = f"no scores for {language_pair!r}" if language_pair else "the file has several language pairs"
        raise InputError(f"{problem}; choose one with --language-pair: {join_names(language_pairs)}", path=path)
    pair = [row for row in all_rows if language_pair in (None, row.language_pair)]
    rows = [row for row in pair if row.reference == (reference or row.testset)]
    references = {row.reference for row in pair}
    if not rows:
        raise InputError(f"no scores for this reference; choose one of: {join_names(sorted(references))}", path=path)
    others = sorted(references - {row.reference for row in rows})
    notes = [f"metric scores against other references left out: {join_names(others)}"] if others else []
    return MetricFile(path, rows, _order(rows, path), tuple(notes))


def is_metric_row(line: str) -> bool:
    """Whether a line has the format of a metric file. These files have no header."""
    cells = line.split("\t")
    return len(cells) == len(MetricRow._fields) - 1 and is_whole(cells[-2]) and all(cells)


def join_metrics(builder: RatingsBuilder, metrics: MetricFile, names: Mapping[str, str]) -> None:
    """Add automatic scores to human scores. `names` maps systems to their different names in the metric file.

    Afterwards the builder has all segments of the test set, in its order, and only the systems of the human file.
    """
    segment_names = metrics.segment_names(builder.segments)
    known = dict.fromkeys(segment_names.values())
    unmatched = len(builder.segments.keys() - known.keys())
    builder.segments = known | builder.segments
    metric_systems = {row.system for row in metrics.rows}
    matches = _match_systems(builder.systems, metric_systems, names)
    human_names = {metric_name: human_name for human_name, metric_name in matches.items()}
    add_rows(builder, metrics.rows, segment_names, human_names)
    builder.notes += [*metrics.notes, *_join_notes(builder, set(human_names.values()), unmatched)]
    if unrated := sorted(metric_systems - set(human_names)):
        builder.notes.append(f"systems without human scores left out: {join_names(unrated)}")


def add_rows(
    builder: RatingsBuilder,
    rows: Iterable[MetricRow],
    segment_names: Mapping[tuple[str, int], str],
    system_names: Mapping[str, str],
) -> None:
    """Add the rows of the systems in `system_names`, under the given names of segments and systems."""
    builder.documents |= {name: document for (document, _), name in segment_names.items()}
    for row in rows:
        if row.system in system_names:
            segment = segment_names[row.document, row.segment]
            builder.add(row.metric, system_names[row.system], segment, row.score)


def _rows(path: Path) -> Iterator[MetricRow]:
    for line, text in enumerate(iter_lines(path), start=1):
        cells = text.split("\t")
        if not is_metric_row(text):
            message = "expected metric, language pair, test set, reference, system, document, segment, score"
            raise InputError(f"{message}, separated by tabs", path=path, line=line)
        metric, language_pair, testset, reference, system, document, segment, score = cells
        value = parse_number(score, path, line)
        yield MetricRow(line, metric, language_pair, testset, reference, system, document, int(segment), value)


def _order(rows: list[MetricRow], path: Path) -> list[tuple[str, int]]:
    """Return the segments in the order of the first system's rows. The rows of other systems may be in any order."""
    first = (rows[0].metric, rows[0].system)
    counts: Counter[str] = Counter()
    for row in rows:
        if (row.metric, row.system) == first:
            counts[row.document] += 1
            if row.segment != counts[row.document]:
                message = f"segment {row.segment} of {row.document!r}; expected {counts[row.document]}, counting from 1"
                raise InputError(message, path=path, line=row.line)
        elif not 1 <= row.segment <= counts[row.document]:
            message = f"segment {row.segment} of {row.document!r}, which system {first[1]!r} does not have"
            raise InputError(message, path=path, line=row.line)
    return [(row.document, row.segment) for row in rows if (row.metric, row.system) == first]


def _match_systems(human: Iterable[str], metric: set[str], names: Mapping[str, str]) -> dict[str, str]:
    """Map system names of the human file to those of the metric file.

    Use `names` first, then equal names, then the only name that is equal except for case and dashes.
    """
    for name in names.values():
        if name not in metric:
            raise UnknownName("system", name, metric, owner="the metric file")
    similar: dict[str, list[str]] = {}
    for name in sorted(metric):
        similar.setdefault(_normalised(name), []).append(name)
    candidates = {name: [names[name]] if name in names else similar.get(_normalised(name), []) for name in human}
    exact = {name: [name] for name in candidates if name in metric and name not in names}
    return {name: found[0] for name, found in (candidates | exact).items() if len(found) == 1}


def _normalised(system: str) -> str:
    name = system.casefold().replace("-", "_")
    return name.partition(".")[0] if is_human(system) else name


def _join_notes(builder: RatingsBuilder, matched: set[str], unmatched: int) -> list[str]:
    rated = builder.cells(HUMAN).keys()
    if not rated:
        return []
    joined = len(rated & set().union(*(builder.cells(metric).keys() for metric in builder.metrics())))
    share = joined / len(rated)
    notes = [f"{joined} of {len(rated)} human scores ({share:.1%}) have metric scores"]
    if share < MIN_JOINED_SHARE:
        notes[0] += (
            f", fewer than {MIN_JOINED_SHARE:.0%}; check that segments and systems have the same names in both files"
        )
    for system, count in Counter(system for system, _ in rated if system not in matched).items():
        notes.append(f"system {system} ({count} human scores) is not in the metric file")
    return notes + ([f"{unmatched} segments are not in the metric file"] if unmatched else [])
