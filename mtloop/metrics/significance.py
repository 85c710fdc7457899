"""Confidence intervals and paired significance tests for every additive metric."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mtloop.core.errors import InputError
from mtloop.metrics.base import Additive, Array

QUANTILE = 1.959963984540054  # of the normal distribution, for an interval of 95 %
_CELLS = 10**7  # resamples times segments in one chunk: bounds the memory and does not change the result


@dataclass(frozen=True)
class Comparison:
    """A system compared with a baseline: the difference of their scores, its 95 % interval and the p-value."""

    difference: float
    interval: tuple[float, float]
    p_value: float
    test: str

    @property
    def mark(self) -> str:
        """One, two or three stars for p < 0.05, 0.01, 0.001; empty otherwise."""
        return "*" * sum(self.p_value < limit for limit in (0.05, 0.01, 0.001))


def wilson_interval(count: int, total: int) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson, 1927), which is right for few cases and near 0 and 1 too.

    >>> low, high = wilson_interval(0, 120)
    >>> round(low, 3), round(high, 3)
    (0.0, 0.031)
    """
    share, width = count / total, QUANTILE**2 / total
    middle = share + width / 2
    spread = math.sqrt(width * (share * (1 - share) + width / 4))
    return max(0.0, (middle - spread) / (1 + width)), min(1.0, (middle + spread) / (1 + width))


def bootstrap(metric: Additive, rows: Array, resamples: int = 1000, seed: int = 1) -> tuple[float, float]:
    """Return the 95 % interval of a score, by resampling segments."""
    scores = np.concatenate([metric.aggregate(draw @ rows) for draw in _draws(len(rows), resamples, seed)])
    return _interval(scores)


def paired_bootstrap(
    metric: Additive, rows: Array, baseline: Array, resamples: int = 1000, seed: int = 1
) -> Comparison:
    """Resample the same segments for both systems (Koehn, 2004); the p-value uses centred differences."""
    _check_paired(rows, baseline)
    draws = _draws(len(rows), resamples, seed)
    drawn = np.concatenate([metric.aggregate(draw @ rows) - metric.aggregate(draw @ baseline) for draw in draws])
    observed = _difference(metric, rows, baseline)
    p_value = _p_value(_centred(drawn), observed)
    return Comparison(observed, _interval(drawn), p_value, f"bs:{resamples}|seed:{seed}")


def randomisation(metric: Additive, rows: Array, baseline: Array, resamples: int = 1000, seed: int = 1) -> Comparison:
    """Approximate randomisation (Riezler and Maxwell, 2005): swap the systems' outputs at random.

    The p-value is the share of resamples whose difference is at least as large as the observed one.
    """
    _check_paired(rows, baseline)
    observed = _difference(metric, rows, baseline)
    differences = np.concatenate(list(_swapped_differences(metric, rows, baseline, resamples, seed)))
    interval = paired_bootstrap(metric, rows, baseline, resamples, seed).interval
    return Comparison(observed, interval, _p_value(differences, observed), f"ar:{resamples}|seed:{seed}")


def mean_difference(differences: Array, resamples: int = 1000, seed: int = 1) -> Comparison:
    """Compare two systems by the mean of paired differences, such as one per document; 0/0 is left out.

    The interval comes from resampled differences. The p-value is the share of random swaps whose mean is at least
    as large as the observed one.
    """
    known = differences[~np.isnan(differences)]
    if not known.size:
        return Comparison(float("nan"), (float("nan"), float("nan")), float("nan"), f"ar:{resamples}|seed:{seed}")
    drawn = np.concatenate([draw @ known for draw in _draws(known.size, resamples, seed)]) / known.size
    rng, observed = np.random.default_rng(seed), float(known.mean())
    signs = [rng.choice((-1.0, 1.0), (size, known.size)) for size in _sizes(resamples, known.size)]
    p_value = _p_value(np.concatenate([one @ known for one in signs]) / known.size, observed)
    return Comparison(observed, _interval(drawn), p_value, f"ar:{resamples}|seed:{seed}")


def _swapped_differences(metric: Additive, rows: Array, baseline: Array, resamples: int, seed: int) -> Iterator[Array]:
    rng = np.random.default_rng(seed)
    total, change = rows.sum(axis=0) + baseline.sum(axis=0), baseline - rows
    for size in _sizes(resamples, len(rows)):
        ours = rows.sum(axis=0) + rng.integers(0, 2, (size, len(rows))).astype(float) @ change
        yield metric.aggregate(ours) - metric.aggregate(total - ours)


def _draws(segments: int, resamples: int, seed: int) -> Iterator[Array]:
    """Yield how often each segment is drawn in each resample, one chunk of resamples at a time."""
    rng = np.random.default_rng(seed)
    share = np.full(segments, 1 / segments)
    for size in _sizes(resamples, segments):
        yield rng.multinomial(segments, share, size=size).astype(float)


def _sizes(resamples: int, segments: int) -> Iterator[int]:
    chunk = max(1, _CELLS // max(1, segments))
    for start in range(0, resamples, chunk):
        yield min(chunk, resamples - start)


def _difference(metric: Additive, rows: Array, baseline: Array) -> float:
    ours, theirs = metric.aggregate(np.stack([rows.sum(axis=0), baseline.sum(axis=0)]))
    return float(ours - theirs)


def _centred(differences: Array) -> Array:
    defined = differences[~np.isnan(differences)]
    return defined - defined.mean() if defined.size else defined


def _p_value(differences: Array, observed: float) -> float:
    """Return how often chance gives at least the observed difference, which counts too; NaN if either is 0/0."""
    defined = differences[~np.isnan(differences)]
    if np.isnan(observed) or not defined.size:
        return float("nan")
    extreme = np.sum(np.abs(defined) >= abs(observed) - 1e-12)
    return float((extreme + 1) / (len(defined) + 1))


def _interval(scores: Array) -> tuple[float, float]:
    if np.isnan(scores).all():
        return float("nan"), float("nan")
    low, high = np.nanpercentile(scores, [2.5, 97.5])
    return float(low), float(high)


def _check_paired(rows: Array, baseline: Array) -> None:
    if rows.shape != baseline.shape:
        raise InputError(f"a paired test needs the same segments for both systems: {len(rows)} against {len(baseline)}")
