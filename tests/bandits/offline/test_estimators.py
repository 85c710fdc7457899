"""Off-policy estimators: their gradients, and the accuracy of the value."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from mtloop.bandits.offline.estimators import (
    ESTIMATORS,
    LoggedBatch,
    RewardRegression,
    best_control,
    doubly_controlled,
    ips,
    reweighted,
)

RNG = np.random.default_rng(4)
BATCH = LoggedBatch(
    log_ratios=RNG.normal(0, 0.7, 9),
    rewards=RNG.uniform(0, 1, 9),
    predicted=RNG.uniform(0, 1, 9),
    sampled=RNG.normal(0, 0.3, 6),
    sampled_predicted=RNG.uniform(0, 1, 6),
    control=0.7,
    max_weight=math.inf,
)


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("max_weight", [math.inf, 1.5])
@pytest.mark.parametrize("field", ["log_ratios", "sampled"])
def test_gradients_against_finite_differences(name: str, max_weight: float, field: str) -> None:
    batch, estimator, step = replace(BATCH, max_weight=max_weight), ESTIMATORS[name], 1e-6
    found = estimator(batch).logged if field == "log_ratios" else estimator(batch).sampled
    if field == "sampled" and name != "doubly-controlled":
        assert not len(found)
        return
    measured = []
    for index in range(len(found)):
        ends = []
        for sign in (1, -1):
            moved = getattr(batch, field).copy()
            moved[index] += sign * step
            ends.append(estimator(replace(batch, **{field: moved})).value)
        measured.append((ends[0] - ends[1]) / (2 * step))
    np.testing.assert_allclose(found, measured, atol=1e-8)
    assert np.abs(found).max() > 1e-3


def test_by_hand() -> None:
    batch = LoggedBatch(np.log([2.0, 0.5]), np.array([1.0, 0.2]))
    assert ips(batch).value == pytest.approx((2 * 1.0 + 0.5 * 0.2) / 2)
    assert reweighted(batch).value == pytest.approx((2 * 1.0 + 0.5 * 0.2) / 2.5)
    assert ips(replace(batch, max_weight=1.5)).value == pytest.approx((1.5 * 1.0 + 0.5 * 0.2) / 2)
    predicted = replace(batch, predicted=np.array([0.8, 0.3]), sampled=np.zeros(1), sampled_predicted=np.array([0.6]))
    expected = (2 * (1.0 - 0.4) + 0.5 * (0.2 - 0.15)) / 2.5 + 0.5 * 0.6
    assert doubly_controlled(replace(predicted, control=0.5)).value == pytest.approx(expected)


def test_raising_all_probabilities_improves_only_the_estimate_without_reweighting() -> None:
    """The known defect of inverse propensity scoring: any reward above 0 makes its translation more likely."""
    batch = LoggedBatch(np.zeros(4), np.array([0.9, 0.8, 0.9, 0.8]))
    assert ips(batch).logged.sum() > 0
    assert reweighted(batch).logged.sum() == pytest.approx(0.0)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_value_of_a_policy_is_estimated_from_the_log_of_another(name: str) -> None:
    """Three actions, logged by one policy: the estimate for another is near its true value, the mean reward is not."""
    rng = np.random.default_rng(1)
    logging, new, mean_rewards = np.array([0.7, 0.2, 0.1]), np.array([0.1, 0.3, 0.6]), np.array([0.1, 0.5, 0.9])
    logged = rng.choice(3, 4000, p=logging)
    rewards = np.clip(mean_rewards[logged] + rng.normal(0, 0.05, 4000), 0, 1)
    prediction = np.array([0.2, 0.4, 0.8])
    sampled = rng.choice(3, 4000, p=new)
    ratios = np.log(new / logging)[logged]
    control = best_control(ratios, rewards, prediction[logged], math.inf)
    batch = LoggedBatch(ratios, rewards, prediction[logged], np.zeros(4000), prediction[sampled], control)
    assert ESTIMATORS[name](batch).value == pytest.approx(float(new @ mean_rewards), abs=0.03)
    assert abs(float(rewards.mean()) - float(new @ mean_rewards)) > 0.3


def test_a_prediction_reduces_the_variance() -> None:
    """Over many small logs the doubly controlled estimate varies less than inverse propensity scoring."""
    rng = np.random.default_rng(2)
    logging, new, mean_rewards = np.array([0.6, 0.4]), np.array([0.2, 0.8]), np.array([0.3, 0.9])
    values: dict[str, list[float]] = {"ips": [], "doubly-controlled": []}
    for _ in range(300):
        logged, sampled = rng.choice(2, 40, p=logging), rng.choice(2, 200, p=new)
        ratios = np.log(new / logging)[logged]
        control = best_control(ratios, mean_rewards[logged], mean_rewards[logged], math.inf)
        batch = LoggedBatch(
            ratios, mean_rewards[logged], mean_rewards[logged], np.zeros(200), mean_rewards[sampled], control
        )
        for name, found in values.items():
            found.append(ESTIMATORS[name](batch).value)
    assert np.std(values["doubly-controlled"]) < 0.5 * np.std(values["ips"])


def test_a_prediction_learns_the_rewards_of_tokens() -> None:
    prediction, rng = RewardRegression(), np.random.default_rng(3)
    tokens = [tuple(rng.integers(5, 60, 8).tolist()) for _ in range(400)]
    rewards = np.array([0.9 if 7 in one else 0.2 for one in tokens])
    prediction.fit(np.array([prediction.features(8, one) for one in tokens]), rewards)
    good, bad = prediction(np.array([prediction.features(8, (7, 9, 11)), prediction.features(8, (8, 9, 11))]))
    assert good > bad + 0.2
    assert best_control(np.zeros(3), np.ones(3), np.ones(3), 10.0) == 0.0


def test_all_logged_translations_have_probability_zero() -> None:
    found = reweighted(LoggedBatch(np.full(3, -np.inf), np.ones(3)))
    assert found.value == 0.0
    assert not found.logged.any()
