"""Every policy keeps the contract, and the bad input that policies meet."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from helpers.ratings import made_recording

from mtloop.checks.learner_contract import check_learner
from mtloop.checks.policy_contract import check_policy
from mtloop.core import Choice, InputError, PostEdit, Preference, Proposal, Reward, Scores, Segment, UnknownName
from mtloop.methods.recorded import Recorded
from mtloop.selection import EWAF, BatchPolicy, Race, Select, SuccessiveElimination
from mtloop.selection.policies.evidence import Evidence
from mtloop.selection.policies.race import doubt
from mtloop.selection.policies.registry import POLICIES, make_policy
from mtloop.selection.replay import Replay, orders

SPECS = [
    *POLICIES,
    "ewaf:step=anytime",
    "ewaf:variant=mtol",
    "exp3:step=anytime",
    "exp3:variant=mtol",
    "race:top=1",
    "elimination:top=1",
]
NAMES = ["ann", "bob", "cy", "dee"]
SEGMENTS = [Segment(str(i), f"Save file {i}.") for i in range(1, 13)]


def of(spec: str, systems: list[str] = NAMES) -> BatchPolicy:
    return make_policy(spec, systems, horizon=300)


@pytest.mark.parametrize("spec", SPECS)
def test_the_contract(spec: str) -> None:
    check_policy(lambda: of(spec))


class Stuck(EWAF):
    def learn(self, draw: object, scores: object) -> None:
        """Never learns."""


class Marked(EWAF):
    def choose(self, context: Segment, rng: random.Random) -> Choice:
        self.logs_ = self.logs_ + np.array([[1.0, 0, 0, 0]])
        return super().choose(context, rng)


class Careless(EWAF):
    def checked(self, name: str, score: float) -> float:
        return score


@pytest.mark.parametrize("broken", [Stuck, Marked, Careless])
def test_policies_that_break_the_contract_are_caught(broken: type[EWAF]) -> None:
    with pytest.raises(AssertionError):
        check_policy(lambda: broken(NAMES, horizon=300))


def systems() -> dict[str, Recorded]:
    return {name: Recorded({s.id: f"{name} says {s.id}" for s in SEGMENTS}, name) for name in NAMES}


def rate(proposal: Proposal) -> Scores:
    asked = proposal.memo["asked"]
    assert isinstance(asked, list)
    return Scores({str(name): random.Random(f"{name}/{proposal.segment.id}").random() for name in asked})


@pytest.mark.parametrize("spec", SPECS)
def test_select_is_a_learner_with_any_policy(spec: str) -> None:
    check_learner(lambda: Select(of(spec), systems(), seed=3), SEGMENTS, rate)


def test_select_learns_from_rewards_and_preferences_but_not_from_post_edits() -> None:
    select = Select(of("exp3"), systems())
    proposal = select.propose(SEGMENTS[0])
    assert select.learn(proposal, PostEdit("anything")).rejected
    before = select.policy.weights()[proposal.system]
    assert select.learn(proposal, Reward(0.9)).updates == 1
    assert select.policy.weights()[proposal.system] > before
    other = next(name for name in NAMES if name != proposal.system)
    learner = Select(of("ewaf"), systems())
    learner.learn(learner.propose(SEGMENTS[0]), Preference(other, proposal.system))
    assert learner.policy.weights()[other] == max(learner.policy.weights().values())


def test_select_and_policy_must_know_the_same_systems() -> None:
    with pytest.raises(InputError, match="'dee'"):
        Select(of("ewaf"), {name: Recorded([]) for name in NAMES[:3]})


@pytest.mark.parametrize("spec", SPECS)
def test_one_system_is_always_chosen(spec: str) -> None:
    policy = of(spec, ["only"])
    for segment in SEGMENTS:
        choice = policy.choose(segment, random.Random(1))
        assert choice.system == "only"
        policy.update(choice, {"only": 0.4})
    assert list(policy.weights()) == ["only"]


def test_who_asks_for_the_best_three_of_three_is_answered_at_once() -> None:
    verdict = Race(["a", "b", "c"]).verdict()
    assert verdict is not None
    assert set(verdict.best) == {"a", "b", "c"}


@pytest.mark.parametrize("spec", SPECS)
def test_ten_thousand_systems(spec: str) -> None:
    policy = of(spec, [f"s{i}" for i in range(10_000)])
    for segment in SEGMENTS[:6]:
        choice = policy.choose(segment, random.Random(1))
        policy.update(choice, dict.fromkeys(choice.asked or (choice.system,), 0.5))
    assert len(policy.weights()) == 10_000


@pytest.mark.parametrize("spec", SPECS)
def test_two_systems_with_equal_scores_stay_together(spec: str) -> None:
    """Full information keeps them exactly equal; the others rank them by name when their means are equal."""
    recording = made_recording([0.5, 0.5], 200)
    recording.scores[1] = recording.scores[0]
    policy = make_policy(spec, recording.systems, horizon=200, runs=3)
    Replay(recording).run(policy, orders(200, 3, 1))
    assert np.isfinite(policy.standing()).all()
    if spec.startswith("ewaf"):
        assert np.allclose(policy.standing()[:, 0], policy.standing()[:, 1], atol=1e-12)


@pytest.mark.parametrize("spec", SPECS)
def test_a_system_that_nobody_rates_ranks_last_and_blocks_nobody(spec: str) -> None:
    recording = made_recording([0.5, 0.8, 0.6, 0.4, 0.7], 600)
    recording.scores[0] = np.nan
    policy = make_policy(spec, recording.systems, horizon=600, runs=4)
    history = Replay(recording).run(policy, orders(600, 4, 1))
    assert not (history.tops[-1] == 0).any() or spec.startswith(("exp3", "ewaf"))
    if spec == "race":
        assert all(stop is not None and "s0" not in stop[1].best for stop in history.stops)


@pytest.mark.parametrize("spec", SPECS)
def test_a_segment_rated_for_one_system_only_teaches_about_that_one(spec: str) -> None:
    policy = of(spec)
    choice = policy.choose(SEGMENTS[0], random.Random(1))
    policy.update(choice, {choice.system: 1.0})
    assert all(map(np.isfinite, policy.weights().values()))


def test_the_race_asks_less_and_less_and_stops_with_the_right_three() -> None:
    recording = made_recording([0.9, 0.85, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2], 1000)
    policy = make_policy("race", recording.systems, horizon=1000, runs=10)
    history = Replay(recording).run(policy, orders(1000, 10, 1, each=True))
    assert all(stop is not None and set(stop[1].best) == {"s0", "s1", "s2"} for stop in history.stops)
    assert history.spent[-1].max() < recording.ratings / 4
    stop = policy.verdict()
    assert stop is not None
    assert (stop.confidence, stop.within) == (0.95, 0.01)


def test_the_race_is_rarely_wrong_in_the_worst_case() -> None:
    """No indifference and a small gap, which in a sample may point the other way: of 24 stops one may be wrong."""
    wrong = stops = 0
    for seed in range(24):
        recording = made_recording([0.7, 0.7, 0.63, 0.6], 300, spread=0.15, seed=seed)
        gold = set(np.argsort(-recording.scores.mean(axis=1))[:3].tolist())
        policy = make_policy("race:indifference=0.0", recording.systems, horizon=300)
        (stop,) = Replay(recording).run(policy, orders(300, 1, seed)).stops
        if stop is not None:
            stops += 1
            wrong += {int(name[1:]) for name in stop[1].best} != gold
    assert stops >= 12
    assert wrong <= 1


def test_ratings_of_one_segment_may_come_one_by_one() -> None:
    together, apart = Race(NAMES, every=1), Race(NAMES, every=1)
    rng = random.Random(5)
    for segment in SEGMENTS:
        scores = {name: rng.random() for name in NAMES}
        choice = Choice("ann", asked=tuple(NAMES), segment=segment.id)
        together.update(choice, scores)
        for name, score in scores.items():
            apart.update(Choice("ann", asked=(name,), segment=segment.id), {name: score})
    assert apart.weights() == pytest.approx(together.weights())


def test_doubt_shrinks_with_the_lead_and_never_passes_one() -> None:
    leads = np.array([-0.1, 0.0, 0.02, 0.05, 0.1])
    doubts = doubt(leads, np.full(5, 1e-4))
    assert (np.diff(doubts) <= 0).all()
    assert doubts[0] == doubts[1] == 1
    assert doubts[-1] < 1e-6


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("exp4", "did you mean 'exp3'"),
        ("race:topp=1", "did you mean 'top'"),
        ("race:top", "NAME=VALUE"),
        ("race:top=0", "at least 1"),
        ("race:confidence=2", "between 0 and 1"),
        ("elimination:indifference=-1", "0 or more"),
        ("race:least=1", "at least 2"),
        ("race:top=many", "takes a int"),
        ("linucb:ridge=0", "more than 0"),
        ("exp3:horizon=5", "unknown setting"),
    ],
)
def test_a_wrong_policy_is_one_clear_line(spec: str, message: str) -> None:
    with pytest.raises((InputError, UnknownName), match=message):
        of(spec)


@pytest.mark.parametrize("names", [[], ["a", "a"]])
def test_no_systems_and_two_of_one_name_are_refused(names: list[str]) -> None:
    with pytest.raises(InputError):
        SuccessiveElimination(names)


def test_a_rating_that_never_comes_is_no_evidence_and_one_that_cannot_come_is_nothing_to_wait_for() -> None:
    rng = np.random.default_rng(1)
    asked, never = np.array([True, True]), np.array([True, False])
    answered, unanswered, recorded = Evidence(2, horizon=20), Evidence(2, horizon=20), Evidence(2, horizon=20)
    for n in range(20):
        scores = rng.random(2)
        answered.add(str(n), scores, asked)
        told = np.where(never & (n % 2 == 0), np.nan, scores)
        unanswered.add(str(n), told, asked)
        recorded.add(str(n), told, asked, np.isnan(told))
    assert answered.estimate().variance_between(0)[1] == pytest.approx(0)
    assert unanswered.estimate().variance_between(0)[1] > 1e-3
    assert recorded.estimate().variance_between(0)[1] == pytest.approx(0)
    again = Evidence(2, horizon=20)
    again.restore(**unanswered.state())  # type: ignore[arg-type]
    assert again.estimate().variance_between(0)[1] == unanswered.estimate().variance_between(0)[1]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_linucb_looks_at_everybody_and_stays_with_the_best(seed: int, missing: float) -> None:
    """Also where half of the best one's ratings never come: they say nothing about it."""
    means, rng = {"a": 0.6, "b": 0.7, "c": 0.8, "d": 0.9}, random.Random(seed)
    policy, chosen = of("linucb", list(means)), Counter[str]()
    for n in range(400):
        choice = policy.choose(Segment(str(n), "Save 3 files." if n % 2 else "Open it."), rng)
        chosen[choice.system] += 1
        heard = choice.system != "d" or rng.random() >= missing
        policy.update(choice, {choice.system: rng.uniform(-0.1, 0.1) + means[choice.system]} if heard else {})
    assert min(chosen[name] for name in means) >= 1
    assert chosen["d"] > 300


def test_linucb_learns_which_system_is_for_which_segment() -> None:
    """One system is good at short segments, the other at long ones."""
    policy = of("linucb", ["short", "long"])
    texts = ["Save.", "word " * 60]
    for i in range(200):
        segment = Segment(str(i), texts[i % 2])
        choice = policy.choose(segment, random.Random(i))
        policy.update(choice, {choice.system: float((choice.system == "long") == (i % 2 == 1))})
    chosen = [policy.choose(Segment("x", text), random.Random(1)).system for text in texts]
    assert chosen == ["short", "long"]
