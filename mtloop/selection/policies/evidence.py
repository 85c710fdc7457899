"""Estimates of the systems' mean scores from the ratings so far: a mixed model of systems and segments."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mtloop.core.types import JSON
from mtloop.selection.policies.batch_policy import Array, Mask

MAX_PAIRED_SYSTEMS = 100  # with more systems the full covariance matrix is too slow; only variances are used
PRIOR_DEVIATION = 0.05  # the standard deviation assumed for a system before enough of its scores are known


@dataclass(frozen=True, eq=False)
class MeanEstimate:
    """The estimated mean of every system (NaN: never rated), and the covariance of the estimates.

    `covariance` is a matrix, or only its diagonal if there are too many systems.
    """

    means: Array
    covariance: Array

    def variance_between(self, left: int) -> Array:
        """The variance of the difference between this system's mean and each other mean."""
        if self.covariance.ndim == 1:
            independent: Array = self.covariance[left] + self.covariance
            return independent
        own = np.diag(self.covariance)
        between: Array = own[left] + own - 2 * self.covariance[left]
        return between


class Evidence:
    """The ratings of one run by segment. `horizon` is the total number of segments (None: no limit).

    `asked` counts for each system how often a rating was requested. `closed` counts the segments that need
    no more ratings of the system: it is rated there, or a rating was requested and will never exist. A request that is
    not answered yet does not count.
    """

    def __init__(self, systems: int, horizon: int | None = None) -> None:
        self.systems, self.horizon = systems, horizon
        self.asked, self.closed = np.zeros(systems), np.zeros(systems)
        self._rows = np.full((64, systems), np.nan)
        self._row_of: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._row_of)

    @property
    def scores(self) -> Array:
        """Segments x systems; NaN where there is no rating."""
        return self._rows[: len(self)]

    @property
    def rated(self) -> Array:
        """The number of ratings of every system."""
        counts: Array = (~np.isnan(self.scores)).sum(axis=0).astype(float)
        return counts

    def add(self, segment: str, scores: Array, asked: Mask, never_rated: Mask | None = None) -> None:
        """Add the ratings of one segment. They may arrive one by one; a second rating of a cell replaces the first.

        `never_rated` marks the cells that will never get a rating.
        """
        name = segment or f"\0{len(self)}"  # a segment without an id is a new segment
        if name not in self._row_of:
            self._row_of[name] = len(self)
            self._grow()
        row = self._rows[self._row_of[name]]
        unknown, rated = np.isnan(row), ~np.isnan(scores)
        self.asked += asked & unknown
        self.closed += unknown & (rated if never_rated is None else rated | asked & never_rated)
        row[rated] = scores[rated]

    def estimate(self) -> MeanEstimate:
        """Generalised least squares under score = mean of the system + effect of the segment + noise.

        The effect of a segment (an easy segment, a lenient rater) is common to all systems rated on it. It cancels in
        their differences, even if not every system was rated. The variance shrinks with the share of the segments that
        are closed (the finite-population correction).
        """
        scores = self.scores
        rated = ~np.isnan(scores)
        counts = rated.sum(axis=0)
        means = np.divide(np.nansum(scores, axis=0), counts, out=np.full(self.systems, np.nan), where=counts > 0)
        residuals = np.where(rated, scores - np.nan_to_num(means), 0.0)
        variance = ((residuals**2).sum(axis=0) + PRIOR_DEVIATION**2) / np.maximum(counts - 1, 1)
        shared = _shared_variance(residuals, rated, variance) if self.systems <= MAX_PAIRED_SYSTEMS else 0.0
        if shared == 0.0:
            return MeanEstimate(means, variance / np.maximum(counts, 1) * self._open_share())
        return self._joint_estimate(scores, rated, means, variance - shared, shared)

    def _joint_estimate(self, scores: Array, rated: Mask, means: Array, noise: Array, shared: float) -> MeanEstimate:
        precision = rated / noise
        centre = float(np.nanmean(means))
        centred = np.where(rated, scores - centre, 0.0)
        shrinkage = 1 / (1 / shared + precision.sum(axis=1))
        weighted = precision * shrinkage[:, None]
        information = np.diag(precision.sum(axis=0) + (~rated.any(axis=0))) - weighted.T @ precision
        moments = (precision * centred).sum(axis=0) - weighted.T @ (precision * centred).sum(axis=1)
        covariance = np.linalg.inv(information)
        found = np.where(np.isnan(means), np.nan, centre + covariance @ moments)
        scale = np.sqrt(self._open_share())
        return MeanEstimate(found, covariance * np.outer(scale, scale))

    def _open_share(self) -> Array:
        """The share of segments that are not closed, for every system."""
        if self.horizon is None:
            return np.ones(self.systems)
        return np.clip(1 - self.closed / self.horizon, 0.0, 1.0)

    def _grow(self) -> None:
        if len(self) > len(self._rows):
            self._rows = np.concatenate([self._rows, np.full_like(self._rows, np.nan)])

    def state(self) -> JSON:
        """Ratings and requests as plain JSON; cells without a rating are left out."""
        rows: list[JSON] = [
            [name, {str(index): float(row[index]) for index in np.flatnonzero(~np.isnan(row))}]
            for name, row in zip(self._row_of, self.scores, strict=True)
        ]
        asked: list[JSON] = list(self.asked.tolist())
        closed: list[JSON] = list(self.closed.tolist())
        return {"rows": rows, "asked": asked, "closed": closed}

    def restore(
        self, rows: Iterable[tuple[str, dict[str, float]]], asked: Iterable[float], closed: Iterable[float]
    ) -> None:
        """Restore what `state` returned."""
        none_asked = np.zeros(self.systems, bool)
        for name, cells in rows:
            row = np.full(self.systems, np.nan)
            row[[int(index) for index in cells]] = list(cells.values())
            self.add(name, row, none_asked)
        self.asked, self.closed = np.array(list(asked)), np.array(list(closed))


def _shared_variance(residuals: Array, rated: Mask, variance: Array) -> float:
    """The variance that systems share on a segment: the mean product of two systems' residuals on it."""
    counts = rated.sum(axis=1)
    pairs = float((counts * (counts - 1)).sum())
    if not pairs:
        return 0.0
    products = float((residuals.sum(axis=1) ** 2 - (residuals**2).sum(axis=1)).sum())
    return float(np.clip(products / pairs, 0.0, 0.9 * variance[rated.any(axis=0)].min()))
