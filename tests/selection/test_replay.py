"""Replays of recorded ratings: what they cost, what they found, and the trace they leave."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.ratings import made_recording

from mtloop.core import InputError, Stop, replay
from mtloop.core.types import Scores
from mtloop.methods.recorded import Recorded
from mtloop.selection import Select
from mtloop.selection.findings import Gold, checkpoints, effort, overlap_curve
from mtloop.selection.policies.registry import make_policy
from mtloop.selection.replay import History, Replay, orders

RECORDING = made_recording([0.8, 0.7, 0.6, 0.4, 0.3], 120, coverage=0.7)
GOLD = Gold({"s0": 5, "s1": 4, "s2": 3, "s3": 2, "s4": 1}, {"s0": 80, "s1": 70, "s2": 60, "s3": 59.5, "s4": 30})
SPECS = ["ewaf", "exp3", "exp3:variant=mtol", "exp3:step=anytime", "ucb1", "thompson", "elimination", "race", "linucb"]


@pytest.mark.parametrize("missing", ["zero", "average", "skip"])
@pytest.mark.parametrize("spec", SPECS)
def test_the_trace_of_a_replay_teaches_select_the_same(spec: str, missing: str) -> None:
    """Array form and loop form are one: the first run's trace, learned by `Select`, ends with the same weights."""
    policy = make_policy(spec, RECORDING.systems, horizon=120, runs=3)
    history = Replay(RECORDING, missing).run(policy, orders(120, 3, 1), seed=2, trace=True)
    systems = {name: Recorded({}, name) for name in RECORDING.systems}
    select = Select(make_policy(spec, RECORDING.systems, horizon=120), systems)
    replay(history.steps, select)
    assert list(select.policy.weights().values()) == pytest.approx(policy.standing()[0].tolist(), abs=1e-12)


def test_ratings_count_what_people_really_gave() -> None:
    ewaf = make_policy("ewaf", RECORDING.systems, horizon=120, runs=2)
    history = Replay(RECORDING, "zero").run(ewaf, orders(120, 2, 1), trace=True)
    assert history.spent[-1].tolist() == [RECORDING.ratings] * 2
    given = [step.feedback for step in history.steps]
    assert sum(len(f.values) - len(f.filled) for f in given if isinstance(f, Scores)) == RECORDING.ratings
    exp3 = make_policy("exp3", RECORDING.systems, horizon=120, runs=2)
    assert (Replay(RECORDING, "zero").run(exp3, orders(120, 2, 1)).spent[-1] <= 120).all()


def test_a_rating_read_again_is_paid_once() -> None:
    policy = make_policy("ewaf", RECORDING.systems, horizon=240)
    twice = np.concatenate([orders(120, 1, 1), orders(120, 1, 2)], axis=1)
    assert Replay(RECORDING).run(policy, twice).spent[-1, 0] == RECORDING.ratings


def test_equal_seeds_equal_runs_and_other_seeds_other_ones() -> None:
    def end(seed: int) -> list[float]:
        policy = make_policy("exp3", RECORDING.systems, horizon=120, runs=2)
        Replay(RECORDING).run(policy, orders(120, 2, seed), seed=seed)
        return [float(value) for value in policy.standing().ravel()]

    assert end(1) == end(1) != end(2)


def test_orders_are_one_or_each() -> None:
    one, each = orders(50, 3, 1), orders(50, 3, 1, each=True)
    assert (one[0] == one[2]).all()
    assert not (each[0] == each[2]).all()
    assert (np.sort(each, axis=1) == np.arange(50)).all()


def told(tops: list[list[int]], spent: list[int], stop: tuple[int, Stop] | None = None) -> History:
    """A single run that had these systems first and had spent so much, iteration by iteration."""
    size = len(tops)
    places = np.array(tops)
    return History(
        RECORDING.systems, size, places[:, None], places, np.array(spent)[:, None], (size,), np.ones((1, 1, 5)), [stop]
    )


def test_settled_is_from_then_on_and_ties_count() -> None:
    history = told([[0, 1, 2], [0, 1, 4], [0, 1, 3], [0, 1, 2]], [3, 6, 9, 12])
    found = effort(history, GOLD, 600)
    assert found.settled == (9,)  # s3 is half a point below s2: a tie
    assert found.exact == (12,)
    never = effort(told([[0, 1, 2], [0, 1, 4]], [3, 6]), GOLD, 600)
    assert never.settled == (600,)
    assert never.to_json()["never_settled"] == 1


def test_a_stop_is_right_or_wrong_and_one_with_everything_read_is_none() -> None:
    right, wrong = Stop(("s0", "s1", "s3"), 0.95), Stop(("s0", "s1", "s4"), 0.95)
    assert effort(told([[0, 1, 3]], [9], (1, right)), GOLD, 600).right == (True,)
    assert effort(told([[0, 1, 3]], [9], (1, right)), GOLD, 600).right_exact == (False,)
    assert effort(told([[0, 1, 4]], [9], (1, wrong)), GOLD, 600).right == (False,)
    assert effort(told([[0, 1, 4]], [600], (1, wrong)), GOLD, 600).stopped == ()


def test_checkpoints_and_curve() -> None:
    policy = make_policy("ewaf", RECORDING.systems, horizon=120, runs=2)
    history = Replay(RECORDING, "average").run(policy, orders(120, 2, 1), keep=[10, 120])
    early, late = checkpoints(history, GOLD, [10, 120])
    assert early.iteration == 10
    assert late.top3 == late.top1 == 1.0
    assert late.ratings == RECORDING.ratings
    curve = overlap_curve(history, GOLD, [1, RECORDING.ratings])
    assert curve[-1] == 1.0
    assert history.last_change <= 120


def test_a_policy_of_other_systems_is_refused() -> None:
    with pytest.raises(InputError, match="different systems"):
        Replay(RECORDING).run(make_policy("ewaf", ["x", "y"], horizon=5), orders(120, 1, 1))


def test_gold_without_a_rated_system_is_refused() -> None:
    with pytest.raises(InputError, match="none of the rated systems"):
        Gold({}, {})
