"""Many systems, many segments, and a score where somebody gave one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mtloop.core.errors import UnknownName
from mtloop.core.types import Fields, Segment, Truth
from mtloop.data.formats.corpus import Pair
from mtloop.data.ratings.rankings import is_human

Grid: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Ratings:
    """Scores as a grid, a row a system, a column a segment, NaN where there is none.

    Scores are as the file has them; higher is better in all of them (penalties come as negative numbers).
    `metrics` are grids of the same shape with automatic scores; texts and documents, where the file has them, are
    found by segment id. `notes` say in words what was left out or averaged, and how well two files joined.
    """

    systems: tuple[str, ...]
    segments: tuple[str, ...]
    scores: Grid
    metrics: Mapping[str, Grid] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    references: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hypotheses: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    documents: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def coverage(self) -> float:
        """The share of cells that somebody rated."""
        return float(np.mean(~np.isnan(self.scores)))

    def of(self, segment: str) -> dict[str, float]:
        """The scores of one segment; a system that nobody rated is absent."""
        return _rated(self.systems, self.scores[:, _place(self.segments, segment, "segment")])

    def stream(self) -> Iterator[Pair]:
        """The segments in order, with their scores as the truth."""
        for segment, column in zip(self.segments, self.scores.T, strict=True):
            document = self.documents.get(segment)
            context: Fields = {"document": document} if document else {}
            truth = Truth(self.references.get(segment, ()), _rated(self.systems, column))
            yield Segment(segment, self.sources.get(segment, ""), context), truth

    def without_humans(self) -> Ratings:
        """Only the systems that compete: human translations are rated beside them, but are references."""
        return self.only([system for system in self.systems if not is_human(system)])

    def only(self, systems: Iterable[str]) -> Ratings:
        """The same for these systems, in this order."""
        kept = tuple(systems)
        rows = [_place(self.systems, system, "system") for system in kept]
        return replace(
            self,
            systems=kept,
            scores=self.scores[rows],
            metrics={name: grid[rows] for name, grid in self.metrics.items()},
            hypotheses={system: self.hypotheses[system] for system in kept if system in self.hypotheses},
        )


def _place(names: tuple[str, ...], name: str, kind: str) -> int:
    if name not in names:
        raise UnknownName(kind, name, names)
    return names.index(name)


def _rated(systems: Iterable[str], column: Grid) -> dict[str, float]:
    return {name: float(score) for name, score in zip(systems, column, strict=True) if not np.isnan(score)}
