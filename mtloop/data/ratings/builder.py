"""Ratings while they are read: a row at a time, in any order, from one file or two."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import count
from typing import TypeAlias

import numpy as np

from mtloop.data.ratings.grid import Grid, Ratings
from mtloop.data.ratings.numbers import is_whole

Cell: TypeAlias = tuple[str, str]

HUMAN = "\0"
"""The column of human scores; all others are metrics, and none of them can have this name: NUL is refused."""


class RatingsBuilder:
    """Collects scores by column, system and segment. A cell may get any number of them; they are averaged."""

    def __init__(self) -> None:
        self.systems: dict[str, None] = {}
        self.segments: dict[str, None] = {}
        self.sources: dict[str, str] = {}
        self.references: dict[str, tuple[str, ...]] = {}
        self.hypotheses: dict[str, dict[str, str]] = defaultdict(dict)
        self.documents: dict[str, str] = {}
        self.notes: list[str] = []
        self._unlike: set[str] = set()
        self._columns: dict[str, dict[Cell, list[float]]] = {HUMAN: {}}

    def see(self, system: str, segment: str) -> None:
        """Note that there is such a cell, whether or not anybody rated it."""
        self.systems.setdefault(system)
        self.segments.setdefault(segment)

    def add(self, column: str, system: str, segment: str, value: float) -> None:
        self.see(system, segment)
        self._columns.setdefault(column, {}).setdefault((system, segment), []).append(value)

    def say(self, texts: dict[str, str], segment: str, text: str) -> None:
        """Note a text of a segment. The first one counts; others are remarked upon."""
        if texts.setdefault(segment, text) != text:
            self._unlike.add(segment)

    def cells(self, column: str) -> Mapping[Cell, list[float]]:
        return self._columns[column]

    def metrics(self) -> list[str]:
        return [column for column in self._columns if column != HUMAN]

    def ratings(self) -> Ratings:
        """All that was collected, as a grid; from then on nothing changes."""
        return Ratings(
            tuple(self.systems),
            tuple(self.segments),
            self._grid(HUMAN),
            {name: self._grid(name) for name in self.metrics()},
            dict(self.sources),
            dict(self.references),
            {system: dict(texts) for system, texts in self.hypotheses.items()},
            dict(self.documents),
            tuple(self.notes + self._remarks()),
        )

    def _grid(self, column: str) -> Grid:
        rows, places = _numbered(self.systems), _numbered(self.segments)
        grid = np.full((len(rows), len(places)), np.nan)
        for (system, segment), values in self._columns[column].items():
            grid[rows[system], places[segment]] = sum(values) / len(values)
        grid.flags.writeable = False
        return grid

    def _remarks(self) -> list[str]:
        remarks = [] if self._columns[HUMAN] else ["no human scores in it"]
        if self._unlike:
            remarks.append(f"{len(self._unlike)} segments have texts that differ from row to row; the first was taken")
        for column, cells in self._columns.items():
            if again := sum(len(values) > 1 for values in cells.values()):
                remarks.append(f"{again} cells have more than one {_called(column)} score; the mean was taken")
        return remarks


def in_order(segments: Iterable[str]) -> list[str]:
    """Numbers by size, `document_index` by document as first seen and then index, anything else as it comes.

    >>> in_order(["10", "9"]), in_order(["news_1", "blog_0", "news_0"]), in_order(["b", "a"])
    (['9', '10'], ['news_0', 'news_1', 'blog_0'], ['b', 'a'])
    """
    names = list(segments)
    if all(map(is_whole, names)):
        return sorted(names, key=int)
    parts = {name: name.rpartition("_") for name in names}
    if not all(document and is_whole(index) for document, _, index in parts.values()):
        return names
    seen = _numbered(dict.fromkeys(document for document, _, _ in parts.values()))
    return sorted(names, key=lambda name: (seen[parts[name][0]], int(parts[name][2])))


def _called(column: str) -> str:
    return "human" if column == HUMAN else column


def _numbered(names: Iterable[str]) -> dict[str, int]:
    return dict(zip(names, count(), strict=False))
