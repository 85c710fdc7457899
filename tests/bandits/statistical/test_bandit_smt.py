from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.tiny_smt import known_pairs, stream_pairs

from mtloop.bandits.statistical.bandit_smt import (
    BanditSMT,
    NBestExpectedLoss,
    WeightPerturbation,
    score_gradient,
    softmax,
    vector_of,
)
from mtloop.bandits.statistical.optimisers import Adadelta, Adam, Optimiser
from mtloop.checks.learner_contract import check_learner
from mtloop.core import Delay, Feedback, InputError, PostEdit, Proposal, Reward, Segment, Truth, run
from mtloop.methods.registry import make_learner
from mtloop.smt.engine import FEATURES
from mtloop.smt.learners import BackgroundModel
from mtloop.smt.training import SmtJob

SEGMENTS = [Segment(str(i), source) for i, (source, _) in enumerate(stream_pairs()[:8])]
METHODS = ["smt-el-cv", "smt-el-cv-adadelta", "smt-el-cv-adam", "smt-szo-cv-adam"]
STEPS = 150
SAVE = "Save the file now."


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> BackgroundModel:
    """A model with two translations of "Save"; one is a little more frequent."""
    folder = tmp_path_factory.mktemp("smt") / "model"
    others = [(source, target.replace("Speichern", "Sichern")) for source, target in known_pairs()]
    SmtJob(pairs=known_pairs() * 4 + others * 3, out=folder, valid=(), log=lambda text: None).run()
    return BackgroundModel.open(folder)


def reward_of(proposal: Proposal) -> Reward:
    return Reward(sum(proposal.text.encode()) % 11 / 10)


def learner(base: BackgroundModel, method: str = "smt-el-cv", **settings: Any) -> BanditSMT:
    made = make_learner(method, base, settings)
    assert isinstance(made, BanditSMT)
    return made


@pytest.mark.parametrize("method", METHODS)
def test_learner_contract(base: BackgroundModel, method: str) -> None:
    check_learner(lambda: learner(base, method), SEGMENTS, reward_of)


def test_the_gradient_against_finite_differences(base: BackgroundModel) -> None:
    """The gradient of log p of each candidate, by each weight."""
    found = base.engine().nbest(SAVE, 100)
    features = np.array([vector_of(row) for _, row in found])
    weights, temperature, step = np.linspace(0.2, 0.8, len(FEATURES)), 1.5, 1e-6
    assert len(found) > 1
    for chosen in range(len(found)):
        gradient = score_gradient(features, softmax(features, weights, temperature), chosen, temperature)
        for number in range(len(FEATURES)):
            moved = np.eye(len(FEATURES))[number] * step
            ends = [softmax(features, weights + sign * moved, temperature)[chosen] for sign in (1, -1)]
            measured = (math.log(ends[0]) - math.log(ends[1])) / (2 * step)
            assert measured == pytest.approx(gradient[number], rel=1e-4, abs=1e-6)


def test_one_point_estimates_average_to_the_gradient() -> None:
    """E[f(w + u) u] is the gradient of the smoothed f; for a linear f it is the slope."""
    rng, slope = np.random.default_rng(1), np.array([0.5, -1.0, 0.0])
    draws = rng.standard_normal((40_000, 3))
    estimate = ((draws @ slope)[:, None] * draws).mean(axis=0)
    np.testing.assert_allclose(estimate, slope, atol=0.03)


def test_a_sample_has_its_probability_and_keeps_the_weights(base: BackgroundModel) -> None:
    system = learner(base, temperature=5.0)
    before = system.engine.weights
    texts = {text for text, _ in system.engine.nbest(SAVE, 50)}
    proposals = [learner(base, temperature=5.0, seed=seed).propose(Segment("1", SAVE)) for seed in range(1, 9)]
    assert {proposal.text for proposal in proposals} <= texts
    assert len({proposal.text for proposal in proposals}) > 1
    assert all(0 < (proposal.probability or 0) < 1 for proposal in proposals)
    assert learner(base, "smt-szo-cv-adam").propose(SEGMENTS[0]).probability is None
    assert system.engine.weights == before


def test_perturbed_weights_are_restored(base: BackgroundModel) -> None:
    system = learner(base, "smt-szo-cv-adam")
    before = system.engine.weights
    system.propose(SEGMENTS[0])
    assert system.engine.weights == before


@pytest.mark.parametrize(
    ("change", "feedback", "reason"),
    [
        ({}, Reward(math.nan), "reward out of range"),
        ({}, Reward(1.5), "reward out of range"),
        ({"text": "Etwas anderes."}, Reward(0.5), "unknown proposal"),
        ({"memo": {"draw": 1, "rewards": 0, "direction": [1.0] * 7, "signature": 1}}, Reward(0.5), "unknown proposal"),
        ({"system": "another", "memo": {}}, Reward(0.5), "unknown proposal"),
        ({"memo": {}}, Reward(0.5), "not drawn"),
        ({}, PostEdit("Öffnen"), "learns from rewards, not from post-edits"),
    ],
)
@pytest.mark.parametrize("method", ["smt-el-cv-adam", "smt-szo-cv-adam"])
def test_a_rejected_reward_changes_nothing(
    base: BackgroundModel, method: str, change: dict[str, Any], feedback: Feedback, reason: str
) -> None:
    system = learner(base, method)
    for segment in SEGMENTS[:3]:
        system.learn(proposal := system.propose(segment), reward_of(proposal))
    before, count = system.engine.weights, system.draw_log_.rewards_.count_
    assert system.learn(replace(system.propose(SEGMENTS[4]), **change), feedback).rejected == reason
    assert (system.engine.weights, system.draw_log_.rewards_.count_) == (before, count)


@pytest.mark.parametrize("method", METHODS)
def test_late_and_second_rewards(base: BackgroundModel, method: str) -> None:
    system = learner(base, method)
    pairs = [stream_pairs()[i % 40] for i in range(104)]
    stream = [(Segment(str(i), source), Truth((target,))) for i, (source, target) in enumerate(pairs)]
    steps = list(run(stream, system, lambda proposal, truth: reward_of(proposal), schedule=Delay(100)))
    assert not any(step.learned.rejected for step in steps if step.learned)
    assert np.isfinite(system.weights_).all()
    before = system.engine.weights
    assert system.learn(steps[5].proposal, Reward(1.0)).rejected == "rewarded before"
    assert system.engine.weights == before


class Broken:
    """An optimiser whose steps are NaN."""

    state: list[Any] = []  # noqa: RUF012

    def step(self, gradient: Any) -> Any:
        return gradient * math.nan


def test_a_step_that_is_nan_is_rejected(base: BackgroundModel) -> None:
    system = BanditSMT(base.engine(), NBestExpectedLoss(), Broken(), control=False)
    before = system.engine.weights
    assert system.learn(system.propose(SEGMENTS[0]), Reward(1.0)).rejected == "not finite"
    assert system.engine.weights == before


def test_a_source_without_candidates_is_not_sampled(base: BackgroundModel) -> None:
    for source, method in [("", "smt-el-cv"), ("word " * 100, "smt-el-cv"), ("", "smt-szo-cv-adam")]:
        system = learner(base, method)
        proposal = system.propose(Segment("1", source))
        assert system.learn(proposal, Reward(0.5)).rejected == "not drawn"


@pytest.mark.parametrize("optimiser", [Adam(0.1), Adadelta(epsilon=1e-3)])
def test_expected_loss_finds_the_better_of_two_translations(base: BackgroundModel, optimiser: Optimiser) -> None:
    """The second of the two best candidates has the higher reward, and becomes the more likely one."""
    system = BanditSMT(base.engine(), NBestExpectedLoss(100), type(optimiser)(**vars(optimiser) | {"state": []}))
    texts, rows = zip(*system.engine.nbest(SAVE, 100), strict=True)
    features = np.array([vector_of(row) for row in rows])
    start = softmax(features, system.weights_)[1]
    for number in range(STEPS):
        proposal = system.propose(Segment(str(number), SAVE))
        system.learn(proposal, Reward(0.9 if proposal.text == texts[1] else 0.3))
    assert start < 0.5
    assert softmax(features, system.weights_)[1] > 0.7
    assert system.engine.translate(SAVE) == texts[1]


def test_a_snapshot_of_another_method_is_rejected(base: BackgroundModel, tmp_path: Path) -> None:
    learner(base).save(tmp_path)
    with pytest.raises(InputError, match="belongs to method smt-el-cv"):
        learner(base, "smt-szo-cv-adam").load(tmp_path)
    (tmp_path / "bandit.json").write_text("[]")
    with pytest.raises(InputError, match="not a snapshot"):
        learner(base).load(tmp_path)


def test_invalid_settings_raise_an_input_error(base: BackgroundModel) -> None:
    with pytest.raises(InputError, match="setting optimiser is 'sgd'"):
        learner(base, optimiser="sgd")
    for method, settings in [("smt-el-cv", {"nbest_size": 1}), ("smt-szo-cv-adam", {"perturbation_scale": 0.0})]:
        with pytest.raises(InputError):
            learner(base, method, **settings)


def test_a_large_perturbation_gives_other_translations(base: BackgroundModel) -> None:
    engine = base.engine()
    drawn = [WeightPerturbation(20.0)(engine, SAVE, random.Random(seed)) for seed in range(12)]
    assert len({one.text for one in drawn if one}) > 1
