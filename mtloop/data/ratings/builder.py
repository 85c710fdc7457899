"""Build `Ratings` row by row, in any order, from one or two files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import count
from typing import TypeAlias

import numpy as np

from mtloop.core.errors import InputError
from mtloop.data.ratings.grid import Grid, Ratings
from mtloop.data.ratings.numbers import is_whole

Cell: TypeAlias = tuple[str, str]

MAX_CELLS = 50_000_000
"""The largest number of systems times segments times columns: a grid of them is held in memory."""

HUMAN = "\0"
"""The column of human scores. All other columns are metrics. No metric can have this name: files cannot contain NUL."""


class RatingsBuilder:
    """Collect scores by column, system and segment. Several scores of one cell are averaged."""

    def __init__(self) -> None:
        self.systems: dict[str, None] = {}
        self.segments: dict[str, None] = {}
        self.sources: dict[str, str] = {}
        self.references: dict[str, tuple[str, ...]] = {}
        self.hypotheses: dict[str, dict[str, str]] = defaultdict(dict)
        self.documents: dict[str, str] = {}
        self.notes: list[str] = []
        self._conflicting: set[str] = set()
        self._columns: dict[str, dict[Cell, list[float]]] = {HUMAN: {}}

    def add_cell(self, system: str, segment: str) -> None:
        """Add a cell without a score."""
        self.systems.setdefault(system)
        self.segments.setdefault(segment)

    def add(self, column: str, system: str, segment: str, value: float) -> None:
        self.add_cell(system, segment)
        self._columns.setdefault(column, {}).setdefault((system, segment), []).append(value)

    def add_text(self, texts: dict[str, str], segment: str, text: str) -> None:
        """Set the text of a segment in `texts`. The first text is kept; different later texts add a note."""
        if texts.setdefault(segment, text) != text:
            self._conflicting.add(segment)

    def cells(self, column: str) -> Mapping[Cell, list[float]]:
        return self._columns[column]

    def metrics(self) -> list[str]:
        return [column for column in self._columns if column != HUMAN]

    def ratings(self) -> Ratings:
        """Return the collected scores and texts. The score grids are read-only."""
        cells = len(self.systems) * len(self.segments) * len(self._columns)
        if cells > MAX_CELLS:
            message = f"{len(self.systems):,} systems with {len(self.segments):,} segments"
            raise InputError(f"{message} are more than {MAX_CELLS:,} scores; are the columns mixed up?")
        return Ratings(
            tuple(self.systems),
            tuple(self.segments),
            self._grid(HUMAN),
            {name: self._grid(name) for name in self.metrics()},
            dict(self.sources),
            dict(self.references),
            {system: dict(texts) for system, texts in self.hypotheses.items()},
            dict(self.documents),
            tuple(self.notes + self._final_notes()),
        )

    def _grid(self, column: str) -> Grid:
        rows, columns = _indices(self.systems), _indices(self.segments)
        grid = np.full((len(rows), len(columns)), np.nan)
        for (system, segment), values in self._columns[column].items():
            grid[rows[system], columns[segment]] = sum(values) / len(values)
        grid.flags.writeable = False
        return grid

    def _final_notes(self) -> list[str]:
        notes = [] if self._columns[HUMAN] else ["no human scores found"]
        if self._conflicting:
            notes.append(
                f"{len(self._conflicting)} segments have different texts in different rows; the first was used"
            )
        for column, cells in self._columns.items():
            if repeated := sum(len(values) > 1 for values in cells.values()):
                notes.append(f"{repeated} cells have more than one {_display_name(column)} score; the mean was used")
        return notes


def sort_segments(segments: Iterable[str]) -> list[str]:
    """Sort numbers by value, and `document_index` names by first occurrence of the document, then index. Keep others.

    >>> sort_segments(["10", "9"]), sort_segments(["news_1", "blog_0", "news_0"]), sort_segments(["b", "a"])
    (['9', '10'], ['news_0', 'news_1', 'blog_0'], ['b', 'a'])
    """
    names = list(segments)
    if all(map(is_whole, names)):
        return sorted(names, key=int)
    parts = {name: name.rpartition("_") for name in names}
    if not all(document and is_whole(index) for document, _, index in parts.values()):
        return names
    documents = _indices(dict.fromkeys(document for document, _, _ in parts.values()))
    return sorted(names, key=lambda name: (documents[parts[name][0]], int(parts[name][2])))


def _display_name(column: str) -> str:
    return "human" if column == HUMAN else column


def _indices(names: Iterable[str]) -> dict[str, int]:
    return dict(zip(names, count(), strict=False))
