"""All policies satisfy the contract and refuse bad input."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from helpers.ratings import make_recording

from mtloop.checks.learner_contract import check_learner
from mtloop.checks.policy_contract import check_policy
from mtloop.core import Choice, InputError, PostEdit, Preference, Proposal, Reward, Scores, Segment, UnknownName
from mtloop.methods.recorded import Recorded
from mtloop.selection import EWAF, BatchPolicy, Race, Select, SuccessiveElimination
from mtloop.selection.policies.evidence import Evidence
from mtloop.selection.policies.registry import POLICIES, make_policy
from mtloop.selection.policies.risk_bounds import anytime_p_value
from mtloop.selection.replay import Replay, segment_orders

SPECS = [
    *POLICIES,
    "ewaf:step_size=anytime",
    "ewaf:variant=published",
    "exp3:step_size=anytime",
    "exp3:variant=published",
    "race:top=1",
    "race:bound=posterior",
    "elimination:top=1",
]
NAMES = ["ann", "bob", "cy", "dee"]
SEGMENTS = [Segment(str(i), f"Save file {i}.") for i in range(1, 13)]


def policy_of(spec: str, systems: list[str] = NAMES) -> BatchPolicy:
    return make_policy(spec, systems, horizon=300)


@pytest.mark.parametrize("spec", SPECS)
def test_policies_satisfy_the_contract(spec: str) -> None:
    check_policy(lambda: policy_of(spec))


class NeverLearns(EWAF):
    def update_batch(self, choice: object, scores: object) -> None:
        """Does not learn."""


class ChooseChangesState(EWAF):
    def choose(self, context: Segment, rng: random.Random) -> Choice:
        self.log_weights_ = self.log_weights_ + np.array([[1.0, 0, 0, 0]])
        return super().choose(context, rng)


class AcceptsAnyScore(EWAF):
    def check_score(self, name: str, score: float) -> float:
        return score


@pytest.mark.parametrize("broken", [NeverLearns, ChooseChangesState, AcceptsAnyScore])
def test_the_contract_detects_broken_policies(broken: type[EWAF]) -> None:
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
    check_learner(lambda: Select(policy_of(spec), systems(), seed=3), SEGMENTS, rate)


def test_select_learns_from_rewards_and_preferences_but_not_from_post_edits() -> None:
    select = Select(policy_of("exp3"), systems())
    proposal = select.propose(SEGMENTS[0])
    assert select.learn(proposal, PostEdit("anything")).rejected
    before = select.policy.weights()[proposal.system]
    assert select.learn(proposal, Reward(0.9)).updates == 1
    assert select.policy.weights()[proposal.system] > before
    other = next(name for name in NAMES if name != proposal.system)
    learner = Select(policy_of("ewaf"), systems())
    learner.learn(learner.propose(SEGMENTS[0]), Preference(other, proposal.system))
    assert learner.policy.weights()[other] == max(learner.policy.weights().values())


def test_select_and_policy_must_have_the_same_systems() -> None:
    with pytest.raises(InputError, match="'dee'"):
        Select(policy_of("ewaf"), {name: Recorded([]) for name in NAMES[:3]})


@pytest.mark.parametrize("spec", SPECS)
def test_one_system_is_always_chosen(spec: str) -> None:
    policy = policy_of(spec, ["only"])
    for segment in SEGMENTS:
        choice = policy.choose(segment, random.Random(1))
        assert choice.system == "only"
        policy.update(choice, {"only": 0.4})
    assert list(policy.weights()) == ["only"]


def test_the_race_for_the_best_three_of_three_stops_at_once() -> None:
    verdict = Race(["a", "b", "c"]).verdict()
    assert verdict is not None
    assert set(verdict.best) == {"a", "b", "c"}


@pytest.mark.parametrize("spec", SPECS)
def test_ten_thousand_systems(spec: str) -> None:
    policy = policy_of(spec, [f"s{i}" for i in range(10_000)])
    for segment in SEGMENTS[:6]:
        choice = policy.choose(segment, random.Random(1))
        policy.update(choice, dict.fromkeys(choice.asked or (choice.system,), 0.5))
    assert len(policy.weights()) == 10_000


@pytest.mark.parametrize("spec", SPECS)
def test_two_systems_with_equal_scores_have_finite_weights(spec: str) -> None:
    """With ratings of all systems their weights are equal. Other policies rank equal means by name."""
    recording = make_recording([0.5, 0.5], 200)
    recording.scores[1] = recording.scores[0]
    policy = make_policy(spec, recording.systems, horizon=200, runs=3)
    Replay(recording).run(policy, segment_orders(200, 3, 1))
    assert np.isfinite(policy.batch_weights()).all()
    if spec.startswith("ewaf"):
        assert np.allclose(policy.batch_weights()[:, 0], policy.batch_weights()[:, 1], atol=1e-12)


@pytest.mark.parametrize("spec", SPECS)
def test_an_unrated_system_ranks_last_and_does_not_block_the_others(spec: str) -> None:
    recording = make_recording([0.5, 0.8, 0.6, 0.4, 0.7], 600)
    recording.scores[0] = np.nan
    policy = make_policy(spec, recording.systems, horizon=600, runs=4)
    history = Replay(recording).run(policy, segment_orders(600, 4, 1))
    assert not (history.tops[-1] == 0).any() or spec.startswith(("exp3", "ewaf"))
    if spec == "race":
        assert all(stop is not None and "s0" not in stop[1].best for stop in history.stops)


@pytest.mark.parametrize("spec", SPECS)
def test_a_rating_of_one_system_only_keeps_weights_finite(spec: str) -> None:
    policy = policy_of(spec)
    choice = policy.choose(SEGMENTS[0], random.Random(1))
    policy.update(choice, {choice.system: 1.0})
    assert all(map(np.isfinite, policy.weights().values()))


def test_the_race_uses_few_ratings_and_stops_with_the_correct_three() -> None:
    recording = make_recording([0.9, 0.85, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2], 1000)
    policy = make_policy("race", recording.systems, horizon=1000, runs=10)
    history = Replay(recording).run(policy, segment_orders(1000, 10, 1, each=True))
    assert all(stop is not None and set(stop[1].best) == {"s0", "s1", "s2"} for stop in history.stops)
    assert history.spent[-1].max() < recording.ratings / 4
    stop = policy.verdict()
    assert stop is not None
    assert (stop.confidence, stop.within) == (0.95, 0.01)


def test_the_race_is_rarely_wrong_in_the_worst_case() -> None:
    """With indifference 0 and a small gap, the sample may reverse the order: one of 24 stops may be wrong."""
    wrong = stops = 0
    for seed in range(24):
        recording = make_recording([0.7, 0.7, 0.63, 0.6], 300, spread=0.15, seed=seed)
        gold = set(np.argsort(-recording.scores.mean(axis=1))[:3].tolist())
        policy = make_policy("race:indifference=0.0", recording.systems, horizon=300)
        (stop,) = Replay(recording).run(policy, segment_orders(300, 1, seed)).stops
        if stop is not None:
            stops += 1
            wrong += {int(name[1:]) for name in stop[1].best} != gold
    assert stops >= 12
    assert wrong <= 1


def test_ratings_of_one_segment_may_arrive_one_by_one() -> None:
    together, apart = Race(NAMES, evaluation_interval=1), Race(NAMES, evaluation_interval=1)
    rng = random.Random(5)
    for segment in SEGMENTS:
        scores = {name: rng.random() for name in NAMES}
        choice = Choice("ann", asked=tuple(NAMES), segment=segment.id)
        together.update(choice, scores)
        for name, score in scores.items():
            apart.update(Choice("ann", asked=(name,), segment=segment.id), {name: score})
    assert apart.weights() == pytest.approx(together.weights())


def test_the_p_value_shrinks_with_the_lead_and_is_at_most_one() -> None:
    leads = np.array([-0.1, 0.0, 0.02, 0.05, 0.1])
    p_values = anytime_p_value(leads, np.full(5, 1e-4))
    assert (np.diff(p_values) <= 0).all()
    assert p_values[0] == p_values[1] == 1
    assert p_values[-1] < 1e-6


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("exp4", "did you mean 'exp3'"),
        ("race:topp=1", "did you mean 'top'"),
        ("race:top", "NAME=VALUE"),
        ("race:top=0", "top is 0; expected 1 or more"),
        ("race:confidence=2", "between 0 and 1"),
        ("elimination:indifference=-1", "0 or more"),
        ("race:indifference=1", r"less than 1 \(0.01 is one point of 100\)"),
        ("race:min_ratings=1", "min_ratings is 1; expected 2 or more"),
        ("race:bound=exact", "no bound 'exact'"),
        ("race:evaluation_interval=0", "evaluation_interval is 0; expected 1 or more"),
        ("exp3:variant=mtol", "'paper' or 'published'"),
        ("race:top=many", "setting top is 'many'; expected a whole number"),
        ("linucb:ridge_penalty=0", "ridge_penalty is 0.0; expected a finite number above 0"),
        ("exp3:horizon=5", "policy exp3 has no setting 'horizon'"),
    ],
)
def test_a_wrong_policy_raises_a_clear_error(spec: str, message: str) -> None:
    with pytest.raises((InputError, UnknownName), match=message):
        policy_of(spec)


@pytest.mark.parametrize("spec", ["ewaf", "exp3", "ucb1", "thompson", "elimination", "race", "linucb"])
def test_the_keys_of_the_state_are_the_names_of_attributes(spec: str) -> None:
    policy = policy_of(spec)
    assert policy.state()
    assert all(key.endswith("_") and hasattr(policy, key) for key in policy.state())


@pytest.mark.parametrize("names", [[], ["a", "a"]])
def test_no_systems_and_duplicate_names_are_refused(names: list[str]) -> None:
    with pytest.raises(InputError):
        SuccessiveElimination(names)


def test_a_request_without_an_answer_keeps_the_variance_but_a_cell_that_is_never_rated_does_not() -> None:
    rng = np.random.default_rng(1)
    asked, never = np.array([True, True]), np.array([True, False])
    answered, unanswered, recorded = Evidence(2, horizon=20), Evidence(2, horizon=20), Evidence(2, horizon=20)
    for n in range(20):
        scores = rng.random(2)
        answered.add(str(n), scores, asked)
        given = np.where(never & (n % 2 == 0), np.nan, scores)
        unanswered.add(str(n), given, asked)
        recorded.add(str(n), given, asked, np.isnan(given))
    assert answered.estimate().variance_between(0)[1] == pytest.approx(0)
    assert unanswered.estimate().variance_between(0)[1] > 1e-3
    assert recorded.estimate().variance_between(0)[1] == pytest.approx(0)
    again = Evidence(2, horizon=20)
    again.restore(**unanswered.state())  # type: ignore[arg-type]
    assert again.estimate().variance_between(0)[1] == unanswered.estimate().variance_between(0)[1]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_linucb_tries_all_systems_and_then_chooses_the_best(seed: int, missing: float) -> None:
    """This holds even if half of the ratings of the best system are missing."""
    means, rng = {"a": 0.6, "b": 0.7, "c": 0.8, "d": 0.9}, random.Random(seed)
    policy, chosen = policy_of("linucb", list(means)), Counter[str]()
    for n in range(400):
        choice = policy.choose(Segment(str(n), "Save 3 files." if n % 2 else "Open it."), rng)
        chosen[choice.system] += 1
        rated = choice.system != "d" or rng.random() >= missing
        policy.update(choice, {choice.system: rng.uniform(-0.1, 0.1) + means[choice.system]} if rated else {})
    assert min(chosen[name] for name in means) >= 1
    assert chosen["d"] > 300


def test_linucb_learns_the_best_system_for_each_kind_of_segment() -> None:
    """One system is good at short segments, the other at long ones."""
    policy = policy_of("linucb", ["short", "long"])
    texts = ["Save.", "word " * 60]
    for i in range(200):
        segment = Segment(str(i), texts[i % 2])
        choice = policy.choose(segment, random.Random(i))
        policy.update(choice, {choice.system: float((choice.system == "long") == (i % 2 == 1))})
    chosen = [policy.choose(Segment("x", text), random.Random(1)).system for text in texts]
    assert chosen == ["short", "long"]


def test_a_bound_is_not_used_beyond_its_calibration() -> None:
    with pytest.raises(InputError, match=r"calibrated for at most 0\.99; use bound=anytime"):
        Race(NAMES, bound="posterior", confidence=0.999)
