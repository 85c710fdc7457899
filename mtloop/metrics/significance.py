"""Is the difference real? Intervals and paired tests for every metric that aggregates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mtloop.core.errors import InputError
from mtloop.metrics.base import Additive, Array

_CELLS = 10**7  # of resamples times segments at a time: bounds the memory, not the result


@dataclass(frozen=True)
class Comparison:
    """A system against a baseline: the difference of scores, its 95 % interval and the chance of a fluke."""

    difference: float
    interval: tuple[float, float]
    p_value: float
    test: str

    @property
    def mark(self) -> str:
        """Stars as tables show them: p < 0.05, 0.01, 0.001."""
        return "*" * sum(self.p_value < limit for limit in (0.05, 0.01, 0.001))


def bootstrap(metric: Additive, rows: Array, samples: int = 1000, seed: int = 1) -> tuple[float, float]:
    """The 95 % interval of a score, by resampling segments."""
    scores = np.concatenate([metric.aggregate(draw @ rows) for draw in _draws(len(rows), samples, seed)])
    return _interval(scores)


def paired_bootstrap(metric: Additive, rows: Array, baseline: Array, samples: int = 1000, seed: int = 1) -> Comparison:
    """Resample the same segments for both systems (Koehn, 2004), differences centred for the p-value."""
    _check_paired(rows, baseline)
    draws = _draws(len(rows), samples, seed)
    drawn = np.concatenate([metric.aggregate(draw @ rows) - metric.aggregate(draw @ baseline) for draw in draws])
    observed = _difference(metric, rows, baseline)
    p_value = _p_value(_centred(drawn), observed)
    return Comparison(observed, _interval(drawn), p_value, f"bs:{samples}|seed:{seed}")


def randomisation(metric: Additive, rows: Array, baseline: Array, samples: int = 1000, seed: int = 1) -> Comparison:
    """Swap the systems' outputs at random (Riezler and Maxwell, 2005): how often is the gap as wide by chance?"""
    _check_paired(rows, baseline)
    observed = _difference(metric, rows, baseline)
    gaps = np.concatenate(list(_swapped_gaps(metric, rows, baseline, samples, seed)))
    interval = paired_bootstrap(metric, rows, baseline, samples, seed).interval
    return Comparison(observed, interval, _p_value(gaps, observed), f"ar:{samples}|seed:{seed}")


def _swapped_gaps(metric: Additive, rows: Array, baseline: Array, samples: int, seed: int) -> Iterator[Array]:
    rng = np.random.default_rng(seed)
    total, change = rows.sum(axis=0) + baseline.sum(axis=0), baseline - rows
    for size in _sizes(samples, len(rows)):
        ours = rows.sum(axis=0) + rng.integers(0, 2, (size, len(rows))).astype(float) @ change
        yield metric.aggregate(ours) - metric.aggregate(total - ours)


def _draws(segments: int, samples: int, seed: int) -> Iterator[Array]:
    """How often each segment is drawn in each resample, a chunk of resamples at a time."""
    rng = np.random.default_rng(seed)
    share = np.full(segments, 1 / segments)
    for size in _sizes(samples, segments):
        yield rng.multinomial(segments, share, size=size).astype(float)


def _sizes(samples: int, segments: int) -> Iterator[int]:
    chunk = max(1, _CELLS // max(1, segments))
    for start in range(0, samples, chunk):
        yield min(chunk, samples - start)


def _difference(metric: Additive, rows: Array, baseline: Array) -> float:
    ours, theirs = metric.aggregate(np.stack([rows.sum(axis=0), baseline.sum(axis=0)]))
    return float(ours - theirs)


def _centred(gaps: Array) -> Array:
    defined = gaps[~np.isnan(gaps)]
    return defined - defined.mean() if defined.size else defined


def _p_value(gaps: Array, observed: float) -> float:
    """How often chance alone gives as wide a gap, the observed one counted in; undefined where either is 0/0."""
    defined = gaps[~np.isnan(gaps)]
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
        raise InputError(f"a paired test needs the same segments: {len(rows)} against {len(baseline)}")
