"""Scores of several systems on several segments, with missing values."""

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
    """Human scores as a grid: one row per system, one column per segment, NaN for a missing score.

    Scores have the scale of the file. Higher is always better (penalties are negative numbers). `metrics` are grids of
    the same shape with automatic scores. Texts and documents, if the file has them, are indexed by segment id.
    `notes` describe what was left out or averaged, and how many scores of two files could be joined.
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
        """The share of cells with a human score, from 0 to 1."""
        return float(np.mean(~np.isnan(self.scores)))

    def segment_scores(self, segment: str) -> dict[str, float]:
        """Return the human scores of one segment by system. Systems without a score are absent."""
        return _present_scores(self.systems, self.scores[:, _index(self.segments, segment, "segment")])

    def stream(self) -> Iterator[Pair]:
        """Yield the segments in order, with their references and human scores as the truth."""
        for segment, column in zip(self.segments, self.scores.T, strict=True):
            document = self.documents.get(segment)
            context: Fields = {"document": document} if document else {}
            truth = Truth(self.references.get(segment, ()), _present_scores(self.systems, column))
            yield Segment(segment, self.sources.get(segment, ""), context), truth

    def without_humans(self) -> Ratings:
        """Return the ratings of the MT systems only. Human translations are rated too, but are references."""
        return self.only([system for system in self.systems if not is_human(system)])

    def only(self, systems: Iterable[str]) -> Ratings:
        """Return the ratings of these systems only, in this order."""
        kept = tuple(systems)
        rows = [_index(self.systems, system, "system") for system in kept]
        return replace(
            self,
            systems=kept,
            scores=self.scores[rows],
            metrics={name: grid[rows] for name, grid in self.metrics.items()},
            hypotheses={system: self.hypotheses[system] for system in kept if system in self.hypotheses},
        )


def _index(names: tuple[str, ...], name: str, kind: str) -> int:
    if name not in names:
        raise UnknownName(kind, name, names)
    return names.index(name)


def _present_scores(systems: Iterable[str], column: Grid) -> dict[str, float]:
    return {name: float(score) for name, score in zip(systems, column, strict=True) if not np.isnan(score)}
