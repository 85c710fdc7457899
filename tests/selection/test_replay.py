"""Replays of recorded ratings: ratings spent, systems found, and the trace."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.ratings import make_recording

from mtloop.core import InputError, Stop, replay
from mtloop.core.types import Scores
from mtloop.methods.recorded import Recorded
from mtloop.selection import EWAF, Select
from mtloop.selection.gold_comparison import Gold, evaluate_checkpoints, measure_effort, overlap_curve
from mtloop.selection.policies.registry import make_policy
from mtloop.selection.replay import History, Recording, Replay, segment_orders
from mtloop.selection.replay_input import mean_scores

RECORDING = make_recording([0.8, 0.7, 0.6, 0.4, 0.3], 120, coverage=0.7)
GOLD = Gold({"s0": 5, "s1": 4, "s2": 3, "s3": 2, "s4": 1}, {"s0": 80, "s1": 70, "s2": 60, "s3": 59.5, "s4": 30})
SPECS = [
    "ewaf",
    "exp3",
    "exp3:variant=published",
    "exp3:step_size=anytime",
    "ucb1",
    "thompson",
    "elimination",
    "race",
    "linucb",
]


@pytest.mark.parametrize("missing", ["zero", "average", "skip"])
@pytest.mark.parametrize("spec", SPECS)
def test_select_learns_the_same_weights_from_the_trace_of_a_replay(spec: str, missing: str) -> None:
    """Array form and loop form agree: `Select` learns the trace of the first run and has the same weights."""
    policy = make_policy(spec, RECORDING.systems, horizon=120, runs=3)
    history = Replay(RECORDING, missing).run(policy, segment_orders(120, 3, 1), seed=2, trace=True)
    systems = {name: Recorded({}, name) for name in RECORDING.systems}
    select = Select(make_policy(spec, RECORDING.systems, horizon=120), systems)
    replay(history.steps, select)
    assert list(select.policy.weights().values()) == pytest.approx(policy.batch_weights()[0].tolist(), abs=1e-12)


def test_only_human_ratings_are_counted() -> None:
    ewaf = make_policy("ewaf", RECORDING.systems, horizon=120, runs=2)
    history = Replay(RECORDING, "zero").run(ewaf, segment_orders(120, 2, 1), trace=True)
    assert history.spent[-1].tolist() == [RECORDING.ratings] * 2
    given = [step.feedback for step in history.steps]
    assert sum(len(f.values) - len(f.filled) for f in given if isinstance(f, Scores)) == RECORDING.ratings
    exp3 = make_policy("exp3", RECORDING.systems, horizon=120, runs=2)
    assert (Replay(RECORDING, "zero").run(exp3, segment_orders(120, 2, 1)).spent[-1] <= 120).all()


def test_a_rating_that_is_read_twice_is_counted_once() -> None:
    policy = make_policy("ewaf", RECORDING.systems, horizon=240)
    twice = np.concatenate([segment_orders(120, 1, 1), segment_orders(120, 1, 2)], axis=1)
    assert Replay(RECORDING).run(policy, twice).spent[-1, 0] == RECORDING.ratings


def test_equal_seeds_give_equal_runs() -> None:
    def end(seed: int) -> list[float]:
        policy = make_policy("exp3", RECORDING.systems, horizon=120, runs=2)
        Replay(RECORDING).run(policy, segment_orders(120, 2, seed), seed=seed)
        return [float(value) for value in policy.batch_weights().ravel()]

    assert end(1) == end(1) != end(2)


def test_orders_are_one_or_each() -> None:
    one, each = segment_orders(50, 3, 1), segment_orders(50, 3, 1, each=True)
    assert (one[0] == one[2]).all()
    assert not (each[0] == each[2]).all()
    assert (np.sort(each, axis=1) == np.arange(50)).all()


def history_of(tops: list[list[int]], spent: list[int], stop: tuple[int, Stop] | None = None) -> History:
    """The history of a single run with these top systems and ratings spent in each iteration."""
    size = len(tops)
    indices = np.array(tops)
    return History(
        RECORDING.systems,
        size,
        indices[:, None],
        indices,
        np.array(spent)[:, None],
        (size,),
        np.ones((1, 1, 5)),
        [stop],
    )


def test_a_run_settles_when_its_top_stays_correct_and_ties_count() -> None:
    history = history_of([[0, 1, 2], [0, 1, 4], [0, 1, 3], [0, 1, 2]], [3, 6, 9, 12])
    found = measure_effort(history, GOLD, 600)
    assert found.settled_within_tie == (9,)  # s3 is half a point below s2: a tie
    assert found.settled_exactly == (12,)
    never = measure_effort(history_of([[0, 1, 2], [0, 1, 4]], [3, 6]), GOLD, 600)
    assert never.settled_within_tie == (600,)
    assert never.to_json()["never_settled"] == 1


@pytest.mark.parametrize(
    ("last", "exactly", "within_tie"), [([2, 0, 1], True, True), ([0, 1, 3], False, True), ([0, 1, 4], False, False)]
)
def test_the_final_top_is_exactly_right_or_right_within_the_tie(
    last: list[int], exactly: bool, within_tie: bool
) -> None:
    found = measure_effort(history_of([[0, 1, 2], last], [3, 6]), GOLD, 600)
    assert found.final_exactly_right == (exactly,)
    assert found.final_right_within_tie == (within_tie,)


def test_a_stop_is_correct_or_wrong_and_does_not_count_after_all_ratings() -> None:
    right, wrong = Stop(("s0", "s1", "s3"), 0.95), Stop(("s0", "s1", "s4"), 0.95)
    assert measure_effort(history_of([[0, 1, 3]], [9], (1, right)), GOLD, 600).stops_right_within_tie == (True,)
    assert measure_effort(history_of([[0, 1, 3]], [9], (1, right)), GOLD, 600).stops_exactly_right == (False,)
    assert measure_effort(history_of([[0, 1, 4]], [9], (1, wrong)), GOLD, 600).stops_right_within_tie == (False,)
    assert measure_effort(history_of([[0, 1, 4]], [600], (1, wrong)), GOLD, 600).stopped == ()


def test_a_stop_with_one_system_is_compared_with_the_first_of_the_gold_ranking() -> None:
    assert GOLD.is_exactly_right(["s0"])
    assert not GOLD.is_right_within_tie(["s1"])  # in the gold top 3, but ten points below the first


# The second and the third have the same gold score as the fourth, but other raw scores.
EQUAL = Gold({"s0": 5, "s1": 4, "s2": 4, "s3": 4, "s4": 1}, {"s0": 80, "s1": 70, "s2": 60, "s3": 66, "s4": 59.5}, top=2)


def test_systems_with_equal_gold_scores_are_treated_alike() -> None:
    assert (EQUAL.best, EQUAL.equal) == (["s0", "s1"], ["s2", "s3"])
    assert all(EQUAL.is_exactly_right(["s0", other]) for other in ("s1", "s2", "s3"))
    assert EQUAL.is_exactly_right(["s3", "s0", "s2"])
    assert not EQUAL.is_exactly_right(["s1", "s2"])  # s0 is better
    assert not EQUAL.is_exactly_right(["s0", "s4"])
    assert EQUAL.is_right_within_tie(
        ["s0", "s4"]
    )  # half a point below s2, the lowest of the first two and their equals
    assert [EQUAL.overlap(["s3", "s2", "s0", "s1", "s4"], n) for n in (1, 2, 3)] == [0, 0.5, 1]
    assert (GOLD.equal, GOLD.first(2)) == ([], ["s0", "s1"])


def test_the_curve_treats_equal_systems_alike() -> None:
    history = history_of([[1, 2], [0, 4], [0, 3]], [2, 4, 6])
    assert overlap_curve(history, EQUAL, [2, 4, 6]).tolist() == [0.5, 0.5, 1]
    assert overlap_curve(history, EQUAL, [2, 4, 6], ties=True).tolist() == [1, 1, 1]


def test_the_same_ratings_in_another_order_give_equal_mean_scores() -> None:
    scores = np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]])
    means = mean_scores(Recording(("a", "b"), RECORDING.segments[:3], scores))
    assert means["a"] == means["b"] == 20


def test_a_gold_ranking_shorter_than_the_top_is_right_if_all_of_it_is_found() -> None:
    short = Gold({"s0": 2, "s1": 1}, {"s0": 80, "s1": 70, "s4": 30})
    assert short.is_exactly_right(["s0", "s1", "s4"])
    assert short.is_right_within_tie(["s0", "s1", "s4"])
    assert not short.is_right_within_tie(["s0", "s3", "s4"])


# With one order, `ewaf` and `race` use no random number that changes what they learn; the others draw systems.
@pytest.mark.parametrize(
    ("spec", "one"), [("ewaf", 1), ("ewaf:variant=published", 1), ("race", 1), ("exp3", 6), ("thompson", 6)]
)
def test_equal_runs_are_counted_once(spec: str, one: int) -> None:
    def distinct(*, each: bool) -> int:
        policy = make_policy(spec, RECORDING.systems, horizon=120, runs=6)
        return Replay(RECORDING).run(policy, segment_orders(120, 6, 1, each=each), seed=1).distinct_runs

    assert distinct(each=False) == one
    assert distinct(each=True) == 6


def test_some_runs_are_equal() -> None:
    policy = make_policy("ewaf", RECORDING.systems, horizon=120, runs=5)
    orders = segment_orders(120, 2, 1, each=True)[[0, 1, 0, 1, 1]]
    history = Replay(RECORDING).run(policy, orders)
    assert history.first_equal.tolist() == [0, 1, 0, 1, 1]
    assert history.distinct_runs == 2


def test_runs_that_stop_differently_are_distinct() -> None:
    """Equal weights and ratings, but only the second run stops, in the last iteration."""

    class StopsAtTheEnd(EWAF):
        has_stopping_rule = True

        def batch_verdicts(self) -> list[Stop | None]:
            return [None, Stop(("s0",), 0.95) if self.time_[1] == 120 else None]

    policy = StopsAtTheEnd(RECORDING.systems, horizon=120, runs=2)
    assert (
        Replay(make_recording([0.8, 0.7, 0.6, 0.4, 0.3], 120)).run(policy, segment_orders(120, 2, 1)).distinct_runs == 2
    )


def test_checkpoints_and_curve() -> None:
    policy = make_policy("ewaf", RECORDING.systems, horizon=120, runs=2)
    history = Replay(RECORDING, "average").run(policy, segment_orders(120, 2, 1), keep=[10, 120])
    early, late = evaluate_checkpoints(history, GOLD, [10, 120])
    assert early.iteration == 10
    assert late.top3 == late.top1 == 1.0
    assert late.ratings == RECORDING.ratings
    curve = overlap_curve(history, GOLD, [1, RECORDING.ratings])
    assert curve[-1] == 1.0
    assert history.last_change <= 120


def test_a_policy_of_other_systems_is_refused() -> None:
    with pytest.raises(InputError, match="different systems"):
        Replay(RECORDING).run(make_policy("ewaf", ["x", "y"], horizon=5), segment_orders(120, 1, 1))


def test_a_gold_ranking_without_a_rated_system_is_refused() -> None:
    with pytest.raises(InputError, match="none of the rated systems"):
        Gold({}, {})
