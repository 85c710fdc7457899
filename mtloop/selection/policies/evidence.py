"""What the ratings so far say about the systems' means: a mixed model of systems and segments."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mtloop.core.types import JSON
from mtloop.selection.policies.batch_policy import Array, Mask

PAIRED_UP_TO = 100  # systems; beyond that a joint covariance costs more than pairing gains
DOUBT = 0.05  # a standard deviation that is believed of a system before its own is known


@dataclass(frozen=True, eq=False)
class MeanEstimate:
    """Means of the systems (NaN: never rated) and what is not known about them.

    `covariance` is theirs, or only its diagonal where there are too many systems.
    """

    means: Array
    covariance: Array

    def variance_between(self, left: int) -> Array:
        """The variance of this system's mean less each other's."""
        if self.covariance.ndim == 1:
            apart: Array = self.covariance[left] + self.covariance
            return apart
        own = np.diag(self.covariance)
        between: Array = own[left] + own - 2 * self.covariance[left]
        return between


class Evidence:
    """Ratings by segment, of one run. `horizon` is the number of segments there are, if there is an end to them.

    `asked` counts for each system how often it was asked about, `closed` of how many segments there is nothing more to
    learn about it: it was rated there, or will never be. An asking that got no answer closes nothing.
    """

    def __init__(self, systems: int, horizon: int | None = None) -> None:
        self.systems, self.horizon = systems, horizon
        self.asked, self.closed = np.zeros(systems), np.zeros(systems)
        self._rows = np.full((64, systems), np.nan)
        self._places: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._places)

    @property
    def scores(self) -> Array:
        """Segments x systems."""
        return self._rows[: len(self)]

    @property
    def rated(self) -> Array:
        counts: Array = (~np.isnan(self.scores)).sum(axis=0).astype(float)
        return counts

    def add(self, segment: str, scores: Array, asked: Mask, lacking: Mask | None = None) -> None:
        """Ratings of one segment that come one by one belong together; a second of the same cell takes its place.

        `lacking` are the cells that nobody will ever rate.
        """
        name = segment or f"\0{len(self)}"  # without a name, it is a segment of its own
        if name not in self._places:
            self._places[name] = len(self)
            self._make_room()
        row = self._rows[self._places[name]]
        unknown, heard = np.isnan(row), ~np.isnan(scores)
        self.asked += asked & unknown
        self.closed += unknown & (heard if lacking is None else heard | asked & lacking)
        row[heard] = scores[heard]

    def estimate(self) -> MeanEstimate:
        """Generalised least squares under score = mean of the system + effect of the segment + noise.

        The effect of a segment (an easy one, a lenient rater) is common to all systems rated on it and drops out of
        their differences, also where not every system was rated. The more of the segments there are have been looked
        at, the less there is left to be wrong about (the finite-population correction).
        """
        scores = self.scores
        seen = ~np.isnan(scores)
        counts = seen.sum(axis=0)
        means = np.divide(np.nansum(scores, axis=0), counts, out=np.full(self.systems, np.nan), where=counts > 0)
        rest = np.where(seen, scores - np.nan_to_num(means), 0.0)
        spread = ((rest**2).sum(axis=0) + DOUBT**2) / np.maximum(counts - 1, 1)
        shared = _shared(rest, seen, spread) if self.systems <= PAIRED_UP_TO else 0.0
        if shared == 0.0:
            return MeanEstimate(means, spread / np.maximum(counts, 1) * self._left())
        return self._joint(scores, seen, means, spread - shared, shared)

    def _joint(self, scores: Array, seen: Mask, means: Array, noise: Array, shared: float) -> MeanEstimate:
        precision = seen / noise
        centre = float(np.nanmean(means))
        centred = np.where(seen, scores - centre, 0.0)
        pull = 1 / (1 / shared + precision.sum(axis=1))
        weighted = precision * pull[:, None]
        information = np.diag(precision.sum(axis=0) + (~seen.any(axis=0))) - weighted.T @ precision
        told = (precision * centred).sum(axis=0) - weighted.T @ (precision * centred).sum(axis=1)
        covariance = np.linalg.inv(information)
        found = np.where(np.isnan(means), np.nan, centre + covariance @ told)
        left = np.sqrt(self._left())
        return MeanEstimate(found, covariance * np.outer(left, left))

    def _left(self) -> Array:
        """The share of segments that could still tell something, for every system."""
        if self.horizon is None:
            return np.ones(self.systems)
        return np.clip(1 - self.closed / self.horizon, 0.0, 1.0)

    def _make_room(self) -> None:
        if len(self) > len(self._rows):
            self._rows = np.concatenate([self._rows, np.full_like(self._rows, np.nan)])

    def state(self) -> JSON:
        """Ratings and askings as plain JSON; a cell without a rating is absent."""
        rows: list[JSON] = [
            [name, {str(place): float(row[place]) for place in np.flatnonzero(~np.isnan(row))}]
            for name, row in zip(self._places, self.scores, strict=True)
        ]
        asked: list[JSON] = list(self.asked.tolist())
        closed: list[JSON] = list(self.closed.tolist())
        return {"rows": rows, "asked": asked, "closed": closed}

    def restore(
        self, rows: Iterable[tuple[str, dict[str, float]]], asked: Iterable[float], closed: Iterable[float]
    ) -> None:
        nobody = np.zeros(self.systems, bool)
        for name, cells in rows:
            row = np.full(self.systems, np.nan)
            row[[int(place) for place in cells]] = list(cells.values())
            self.add(name, row, nobody)
        self.asked, self.closed = np.array(list(asked)), np.array(list(closed))


def _shared(rest: Array, seen: Mask, spread: Array) -> float:
    """The variance that systems share on a segment: the mean product of two systems' deviations there."""
    counts = seen.sum(axis=1)
    pairs = float((counts * (counts - 1)).sum())
    if not pairs:
        return 0.0
    products = float((rest.sum(axis=1) ** 2 - (rest**2).sum(axis=1)).sum())
    return float(np.clip(products / pairs, 0.0, 0.9 * spread[seen.any(axis=0)].min()))
