"""The percentage slope of a learning curve (2012): one number for how fast errors fall.

Errors are fitted with y = a * x^b by least squares in log-log space. S = 100 * 2^b is the percentage of errors that
remains each time the amount of text doubles: 100 is no learning, below 100 is learning, above 100 is forgetting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mtloop.core.types import JSON, Score, Step
from mtloop.metrics.base import Additive, Array, divide
from mtloop.metrics.curves import BlockWords, block_ends, block_sums, count_blocks_without_model
from mtloop.metrics.quality import TER

Model = Literal["u", "ca"]
ROUNDING = 1e-9  # an interval that ends this close to 100 includes 100
NO_ERROR = 1e-9  # errors up to this count as none: a perfect BLEU is 100 only up to rounding


@dataclass(frozen=True)
class Fit:
    """The curve y = a * x^b, and R²: the share of the variance of log y that it explains."""

    a: float
    b: float
    r2: float

    @property
    def slope(self) -> float:
        return float(100 * 2**self.b)

    def __call__(self, x: Array) -> Array:
        return self.a * x**self.b


def fit(errors: Array) -> Fit:
    """Fit a learning curve to the errors of blocks 1, 2, 3, ...; blocks with NaN (0/0) are left out.

    >>> round(fit(40 * np.arange(1, 9) ** -0.1).slope, 6)
    93.303299
    """
    defined = ~np.isnan(errors)
    x, y = np.log(np.arange(1, len(errors) + 1))[defined], np.log(errors[defined])
    b = _exponents(np.log(errors)[None])[0]
    log_a = y.mean() - b * x.mean()
    total = float(((y - y.mean()) ** 2).sum())
    residual = float(((y - log_a - b * x) ** 2).sum())
    return Fit(float(np.exp(log_a)), float(b), 1 - residual / total if total else 1.0)


class Slope:
    """Percentage slope S of a metric's errors: the metric itself if lower is better (TER), else 100 minus it (BLEU).

    `model` "u" fits the errors of each block, "ca" those of all blocks so far. The 95 % interval resamples segments
    within blocks and fits again. Zero errors have no logarithm: such a block counts as half an edit (TER) or as half
    of the smallest error of any block (other metrics). Blocks with 0/0 are left out, and so are the first blocks if
    the system had no model there.
    """

    def __init__(
        self,
        metric: Additive,
        model: Model = "ca",
        words: int = 1000,
        resamples: int = 1000,
        seed: int = 1,
        counting: BlockWords | None = None,
    ) -> None:
        self.metric, self.model, self.words, self.resamples, self.seed = metric, model, words, resamples, seed
        self.counting = counting or BlockWords()
        self.name = f"slope-{model}" if metric.name == "ter" else f"slope-{model}-{metric.name}"

    @property
    def signature(self) -> str:
        name = self.metric.name
        errors = name if not self.metric.higher_is_better else f"{self.metric.best_score:g}-{name}"
        block = f"{self.words}w{self.counting.signature}"
        parts = f"model:{self.model}|errors:{errors}|block:{block}|bs:{self.resamples}|seed:{self.seed}"
        return f"{parts}|{self.metric.signature}"

    def of_stream(self, steps: Sequence[Step]) -> Slope:
        """Return the slope whose signature names only the tokeniser that counts the words of this stream."""
        counting = self.counting.of_stream(steps)
        return Slope(self.metric, self.model, self.words, self.resamples, self.seed, counting)

    def score(self, steps: Sequence[Step]) -> Score:
        ends = block_ends(steps, self.words, self.counting)
        skipped = count_blocks_without_model(steps, ends)
        return self.of_stream(steps).score_rows(self.metric.rows(steps), ends, skipped)

    def score_rows(self, rows: Array, ends: NDArray[np.intp], skipped: int = 0) -> Score:
        """Return the slope of precomputed rows, its 95 % interval and a verdict, without the first `skipped` blocks."""
        per_block = block_sums(rows, ends)[skipped:] if len(ends) else np.empty((0, rows.shape[1]))
        sums = self._model_sums(per_block[None])
        observed = self._observed_errors(sums)[0]
        detail: dict[str, JSON] = {"blocks": int(np.sum(~np.isnan(observed)))}
        if reason := _reason_without_slope(observed):
            return Score(self.name, float("nan"), self.signature, detail=detail | {"verdict": reason})
        fitted = fit(_prepend_nan(skipped, self._without_zeros(observed[None], sums))[0])
        low, high = self._interval(rows, ends, skipped)
        detail |= {"a": fitted.a, "b": fitted.b, "r2": fitted.r2, "verdict": verdict(low, high)}
        return Score(self.name, fitted.slope, self.signature, interval=(low, high), detail=detail)

    def errors(self, sums: Array, skipped: int = 0) -> Array:
        """Return errors (resamples, blocks) for block sums (resamples, blocks, columns); the `skipped` ones are NaN."""
        summed = self._model_sums(sums[:, skipped:])
        return _prepend_nan(skipped, self._without_zeros(self._observed_errors(summed), summed))

    def _model_sums(self, sums: Array) -> Array:
        """Return cumulative sums over blocks for the model "ca", the sums of each block for "u"."""
        return np.cumsum(sums, axis=1) if self.model == "ca" else sums

    def _observed_errors(self, summed: Array) -> Array:
        values = self.metric.aggregate(summed.reshape(-1, summed.shape[-1])).reshape(summed.shape[:-1])
        return self.metric.best_score - values if self.metric.higher_is_better else values

    def _without_zeros(self, errors: Array, sums: Array) -> Array:
        """Replace zero errors by half an edit (TER) or half of the smallest error (other metrics)."""
        if isinstance(self.metric, TER):
            half = 50 / np.maximum(sums[..., 1], 1)
        else:
            smallest = np.min(errors, axis=-1, keepdims=True, initial=np.inf, where=errors > NO_ERROR)
            half = np.where(np.isinf(smallest), 1.0, smallest) / 2
        return np.where(errors <= NO_ERROR, half, errors)

    def _interval(self, rows: Array, ends: NDArray[np.intp], skipped: int) -> tuple[float, float]:
        rng = np.random.default_rng(self.seed)
        starts = np.concatenate([[0], ends[:-1]])
        blocks = [rows[start:end] for start, end in zip(starts, ends, strict=True)]
        sums = np.stack([_resampled_sums(block, self.resamples, rng) for block in blocks], axis=1)
        slopes = 100 * 2 ** _exponents(np.log(self.errors(sums, skipped)))
        low, high = np.nanpercentile(slopes, [2.5, 97.5])
        return float(low), float(high)


def _prepend_nan(skipped: int, errors: Array) -> Array:
    """Put NaN columns for the skipped blocks in front, so that every block keeps its number."""
    return np.concatenate([np.full((len(errors), skipped), np.nan), errors], axis=1)


def verdict(low: float, high: float) -> str:
    """Return "learning" if the interval of S is below 100, "forgetting" if it is above, else "no learning shown".

    >>> verdict(97.1, 99.2), verdict(99.0, 100.5)
    ('learning', 'no learning shown')
    """
    if high < 100 - ROUNDING:
        return "learning"
    return "forgetting" if low > 100 + ROUNDING else "no learning shown"


def _reason_without_slope(errors: Array) -> str:
    """Return the reason why no slope can be fitted; empty if one can."""
    if np.sum(~np.isnan(errors)) < 3:
        return "too short: a slope needs three blocks or more"
    return "" if np.any(errors > NO_ERROR) else "no errors: nothing to learn"


def _exponents(logs: Array) -> Array:
    """Return the least-squares exponent b of each row of log errors; NaN entries are left out."""
    weights = (~np.isnan(logs)).astype(float)
    x = np.log(np.arange(1, logs.shape[1] + 1))
    x = (x - divide(weights @ x, weights.sum(axis=1))[:, None]) * weights
    return divide((x * np.nan_to_num(logs)).sum(axis=1), (x**2).sum(axis=1))


def _resampled_sums(block: Array, resamples: int, rng: np.random.Generator) -> Array:
    """Return `resamples` sums of the block's rows, drawn with replacement."""
    share = np.full(len(block), 1 / len(block))
    return rng.multinomial(len(block), share, size=resamples) @ block
