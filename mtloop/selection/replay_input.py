"""The input of a replay: recorded ratings, metric scores and the gold ranking."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

import numpy as np
from annotated_types import Ge

from mtloop.core.errors import InputError, UnknownName
from mtloop.data import Ratings, read_ranking, read_ratings
from mtloop.judges.scales import METRIC_SCALINGS, Array, find_scale, guess_scale
from mtloop.selection.distinct_runs import DECIMALS
from mtloop.selection.gold_comparison import Gold
from mtloop.selection.replay import Recording


@dataclass(frozen=True)
class ReplayInput:
    """Files, and how to read them. Human references and the systems that match an `exclude` pattern are left out.

    `ratings` may also be ratings that were read before; then the options that select part of a file are not allowed.
    `scale` None: the scale is guessed from the scores or from the name of their column. Without a gold file, the gold
    ranking is by mean human score.
    """

    ratings: Path | Ratings
    metric_scores: Path | None = None
    metric: str | None = None
    metric_map: str = "range"
    gold: Path | None = None
    gold_column: str = "Z.SCR"
    exclude: tuple[str, ...] = ()
    scale: str | None = None
    score: str | None = None
    language_pair: str | None = None
    tie: Annotated[float, Ge(0)] = 1.0
    top: int = 3

    def read(self) -> tuple[Recording, Gold, list[str]]:
        """The recording, the gold ranking, and notes about the data for the user."""
        ratings = self._competitors(self._read_ratings())
        scale = self.scale or ("z" if self.score == "z" else guess_scale(ratings.scores))
        recording = Recording(
            ratings.systems,
            tuple(segment for segment, _ in ratings.stream()),
            find_scale(scale)(ratings.scores),
            self._metric(ratings),
            ratings.hypotheses,
        )
        gold, notes = self._gold(recording)
        return recording, gold, [*ratings.notes, f"scale {scale}", *_unrated(recording), *notes]

    def _read_ratings(self) -> Ratings:
        metrics, score, pair = self.metric_scores, self.score, self.language_pair
        if not isinstance(self.ratings, Ratings):
            return read_ratings(self.ratings, metrics=metrics, score=score, language_pair=pair)
        options = {"metric_scores": metrics, "score": score, "language_pair": pair}
        if given := [name for name, value in options.items() if value]:
            raise InputError(f"{given[0]} selects what is read from a file; give it to read_ratings instead")
        return self.ratings

    @property
    def _path(self) -> Path | None:
        return None if isinstance(self.ratings, Ratings) else self.ratings

    def _competitors(self, ratings: Ratings) -> Ratings:
        ratings = ratings.without_humans()
        kept = [name for name in ratings.systems if not any(_matches(name, pattern) for pattern in self.exclude)]
        if not kept:
            raise InputError("no systems are left; check --exclude", path=self._path)
        return ratings.only(kept)

    def _metric(self, ratings: Ratings) -> Array | None:
        if self.metric is None:
            return None
        known = {name.lower(): name for name in ratings.metrics}
        if self.metric.lower() not in known:
            if not known:
                raise InputError("there are no automatic scores; give --metric-scores FILE", path=self._path)
            raise UnknownName("metric", self.metric, ratings.metrics)
        if self.metric_map not in METRIC_SCALINGS:
            raise UnknownName("metric map", self.metric_map, METRIC_SCALINGS)
        return METRIC_SCALINGS[self.metric_map](ratings.metrics[known[self.metric.lower()]])

    def _gold(self, recording: Recording) -> tuple[Gold, list[str]]:
        means = mean_scores(recording)
        if self.gold is None:
            return Gold(means, means, self.tie, self.top), ["gold ranking: mean human score"]
        official = read_ranking(self.gold, column=self.gold_column)
        scores = {name: official[name] for name in recording.systems if name in official}
        unranked = [name for name in recording.systems if name not in official]
        notes = [f"gold ranking: {self.gold.name}, {self.gold_column}"]
        notes += [f"not in the gold ranking: {', '.join(unranked)}"] if unranked else []
        return Gold(scores, means | self._raw(), self.tie, self.top), notes

    def _raw(self) -> dict[str, float]:
        """The official raw scores; empty if the file has none."""
        assert self.gold is not None
        try:
            return read_ranking(self.gold, column="RAW.SCR")
        except InputError:
            return {}


def mean_scores(recording: Recording) -> dict[str, float]:
    """The mean human score of every rated system, on 0-100, rounded so that equal scores in another order are equal."""
    rated = ~np.isnan(recording.scores)
    counts = rated.sum(axis=1)
    sums = np.nansum(recording.scores, axis=1)
    named = zip(recording.systems, sums, counts, strict=True)
    return {name: round(100 * float(total) / int(count), DECIMALS) for name, total, count in named if count}


def _unrated(recording: Recording) -> list[str]:
    unrated = [n for n, row in zip(recording.systems, recording.scores, strict=True) if np.isnan(row).all()]
    return [f"systems without any rating, which no policy can find: {', '.join(unrated)}"] if unrated else []


def _matches(name: str, pattern: str) -> bool:
    return fnmatchcase(name.lower(), pattern.lower())
