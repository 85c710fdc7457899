"""What a policy is worth, judged by what another one earned (Lawrence et al., 2017), and which way to move.

    ips                V = mean of rho * R                             rho = p_new(y) / p_logged(y), at most `cap`
    reweighted         V = sum of rho * R / sum of rho                 an average: nothing is won by raising all rho
    doubly-controlled  V = reweighted(R - c * r) + c * mean of r       r: a prediction of the reward, for less variance

A value is a function of log-probabilities; its gradient is one number a translation, by which the gradient of that
translation's log-probability counts. Of a deterministic log p_logged is 1, and rho the new probability itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from mtloop.bandits.statistical.limsi import Ridge
from mtloop.bandits.statistical.optimisers import Vector

NONE = np.zeros(0)


@dataclass(frozen=True)
class LoggedBatch:
    """Logged translations: log rho, rewards and their predictions; and others, drawn to ask the prediction about.

    `drawn` is log rho of those against the policy they were drawn from: all zero when they are fresh.
    """

    log_ratios: Vector
    rewards: Vector
    predicted: Vector = field(default_factory=lambda: NONE)
    drawn: Vector = field(default_factory=lambda: NONE)
    drawn_predicted: Vector = field(default_factory=lambda: NONE)
    control: float = 1.0
    cap: float = math.inf


@dataclass(frozen=True)
class ValueEstimate:
    """The value, and its derivative by the log-probability of each logged and each drawn translation."""

    value: float
    logged: Vector
    drawn: Vector = field(default_factory=lambda: NONE)


Estimator = Callable[[LoggedBatch], ValueEstimate]


def ratios(log_ratios: Vector, cap: float) -> tuple[Vector, Vector]:
    """rho, at most `cap`, and its derivative by the log-probability: rho itself, nothing where it is capped.

    >>> [part.round(2).tolist() for part in ratios(np.log([0.5, 8.0]), 2.0)]
    [[0.5, 2.0], [0.5, 0.0]]
    """
    ceiling = math.log(cap)
    value = np.exp(np.minimum(log_ratios, min(ceiling, 700.0)))
    return value, np.where(log_ratios < ceiling, value, 0.0)


def ips(batch: LoggedBatch) -> ValueEstimate:
    value, slope = ratios(batch.log_ratios, batch.cap)
    return ValueEstimate(float(np.mean(value * batch.rewards)), slope * batch.rewards / len(value))


def reweighted(batch: LoggedBatch) -> ValueEstimate:
    return _normalised(batch, batch.rewards)


def doubly_controlled(batch: LoggedBatch) -> ValueEstimate:
    """Predictions are held against their own mean, which costs no value and less variance."""
    rest = _normalised(batch, batch.rewards - batch.control * batch.predicted)
    value, slope = ratios(batch.drawn, math.inf)
    mean = float(batch.drawn_predicted.mean())
    above = batch.drawn_predicted - mean
    direct = mean + float(np.mean(value * above))
    return ValueEstimate(rest.value + batch.control * direct, rest.logged, batch.control * slope * above / len(value))


def _normalised(batch: LoggedBatch, worth: Vector) -> ValueEstimate:
    value, slope = ratios(batch.log_ratios, batch.cap)
    total = value.sum()
    if not total > 0:  # every logged translation has become impossible
        return ValueEstimate(0.0, np.zeros_like(value))
    mean = float(value @ worth / total)
    return ValueEstimate(mean, slope * (worth - mean) / total)


ESTIMATORS: dict[str, Estimator] = {
    "ips": ips,
    "reweighted": reweighted,
    "doubly-controlled": doubly_controlled,
}


def best_control(log_ratios: Vector, rewards: Vector, predicted: Vector, cap: float) -> float:
    """The share of the prediction to take off: Cov(rho R, rho r) / Var(rho r), which varies least; 0 if r says nothing.

    >>> rewards = np.array([0.1, 0.9, 0.5])
    >>> round(best_control(np.zeros(3), rewards, 2 * rewards, 10.0), 3)
    0.5
    """
    rho, _ = ratios(log_ratios, cap)
    earned, expected = rho * rewards, rho * predicted
    spread = float(np.var(expected))
    return float(np.cov(earned, expected, bias=True)[0, 1]) / spread if spread > 1e-12 else 0.0


def effective(log_ratios: Vector, cap: float) -> float:
    """How many sentences the weighted ones are worth: (sum of rho)^2 / sum of rho^2.

    >>> effective(np.zeros(5), 10.0), round(effective(np.array([0.0, -50.0]), 10.0), 3)
    (5.0, 1.0)
    """
    rho, _ = ratios(log_ratios, cap)
    square = float(rho @ rho)
    return float(rho.sum()) ** 2 / square if square else 0.0


@dataclass
class RewardRegression:
    """Which reward to expect of a translation, by its length and its tokens (hashed): ridge regression on the log."""

    buckets: int = 128
    ridge: Ridge = field(init=False)

    def __post_init__(self) -> None:
        self.ridge = Ridge(np.zeros(self.buckets + 2), penalty=1.0)

    def features(self, source: int, tokens: tuple[int, ...]) -> Vector:
        """`source`: how many tokens the source has."""
        counts = np.bincount(np.array(tokens) % self.buckets, minlength=self.buckets) / len(tokens)
        return np.array([1.0, math.log(len(tokens) / max(source, 1)), *counts])

    def fit(self, examples: Vector, rewards: Vector) -> None:
        for example, reward in zip(examples, rewards, strict=True):
            self.ridge.add(example, float(reward))

    def __call__(self, examples: Vector) -> Vector:
        return np.clip(self.ridge.predict(examples), 0.0, 1.0)
