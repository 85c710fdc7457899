"""The percentage slope of a learning curve (2012): one number for how fast errors fall.

Errors are fitted with y = a * x^b, least squares in log-log; S = 100 * 2^b is what is left of the errors each
time the amount of text doubles. 100 is no learning, below is learning, above is forgetting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mtloop.core.types import JSON, Score, Step
from mtloop.metrics.base import Additive, Array, divide
from mtloop.metrics.curves import block_sums, blocks, without_model
from mtloop.metrics.quality import TER

Model = Literal["u", "ca"]
ROUNDING = 1e-9  # an interval this close to 100 covers it
NO_ERROR = 1e-9  # a perfect BLEU is 100 only up to rounding


@dataclass(frozen=True)
class Fit:
    """y = a * x^b, and the share of the variance of log y that it explains."""

    a: float
    b: float
    r2: float

    @property
    def slope(self) -> float:
        return float(100 * 2**self.b)

    def __call__(self, x: Array) -> Array:
        return self.a * x**self.b


def fit(errors: Array) -> Fit:
    """Fit a learning curve to the errors of block 1, 2, 3, ...; a block that is 0/0 (NaN) is left out.

    >>> round(fit(40 * np.arange(1, 9) ** -0.1).slope, 6)
    93.303299
    """
    defined = ~np.isnan(errors)
    x, y = np.log(np.arange(1, len(errors) + 1))[defined], np.log(errors[defined])
    b = _exponents(np.log(errors)[None])[0]
    log_a = y.mean() - b * x.mean()
    spread = float(((y - y.mean()) ** 2).sum())
    left = float(((y - log_a - b * x) ** 2).sum())
    return Fit(float(np.exp(log_a)), float(b), 1 - left / spread if spread else 1.0)


class Slope:
    """Percentage slope S of a metric's errors: the metric itself if lower is better (TER), else 100 minus it (BLEU).

    `model` "u" fits the errors of each block, "ca" those of all blocks so far. The interval resamples segments
    within blocks and refits. A block without errors has no logarithm: it is given half an edit, that is half of
    one reference word (TER) or half of the smallest error of any block (other metrics). One that is 0/0 is left out,
    and so are the first ones if the system had no model yet when it proposed there.
    """

    def __init__(
        self, metric: Additive, model: Model = "ca", words: int = 1000, samples: int = 1000, seed: int = 1
    ) -> None:
        self.metric, self.model, self.words, self.samples, self.seed = metric, model, words, samples, seed
        self.name = f"slope-{model}" if metric.name == "ter" else f"slope-{model}-{metric.name}"

    @property
    def signature(self) -> str:
        errors = self.metric.name if not self.metric.higher_is_better else f"{self.metric.best:g}-{self.metric.name}"
        parts = f"model:{self.model}|errors:{errors}|block:{self.words}w|bs:{self.samples}|seed:{self.seed}"
        return f"{parts}|{self.metric.signature}"

    def score(self, steps: Sequence[Step]) -> Score:
        ends = blocks(steps, self.words)
        return self.score_rows(self.metric.rows(steps), ends, without_model(steps, ends))

    def score_rows(self, rows: Array, ends: NDArray[np.intp], first: int = 0) -> Score:
        """The slope of rows computed before, with a 95 % interval and an honest verdict, without the `first` blocks."""
        cut = block_sums(rows, ends)[first:] if len(ends) else np.empty((0, rows.shape[1]))
        sums = self._summed(cut[None])
        observed = self._observed(sums)[0]
        detail: dict[str, JSON] = {"blocks": int(np.sum(~np.isnan(observed)))}
        if why := _why_no_slope(observed):
            return Score(self.name, float("nan"), self.signature, detail=detail | {"verdict": why})
        fitted = fit(_behind(first, self._without_zeros(observed[None], sums))[0])
        low, high = self._interval(rows, ends, first)
        detail |= {"a": fitted.a, "b": fitted.b, "r2": fitted.r2, "verdict": verdict(low, high)}
        return Score(self.name, fitted.slope, self.signature, interval=(low, high), detail=detail)

    def errors(self, sums: Array, first: int = 0) -> Array:
        """Block sums of many resamples, (samples, blocks, columns), to errors (samples, blocks); `first` are NaN."""
        summed = self._summed(sums[:, first:])
        return _behind(first, self._without_zeros(self._observed(summed), summed))

    def _summed(self, sums: Array) -> Array:
        return np.cumsum(sums, axis=1) if self.model == "ca" else sums

    def _observed(self, summed: Array) -> Array:
        values = self.metric.aggregate(summed.reshape(-1, summed.shape[-1])).reshape(summed.shape[:-1])
        return self.metric.best - values if self.metric.higher_is_better else values

    def _without_zeros(self, errors: Array, sums: Array) -> Array:
        if isinstance(self.metric, TER):
            half = 50 / np.maximum(sums[..., 1], 1)
        else:
            smallest = np.min(errors, axis=-1, keepdims=True, initial=np.inf, where=errors > NO_ERROR)
            half = np.where(np.isinf(smallest), 1.0, smallest) / 2
        return np.where(errors <= NO_ERROR, half, errors)

    def _interval(self, rows: Array, ends: NDArray[np.intp], first: int) -> tuple[float, float]:
        rng = np.random.default_rng(self.seed)
        starts = np.concatenate([[0], ends[:-1]])
        cut = [rows[start:end] for start, end in zip(starts, ends, strict=True)]
        sums = np.stack([_resampled(block, self.samples, rng) for block in cut], axis=1)
        slopes = 100 * 2 ** _exponents(np.log(self.errors(sums, first)))
        low, high = np.nanpercentile(slopes, [2.5, 97.5])
        return float(low), float(high)


def _behind(first: int, errors: Array) -> Array:
    """Errors behind `first` blocks that have none: a block keeps its number."""
    return np.concatenate([np.full((len(errors), first), np.nan), errors], axis=1)


def verdict(low: float, high: float) -> str:
    """What an interval of S allows one to say.

    >>> verdict(97.1, 99.2), verdict(99.0, 100.5)
    ('learning', 'no learning shown')
    """
    if high < 100 - ROUNDING:
        return "learning"
    return "forgetting" if low > 100 + ROUNDING else "no learning shown"


def _why_no_slope(errors: Array) -> str:
    """What keeps a slope from being fitted; empty when nothing does."""
    if np.sum(~np.isnan(errors)) < 3:
        return "too short: a slope needs three blocks or more"
    return "" if np.any(errors > NO_ERROR) else "no errors: nothing to learn"


def _exponents(logs: Array) -> Array:
    """The least-squares b of each row of log errors, over its defined ones."""
    weights = (~np.isnan(logs)).astype(float)
    x = np.log(np.arange(1, logs.shape[1] + 1))
    x = (x - divide(weights @ x, weights.sum(axis=1))[:, None]) * weights
    return divide((x * np.nan_to_num(logs)).sum(axis=1), (x**2).sum(axis=1))


def _resampled(block: Array, samples: int, rng: np.random.Generator) -> Array:
    """The sum of a block's rows, drawn with replacement, `samples` times."""
    share = np.full(len(block), 1 / len(block))
    return rng.multinomial(len(block), share, size=samples) @ block
