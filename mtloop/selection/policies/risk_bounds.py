"""Bounds on the risk that the answer of a race is wrong: that an outsider is better than a system in the top."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mtloop.selection.policies.batch_policy import Array, Indices
from mtloop.selection.policies.evidence import MeanEstimate

TYPICAL_GAP = 0.05  # typical difference of two systems; the anytime bounds are tightest here, and hold for any
DRAWS = 1000  # of the posterior; its risks are multiples of 1 / DRAWS
NEVER_RATED = -9.0  # the mean of a system without ratings, far below the scale 0 to 1


@dataclass(frozen=True, eq=False)
class Risk:
    """The risk of an answer, and the part of each system in the top (`best`) and outside of it (`rest`)."""

    total: float
    best: Array
    rest: Array


RiskBound = Callable[[MeanEstimate, Indices, Indices, float], Risk]


def anytime_risk(estimate: MeanEstimate, best: Indices, rest: Indices, indifference: float) -> Risk:
    """The sum of an anytime-valid p-value for each pair of a system in the top and one outside."""
    means = estimate.means
    leads = means[best][:, None] - means[rest][None] + indifference
    variances = np.array([estimate.variance_between(index)[rest] for index in best])
    risks = np.where(np.isnan(leads), 0.0, anytime_p_value(np.nan_to_num(leads), variances))
    return Risk(float(risks.sum()), risks.sum(axis=1), risks.sum(axis=0))


def posterior_risk(estimate: MeanEstimate, best: Indices, rest: Indices, indifference: float) -> Risk:
    """The probability that an outsider is better by more than `indifference`, for normal means with a flat prior.

    It comes from the same draws every time, so equal ratings give equal answers.
    """
    means = np.nan_to_num(estimate.means, nan=NEVER_RATED) + _deviations(estimate)
    lowest, highest = means[:, best].min(axis=1, keepdims=True), means[:, rest].max(axis=1, keepdims=True)
    of_best = (highest - means[:, best] > indifference).mean(axis=0)
    of_rest = (means[:, rest] - lowest > indifference).mean(axis=0)
    return Risk(float((highest - lowest > indifference).mean()), of_best, of_rest)


def _deviations(estimate: MeanEstimate) -> Array:
    """Draws of the deviations from the estimated means. Those of a system without ratings are zero."""
    rated, draws = ~np.isnan(estimate.means), _standard_draws(estimate.means.size)
    if estimate.covariance.ndim == 1:
        deviations: Array = draws * np.sqrt(np.where(rated, estimate.covariance, 0.0))
        return deviations
    values, vectors = np.linalg.eigh(np.where(np.outer(rated, rated), estimate.covariance, 0.0))
    correlated: Array = draws @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    return correlated


@lru_cache(maxsize=4)
def _standard_draws(systems: int) -> Array:
    draws: Array = np.random.default_rng(7).standard_normal((DRAWS, systems))
    return draws


def anytime_p_value(leads: Array, variances: Array) -> Array:
    """An anytime-valid p-value for the hypothesis "the lead is not above zero", from the leads and their variances.

    One over the likelihood ratio of a normal mixture with standard deviation `TYPICAL_GAP` around zero (Robbins, 1970).

    >>> anytime_p_value(np.array([-0.02, 0.0, 0.05]), np.array([1e-4, 1e-4, 1e-4])).round(4).tolist()
    [1.0, 1.0, 0.0]
    """
    variances = np.maximum(variances, 1e-12)
    shrink = TYPICAL_GAP**2 / (TYPICAL_GAP**2 + variances)
    exponent = np.maximum(leads, 0.0) ** 2 / variances / 2 * shrink
    bound: Array = np.minimum(1.0, np.exp(-exponent) * np.sqrt((variances + TYPICAL_GAP**2) / variances))
    return bound
