"""The two bounds on the risk of a race: their properties, and the stops they lead to on made scores."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from helpers.ratings import make_recording

from mtloop.metrics.ranking import within_tie
from mtloop.selection import Race
from mtloop.selection.policies.evidence import MAX_PAIRED_SYSTEMS, MeanEstimate
from mtloop.selection.policies.race import RULES
from mtloop.selection.policies.risk_bounds import DRAWS, anytime_risk, posterior_risk
from mtloop.selection.replay import Replay, segment_orders
from mtloop.selection.replay_input import mean_scores

CHANCE = 4 * 0.5 / DRAWS**0.5  # four standard errors of a share of the draws
FIRST, SECOND = np.array([0]), np.array([1])


@pytest.mark.parametrize(("lead", "indifference"), [(0.0, 0.0), (0.02, 0.0), (0.02, 0.01), (-0.03, 0.01)])
def test_the_posterior_risk_of_two_systems_is_that_of_their_difference(lead: float, indifference: float) -> None:
    estimate = MeanEstimate(np.array([0.5 + lead, 0.5]), np.array([[5e-4, 2e-4], [2e-4, 3e-4]]))
    expected = NormalDist(lead, 4e-4**0.5).cdf(-indifference)
    risk = posterior_risk(estimate, FIRST, SECOND, indifference)
    assert risk.total == pytest.approx(expected, abs=CHANCE)
    assert risk.best == risk.rest == pytest.approx(risk.total)


def test_the_posterior_risk_is_never_far_above_the_anytime_bound() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        root = rng.normal(0, 0.01, (7, 7))
        order = np.sort(rng.normal(0.7, 0.03, 7))[::-1]
        estimate = MeanEstimate(order, root @ root.T)
        arguments = estimate, np.arange(3), np.arange(3, 7), 0.01
        assert posterior_risk(*arguments).total <= anytime_risk(*arguments).total + CHANCE


def test_the_part_of_a_system_is_at_most_the_whole_posterior_risk() -> None:
    estimate = MeanEstimate(np.array([0.8, 0.75, 0.74, 0.5]), np.diag([4e-4] * 4))
    risk = posterior_risk(estimate, np.array([0, 1]), np.array([2, 3]), 0.0)
    parts = np.concatenate([risk.best, risk.rest])
    assert parts.max() <= risk.total
    assert risk.best[1] > risk.best[0]
    assert risk.rest[0] > risk.rest[1] == 0


def test_a_system_without_ratings_is_no_risk_outside_of_the_top() -> None:
    estimate = MeanEstimate(np.array([0.8, 0.7, np.nan]), np.diag([1e-6, 1e-6, np.nan]))
    assert posterior_risk(estimate, FIRST, np.array([1, 2]), 0.01).total == 0


def test_variances_alone_give_the_posterior_risk_of_many_systems() -> None:
    size = MAX_PAIRED_SYSTEMS + 1
    means, best, rest = np.linspace(0.9, 0.5, size), np.arange(3), np.arange(3, size)
    variances = np.full(size, 1e-4)
    short = posterior_risk(MeanEstimate(means, variances), best, rest, 0.0).total
    full = posterior_risk(MeanEstimate(means, np.diag(variances)), best, rest, 0.0).total
    assert 0 < short == pytest.approx(full, abs=CHANCE)


def test_the_posterior_race_waits_for_its_number_of_ratings() -> None:
    recording = make_recording([0.9, 0.9, 0.9, 0.1, 0.1])
    policy = Race(recording.systems, bound="posterior", evaluation_interval=1)
    (stop,) = Replay(recording).run(policy, segment_orders(400, 1, 1)).stops
    assert stop is not None
    assert stop[0] == RULES["posterior"].min_ratings


def test_a_race_goes_on_from_its_state_with_the_same_posterior() -> None:
    recording = make_recording([0.7, 0.7, 0.68, 0.66, 0.6], 200)
    first, second = (Race(recording.systems, bound="posterior", top=2) for _ in range(2))
    Replay(recording).run(first, segment_orders(200, 1, 1)[:, :100])
    second.restore(first.state())
    for policy in (first, second):
        policy.evaluate()
    assert second.state() == first.state()


def test_the_posterior_race_reads_less_and_is_mostly_right_on_made_scores() -> None:
    read, right, stops = {"anytime": 0, "posterior": 0}, 0, 0
    for seed in range(20):
        recording = make_recording([0.75, 0.74, 0.72, 0.70, 0.69, 0.65], 600, seed=seed)
        means = mean_scores(recording)
        gold = sorted(means, key=lambda name: -means[name])[:3]
        for bound in read:
            policy = Race(recording.systems, bound=bound, horizon=600, evaluation_interval=10)
            history = Replay(recording, decimals=None).run(policy, segment_orders(600, 1, 1))
            read[bound] += int(history.spent[-1, 0])
        if (stop := history.stops[0]) is not None:
            stops += 1
            right += within_tie(stop[1].best, gold, means, 1.0)
    assert read["posterior"] < 0.75 * read["anytime"]
    assert stops >= 18
    assert right >= 0.9 * stops
