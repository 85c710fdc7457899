"""Off-policy estimators of the value of a policy from logged rewards (Lawrence et al., 2017), with their gradients.

    ips                V = mean of rho * R                            rho = p_new(y) / p_logged(y), at most `max_weight`
    reweighted         V = sum of rho * R / sum of rho                self-normalised: raising all rho gains nothing
    doubly-controlled  V = reweighted(R - c * r) + c * mean of r      r: predicted reward, to reduce the variance

A value is a function of log-probabilities. Its gradient is one number per translation, which multiplies the gradient of
that translation's log-probability. If the logged policy was deterministic, p_logged is 1, so rho is the new
probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from mtloop.bandits.ridge import Ridge, Vector

EMPTY = np.zeros(0)


@dataclass(frozen=True)
class LoggedBatch:
    """Logged translations: log rho (`log_ratios`), `rewards`, predicted rewards (`predicted`).

    New samples: log rho (`sampled`) and predicted rewards (`sampled_predicted`). Their rho is relative to the policy
    that sampled them, so `sampled` is all zero if the weights have not changed since.
    `control` is c; `max_weight` is the limit of rho of the logged translations.
    """

    log_ratios: Vector
    rewards: Vector
    predicted: Vector = field(default_factory=lambda: EMPTY)
    sampled: Vector = field(default_factory=lambda: EMPTY)
    sampled_predicted: Vector = field(default_factory=lambda: EMPTY)
    control: float = 1.0
    max_weight: float = math.inf


@dataclass(frozen=True)
class ValueEstimate:
    """The value, and its derivative with respect to the log-probability of each logged and each sampled translation."""

    value: float
    logged: Vector
    sampled: Vector = field(default_factory=lambda: EMPTY)


Estimator = Callable[[LoggedBatch], ValueEstimate]


def importance_weights(log_ratios: Vector, max_weight: float) -> tuple[Vector, Vector]:
    """Return rho, at most `max_weight`, and its derivative with respect to the log-probability.

    The derivative is rho, or 0 where rho is limited.

    >>> [part.round(2).tolist() for part in importance_weights(np.log([0.5, 8.0]), 2.0)]
    [[0.5, 2.0], [0.5, 0.0]]
    """
    max_log = math.log(max_weight)
    value = np.exp(np.minimum(log_ratios, min(max_log, 700.0)))
    return value, np.where(log_ratios < max_log, value, 0.0)


def ips(batch: LoggedBatch) -> ValueEstimate:
    """Inverse propensity scoring."""
    rho, slope = importance_weights(batch.log_ratios, batch.max_weight)
    return ValueEstimate(float(np.mean(rho * batch.rewards)), slope * batch.rewards / len(rho))


def reweighted(batch: LoggedBatch) -> ValueEstimate:
    """Self-normalised inverse propensity scoring."""
    return _normalised(batch, batch.rewards)


def doubly_controlled(batch: LoggedBatch) -> ValueEstimate:
    """Self-normalised, with predicted rewards as a control variate.

    In the gradient, the mean prediction is a baseline, which reduces the variance.
    """
    residual = _normalised(batch, batch.rewards - batch.control * batch.predicted)
    rho, slope = importance_weights(batch.sampled, math.inf)
    mean = float(batch.sampled_predicted.mean())
    above_mean = batch.sampled_predicted - mean
    value = residual.value + batch.control * (mean + float(np.mean(rho * above_mean)))
    return ValueEstimate(value, residual.logged, batch.control * slope * above_mean / len(rho))


def _normalised(batch: LoggedBatch, values: Vector) -> ValueEstimate:
    rho, slope = importance_weights(batch.log_ratios, batch.max_weight)
    total = rho.sum()
    if not total > 0:  # every logged translation has probability 0 now
        return ValueEstimate(0.0, np.zeros_like(rho))
    mean = float(rho @ values / total)
    return ValueEstimate(mean, slope * (values - mean) / total)


ESTIMATORS: dict[str, Estimator] = {
    "ips": ips,
    "reweighted": reweighted,
    "doubly-controlled": doubly_controlled,
}


def best_control(log_ratios: Vector, rewards: Vector, predicted: Vector, max_weight: float) -> float:
    """Return the factor c of the predictions r that minimises the variance: Cov(rho R, rho r) / Var(rho r).

    It is 0 if all predictions are equal.

    >>> rewards = np.array([0.1, 0.9, 0.5])
    >>> round(best_control(np.zeros(3), rewards, 2 * rewards, 10.0), 3)
    0.5
    """
    rho, _ = importance_weights(log_ratios, max_weight)
    weighted, expected = rho * rewards, rho * predicted
    variance = float(np.var(expected))
    return float(np.cov(weighted, expected, bias=True)[0, 1]) / variance if variance > 1e-12 else 0.0


def effective_sample_size(log_ratios: Vector, max_weight: float) -> float:
    """Return the effective sample size: (sum of rho)^2 / sum of rho^2.

    >>> effective_sample_size(np.zeros(5), 10.0), round(effective_sample_size(np.array([0.0, -50.0]), 10.0), 3)
    (5.0, 1.0)
    """
    rho, _ = importance_weights(log_ratios, max_weight)
    square = float(rho @ rho)
    return float(rho.sum()) ** 2 / square if square else 0.0


@dataclass
class RewardRegression:
    """Predicts the reward of a translation from its length and hashed tokens.

    It is a ridge regression, fitted on the logged translations.
    """

    buckets: int = 128
    ridge: Ridge = field(init=False)

    def __post_init__(self) -> None:
        self.ridge = Ridge(np.zeros(self.buckets + 2), penalty=1.0)

    def features(self, source_length: int, tokens: tuple[int, ...]) -> Vector:
        """Return the features of a translation; `source_length` is in tokens."""
        counts = np.bincount(np.array(tokens) % self.buckets, minlength=self.buckets) / len(tokens)
        return np.array([1.0, math.log(len(tokens) / max(source_length, 1)), *counts])

    def fit(self, examples: Vector, rewards: Vector) -> None:
        for example, reward in zip(examples, rewards, strict=True):
            self.ridge.add(example, float(reward))

    def __call__(self, examples: Vector) -> Vector:
        return np.clip(self.ridge.predict(examples), 0.0, 1.0)
