"""WMT metric files: automatic scores of every system on every segment, and how they join human ones.

A row is: metric, language pair, test set, reference, system, document, segment, score. The segment counts from 1
within its document, and documents come in the order of the test set. A human row names its segment in another way:
`document_index`, where the index counts from 0, or the line number in the test set, from 1. Being off by one still
finds a partner for most rows, the wrong one; so the counting is checked, and never guessed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from mtloop.core.errors import InputError, UnknownName
from mtloop.data.ratings.builder import HUMAN, RatingsBuilder
from mtloop.data.ratings.numbers import is_whole, number
from mtloop.data.ratings.rankings import is_human
from mtloop.text.files import lines
from mtloop.text.messages import listed

POOR_JOIN = 0.9
"""Under this share of human scores with a partner, the notes say that something may be wrong."""


class Row(NamedTuple):
    """A line of the file."""

    line: int
    metric: str
    lp: str
    testset: str
    reference: str
    system: str
    document: str
    segment: int
    score: float


@dataclass(frozen=True, slots=True)
class MetricFile:
    """The rows about one language pair and reference, and the segments of the test set in order."""

    path: Path
    rows: list[Row]
    order: list[tuple[str, int]]
    notes: tuple[str, ...]

    def named_like(self, segments: Iterable[str]) -> dict[tuple[str, int], str]:
        """The segments of the test set, in order, under the names that a human file gives them."""
        names = list(segments)
        if all(map(is_whole, names)):
            return self._as_lines(names)
        parts = [name.rpartition("_") for name in names]
        if all(document and is_whole(index) for document, _, index in parts):
            return self._as_places([(document, int(index)) for document, _, index in parts])
        message = "cannot be joined: segments are neither line numbers nor DOCUMENT_INDEX"
        raise InputError(f"{message}, for example {names[0]!r}", path=self.path)

    def _as_lines(self, names: list[str]) -> dict[tuple[str, int], str]:
        if "0" in names:
            raise InputError("cannot be joined: line numbers count from 1, but there is a segment 0", path=self.path)
        return {place: str(line) for line, place in enumerate(self.order, start=1)}

    def _as_places(self, named: list[tuple[str, int]]) -> dict[tuple[str, int], str]:
        lengths = Counter(document for document, _ in self.order)
        beyond = [f"{document}_{index}" for document, index in named if index == lengths[document] > 0]
        if beyond and not any(index == 0 for _, index in named):
            message = "cannot be joined: DOCUMENT_INDEX counts from 0, but no index is 0 and"
            raise InputError(f"{message} {beyond[0]!r} is one beyond its document", path=self.path)
        return {(document, segment): f"{document}_{segment - 1}" for document, segment in self.order}


def read_metric_file(path: str | Path, *, lp: str | None = None, reference: str | None = None) -> MetricFile:
    """Read one; unless told otherwise, of the scores against several references those against the test set's own."""
    path = Path(path)
    everything = list(_rows(path))
    lps = sorted({row.lp for row in everything})
    if lp not in lps and (lp or len(lps) > 1):
        raise InputError(f"choose the language pair out of: {listed(lps)}", path=path)
    pair = [row for row in everything if lp in (None, row.lp)]
    rows = [row for row in pair if row.reference == (reference or row.testset)]
    references = {row.reference for row in pair}
    if not rows:
        raise InputError(f"choose the reference out of: {listed(sorted(references))}", path=path)
    others = sorted(references - {row.reference for row in rows})
    notes = [f"metric scores against other references left out: {listed(others)}"] if others else []
    return MetricFile(path, rows, _order(rows, path), tuple(notes))


def is_metric_row(line: str) -> bool:
    """Whether a line may stand in such a file, which has no header to tell."""
    cells = line.split("\t")
    return len(cells) == len(Row._fields) - 1 and is_whole(cells[-2]) and all(cells)


def join(sheet: RatingsBuilder, metrics: MetricFile, names: Mapping[str, str]) -> None:
    """Add the automatic scores to the human ones; `names` says which system is which where the files do not.

    All segments of the test set are there afterwards, in its order, and no systems but those of the human file.
    """
    named = metrics.named_like(sheet.segments)
    known = dict.fromkeys(named.values())
    strangers = len(sheet.segments.keys() - known.keys())
    sheet.segments = known | sheet.segments
    theirs = {row.system for row in metrics.rows}
    ours = {there: here for here, there in _partners(sheet.systems, theirs, names).items()}
    add_rows(sheet, metrics.rows, named, ours)
    sheet.notes += [*metrics.notes, *_how_well(sheet, set(ours.values()), strangers)]
    if unrated := sorted(theirs - set(ours)):
        sheet.notes.append(f"systems with metric scores only left out: {listed(unrated)}")


def add_rows(
    sheet: RatingsBuilder, rows: Iterable[Row], named: Mapping[tuple[str, int], str], systems: Mapping[str, str]
) -> None:
    """Put the rows of these systems into a sheet, under the names that systems and segments have there."""
    sheet.documents |= {name: document for (document, _), name in named.items()}
    for row in rows:
        if row.system in systems:
            sheet.add(row.metric, systems[row.system], named[row.document, row.segment], row.score)


def _rows(path: Path) -> Iterator[Row]:
    for line, text in enumerate(lines(path), start=1):
        cells = text.split("\t")
        if not is_metric_row(text):
            message = "expected metric, language pair, test set, reference, system, document, segment, score"
            raise InputError(f"{message}, with tabs between", path=path, line=line)
        metric, lp, testset, reference, system, document, segment, score = cells
        yield Row(line, metric, lp, testset, reference, system, document, int(segment), number(score, path, line))


def _order(rows: list[Row], path: Path) -> list[tuple[str, int]]:
    """The test set as the first system's rows show it; the others may come in any order, but name nothing else."""
    block = (rows[0].metric, rows[0].system)
    counts: Counter[str] = Counter()
    for row in rows:
        if (row.metric, row.system) == block:
            counts[row.document] += 1
            if row.segment != counts[row.document]:
                message = f"segment {row.segment} of {row.document!r}; expected {counts[row.document]}, counting from 1"
                raise InputError(message, path=path, line=row.line)
        elif not 1 <= row.segment <= counts[row.document]:
            message = f"segment {row.segment} of {row.document!r}, which {block[1]!r} does not have"
            raise InputError(message, path=path, line=row.line)
    return [(row.document, row.segment) for row in rows if (row.metric, row.system) == block]


def _partners(ours: Iterable[str], theirs: set[str], names: Mapping[str, str]) -> dict[str, str]:
    """Which name there is which of ours: the same, as told, or the only one alike but for case and dashes."""
    for name in names.values():
        if name not in theirs:
            raise UnknownName("system in the metric file", name, theirs)
    alike: dict[str, list[str]] = {}
    for name in sorted(theirs):
        alike.setdefault(_loosely(name), []).append(name)
    candidates = {name: [names[name]] if name in names else alike.get(_loosely(name), []) for name in ours}
    exact = {name: [name] for name in candidates if name in theirs and name not in names}
    return {name: found[0] for name, found in (candidates | exact).items() if len(found) == 1}


def _loosely(system: str) -> str:
    name = system.casefold().replace("-", "_")
    return name.partition(".")[0] if is_human(system) else name


def _how_well(sheet: RatingsBuilder, partners: set[str], strangers: int) -> list[str]:
    rated = sheet.cells(HUMAN).keys()
    if not rated:
        return []
    joined = len(rated & set().union(*(sheet.cells(metric).keys() for metric in sheet.metrics())))
    share = joined / len(rated)
    notes = [f"{joined} of {len(rated)} human scores ({share:.1%}) have metric scores beside them"]
    if share < POOR_JOIN:
        notes[0] += f": fewer than {POOR_JOIN:.0%}, so look whether segments and systems are the same in both files"
    for system, count in Counter(system for system, _ in rated if system not in partners).items():
        notes.append(f"{system} ({count} human scores) has no metric scores: no such system there")
    return notes + ([f"{strangers} segments are not in the metric file"] if strangers else [])
