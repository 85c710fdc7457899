"""What `mtloop.stats` found: a row for each text of each file, and what files have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mtloop.core.types import JSON
from mtloop.metrics.text_statistics import TextStatistics, percentage
from mtloop.report.result import Result
from mtloop.report.table import Table

NOTHING = "-"
MEASURED = ("sentences", "words", "types", "mean_length", "max_length", "rr", "unknown_words", "oov")
"""The numbers of a text that pairs do not have, in the records."""


@dataclass(frozen=True)
class TextRow:
    """The statistics of one text of a file: `source`, `target`, `output`, `text`, or the pairs of source and target.

    Attributes:
        file: Name of the file.
        text: Name of the text.
        segments: Number of segments; for pairs, of pairs.
        duplicates: Number of segments that occurred before.
        known_segments: Number of segments that occur in the files to compare with (None: there are none).
        tokeniser: What found the words ("" for pairs).
        statistics: All numbers of a text (None for pairs).
    """

    file: str
    text: str
    segments: int
    duplicates: int
    known_segments: int | None = None
    tokeniser: str = ""
    statistics: TextStatistics | None = None

    @classmethod
    def of(cls, file: str, text: str, tokeniser: str, found: TextStatistics) -> TextRow:
        return cls(file, text, found.segments, found.duplicates, found.known_segments, tokeniser, found)

    @property
    def overlap(self) -> float | None:
        """Percentage of the segments that occur in the files to compare with."""
        return percentage(self.known_segments, self.segments)

    def to_json(self) -> dict[str, JSON]:
        """Return the numbers as plain JSON; null where there is none."""
        measured = dict.fromkeys(MEASURED) if self.statistics is None else _measured(self.statistics)
        row: dict[str, JSON] = {"file": self.file, "text": self.text, "tokeniser": self.tokeniser or None}
        row |= {"segments": self.segments, "duplicates": self.duplicates, **measured}
        return row | {"known_segments": self.known_segments, "overlap": self.overlap}

    def cells(self, *, compared: bool) -> list[str]:
        """Return the numbers as text; `compared`: also what was compared with other files."""
        found = self.statistics
        counts = [NOTHING] * 5
        rate = unknown = NOTHING
        if found is not None:
            counts = [str(found.sentences), str(found.words), str(found.types)]
            counts += [_decimals(found.mean_length), str(found.longest)]
            rate, unknown = str(found.repetition_rate), _decimals(found.oov)
        cells = [self.file, self.text, str(self.segments), *counts, str(self.duplicates), rate]
        return [*cells, unknown, _decimals(self.overlap)] if compared else cells


@dataclass(frozen=True)
class OverlapRow:
    """The percentage of the segments of a file that occur in another file, for each text that both have."""

    file: str
    other: str
    shares: Mapping[str, float | None]

    def to_json(self) -> dict[str, JSON]:
        """Return the percentages as plain JSON."""
        return {"file": self.file, "in": self.other, **self.shares}


@dataclass(frozen=True, repr=False, eq=False)
class StatsResult(Result):
    """The statistics of files. `rows` has a row for each text of each file, `overlaps` one for every two files.

    `against` names the files to compare with.
    """

    rows: Sequence[TextRow]
    against: Sequence[str] = ()
    overlaps: Sequence[OverlapRow] = ()

    @property
    def table(self) -> Table:
        """Segments, sentences, words, types, lengths, duplicates and the repetition rate of every text."""
        headers = ["file", "text", "segments", "sentences", "words", "types", "mean", "max", "duplicates", "RR"]
        compared = bool(self.against)
        return Table(
            headers=[*headers, "OOV", "overlap"] if compared else headers,
            cells=[row.cells(compared=compared) for row in self.rows],
            records=[row.to_json() for row in self.rows],
            notes=list(self._notes()),
            text_columns=2,
        )

    @property
    def overlap(self) -> Table | None:
        """The share of the segments of each file that occur in each other file; None if it was not asked for."""
        if not self.overlaps:
            return None
        parts = list(dict.fromkeys(part for row in self.overlaps for part in row.shares))
        return Table(
            headers=["file", "in", *parts],
            cells=[
                [row.file, row.other, *(_decimals(row.shares.get(part)) for part in parts)] for row in self.overlaps
            ],
            records=[row.to_json() for row in self.overlaps],
            notes=["% of the segments of `file` that also occur in `in`"],
            text_columns=2,
        )

    def to_json(self) -> dict[str, JSON]:
        """Return all numbers as plain JSON."""
        return {
            "statistics": [row.to_json() for row in self.rows],
            "against": list(self.against),
            "overlap": [row.to_json() for row in self.overlaps],
        }

    def text(self) -> str:
        """Return the tables as text."""
        return "\n\n".join(str(table) for table in (self.table, self.overlap) if table is not None)

    def _notes(self) -> Iterator[str]:
        found = dict.fromkeys((row.text, row.tokeniser) for row in self.rows if row.tokeniser)
        yield f"words: {', '.join(f'{tokeniser} ({text})' for text, tokeniser in found)}; mean, max: words per segment"
        yield "duplicates: segments that occurred before; RR: repetition rate in windows of 1,000 words"
        if self.against:
            names = ", ".join(self.against)
            yield f"OOV, overlap: % of the words that do not occur, and of the segments that do occur, in {names}"


def _measured(found: TextStatistics) -> dict[str, JSON]:
    rate = found.repetition_rate
    values = (found.sentences, found.words, found.types, found.mean_length, found.longest)
    return dict(
        zip(MEASURED, (*values, rate.value if rate.defined else None, found.unknown_words, found.oov), strict=True)
    )


def _decimals(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}"
