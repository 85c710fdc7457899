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
    climb,
    shares,
    values_of,
)
from mtloop.bandits.statistical.optimisers import Adadelta, Adam, Optimiser
from mtloop.checks.learner_contract import check_learner
from mtloop.core import Delay, Feedback, InputError, PostEdit, Proposal, Reward, Segment, Truth, UnknownName, run
from mtloop.methods.registry import make_learner
from mtloop.smt.engine import FEATURES
from mtloop.smt.learners import Base
from mtloop.smt.training import SmtJob

SEGMENTS = [Segment(str(i), source) for i, (source, _) in enumerate(stream_pairs()[:8])]
METHODS = ["smt-el-cv", "smt-el-cv-adadelta", "smt-el-cv-adam", "smt-szo-cv-adam"]
STEPS = 150
SAVE = "Save the file now."


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Base:
    """A model that knows two ways to say "Save", one a little more often: there is something to choose."""
    folder = tmp_path_factory.mktemp("smt") / "model"
    others = [(source, target.replace("Speichern", "Sichern")) for source, target in known_pairs()]
    SmtJob(pairs=known_pairs() * 4 + others * 3, out=folder, valid=(), say=lambda text: None).run()
    return Base.open(folder)


def worth(proposal: Proposal) -> Reward:
    return Reward(sum(proposal.text.encode()) % 11 / 10)


def learner(base: Base, method: str = "smt-el-cv", **settings: Any) -> BanditSMT:
    made = make_learner(method, base, settings)
    assert isinstance(made, BanditSMT)
    return made


@pytest.mark.parametrize("method", METHODS)
def test_the_contract(base: Base, method: str) -> None:
    check_learner(lambda: learner(base, method), SEGMENTS, worth)


def test_the_gradient_against_finite_differences(base: Base) -> None:
    """Of log p of each candidate, by each weight."""
    found = base.engine().nbest(SAVE, 100)
    features = np.array([values_of(row) for _, row in found])
    weights, temperature, step = np.linspace(0.2, 0.8, len(FEATURES)), 1.5, 1e-6
    assert len(found) > 1
    for chosen in range(len(found)):
        gradient = climb(features, shares(features, weights, temperature), chosen, temperature)
        for number in range(len(FEATURES)):
            moved = np.eye(len(FEATURES))[number] * step
            ends = [shares(features, weights + sign * moved, temperature)[chosen] for sign in (1, -1)]
            measured = (math.log(ends[0]) - math.log(ends[1])) / (2 * step)
            assert measured == pytest.approx(gradient[number], rel=1e-4, abs=1e-6)


def test_one_point_estimates_average_to_the_gradient() -> None:
    """E[f(w + u) u] is the gradient of the smoothed f; of a linear one, its slope."""
    rng, slope = np.random.default_rng(1), np.array([0.5, -1.0, 0.0])
    draws = rng.standard_normal((40_000, 3))
    estimate = ((draws @ slope)[:, None] * draws).mean(axis=0)
    np.testing.assert_allclose(estimate, slope, atol=0.03)


def test_a_draw_of_the_list_has_its_probability_and_leaves_no_mark(base: Base) -> None:
    system = learner(base, temperature=5.0)
    before = system.engine.weights
    texts = {text for text, _ in system.engine.nbest(SAVE, 50)}
    proposals = [learner(base, temperature=5.0, seed=seed).propose(Segment("1", SAVE)) for seed in range(1, 9)]
    assert {proposal.text for proposal in proposals} <= texts
    assert len({proposal.text for proposal in proposals}) > 1
    assert all(0 < (proposal.probability or 0) < 1 for proposal in proposals)
    assert learner(base, "smt-szo-cv-adam").propose(SEGMENTS[0]).probability is None
    assert system.engine.weights == before


def test_shaken_weights_are_put_back(base: Base) -> None:
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
        ({"memo": {"draw": 1, "heard": 0, "direction": [1.0] * 7, "signature": 1}}, Reward(0.5), "unknown proposal"),
        ({"system": "another", "memo": {}}, Reward(0.5), "unknown proposal"),
        ({"memo": {}}, Reward(0.5), "not drawn"),
        ({}, PostEdit("Öffnen"), "learns from rewards, not from PostEdit"),
    ],
)
@pytest.mark.parametrize("method", ["smt-el-cv-adam", "smt-szo-cv-adam"])
def test_what_teaches_nothing_leaves_everything_as_it_was(
    base: Base, method: str, change: dict[str, Any], feedback: Feedback, reason: str
) -> None:
    system = learner(base, method)
    for segment in SEGMENTS[:3]:
        system.learn(proposal := system.propose(segment), worth(proposal))
    before, heard = system.engine.weights, system.ledger_.rewards_.heard_
    assert system.learn(replace(system.propose(SEGMENTS[4]), **change), feedback).rejected == reason
    assert (system.engine.weights, system.ledger_.rewards_.heard_) == (before, heard)


@pytest.mark.parametrize("method", METHODS)
def test_late_and_second_rewards(base: Base, method: str) -> None:
    system = learner(base, method)
    pairs = [stream_pairs()[i % 40] for i in range(104)]
    stream = [(Segment(str(i), source), Truth((target,))) for i, (source, target) in enumerate(pairs)]
    steps = list(run(stream, system, lambda proposal, truth: worth(proposal), schedule=Delay(100)))
    assert not any(step.learned.rejected for step in steps if step.learned)
    assert np.isfinite(system.weights_).all()
    before = system.engine.weights
    assert system.learn(steps[5].proposal, Reward(1.0)).rejected == "rewarded before"
    assert system.engine.weights == before


class Broken:
    """An optimiser gone astray."""

    state: list[Any] = []  # noqa: RUF012

    def step(self, gradient: Any) -> Any:
        return gradient * math.nan


def test_steps_that_are_no_number_are_not_taken(base: Base) -> None:
    system = BanditSMT(base.engine(), NBestExpectedLoss(), Broken(), control=False)
    before = system.engine.weights
    assert system.learn(system.propose(SEGMENTS[0]), Reward(1.0)).rejected == "not finite"
    assert system.engine.weights == before


def test_nothing_to_draw_from(base: Base) -> None:
    for source, method in [("", "smt-el-cv"), ("word " * 100, "smt-el-cv"), ("", "smt-szo-cv-adam")]:
        system = learner(base, method)
        proposal = system.propose(Segment("1", source))
        assert system.learn(proposal, Reward(0.5)).rejected == "not drawn"


@pytest.mark.parametrize("optimiser", [Adam(0.1), Adadelta(tiny=1e-3)])
def test_expected_loss_finds_the_better_of_two_translations(base: Base, optimiser: Optimiser) -> None:
    """Of a list's two best, the second earns more: within so many rewards it is the likelier one."""
    system = BanditSMT(base.engine(), NBestExpectedLoss(100), type(optimiser)(**vars(optimiser) | {"state": []}))
    texts, rows = zip(*system.engine.nbest(SAVE, 100), strict=True)
    features = np.array([values_of(row) for row in rows])
    start = shares(features, system.weights_)[1]
    for number in range(STEPS):
        proposal = system.propose(Segment(str(number), SAVE))
        system.learn(proposal, Reward(0.9 if proposal.text == texts[1] else 0.3))
    assert start < 0.5
    assert shares(features, system.weights_)[1] > 0.7
    assert system.engine.translate(SAVE) == texts[1]


def test_a_snapshot_of_another_method_is_refused(base: Base, tmp_path: Path) -> None:
    learner(base).save(tmp_path)
    with pytest.raises(InputError, match="is of method smt-el-cv"):
        learner(base, "smt-szo-cv-adam").load(tmp_path)
    (tmp_path / "bandit.json").write_text("[]")
    with pytest.raises(InputError, match="not a snapshot"):
        learner(base).load(tmp_path)


def test_wrong_settings_are_one_line(base: Base) -> None:
    with pytest.raises(UnknownName, match="adadelta, adam"):
        learner(base, optimiser="sgd")
    for method, settings in [("smt-el-cv", {"size": 1}), ("smt-szo-cv-adam", {"spread": 0.0})]:
        with pytest.raises(InputError):
            learner(base, method, **settings)


def test_shaking_harder_says_other_things(base: Base) -> None:
    engine = base.engine()
    drawn = [WeightPerturbation(20.0)(engine, SAVE, random.Random(seed)) for seed in range(12)]
    assert len({one.text for one in drawn if one}) > 1
