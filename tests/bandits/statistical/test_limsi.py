from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from helpers.tiny_smt import known_pairs, stream_pairs

from mtloop.bandits.ridge import Ridge
from mtloop.bandits.statistical.bandit_smt import vector_of
from mtloop.bandits.statistical.limsi import Limsi, candidate_features
from mtloop.checks.learner_contract import check_learner
from mtloop.core import InputError, PostEdit, Proposal, Reward, Segment
from mtloop.methods.registry import make_learner
from mtloop.smt.learners import BackgroundModel
from mtloop.smt.training import SmtJob

METHODS = ["limsi-ucb1", "limsi-sampling", "limsi-select"]
SEGMENTS = [Segment(str(i), source) for i, (source, _) in enumerate(stream_pairs()[:10])]
SAVE = "Save the file now."


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> BackgroundModel:
    """A model with two translations of "Save"; one is a little more frequent."""
    folder = tmp_path_factory.mktemp("smt") / "model"
    others = [(source, target.replace("Speichern", "Sichern")) for source, target in known_pairs()]
    SmtJob(pairs=known_pairs() * 4 + others * 3, out=folder, valid=(), log=lambda text: None).run()
    return BackgroundModel.open(folder)


def learner(base: BackgroundModel, method: str, **settings: float) -> Limsi:
    made = make_learner(method, base, settings)
    assert isinstance(made, Limsi)
    return made


def reward_of(proposal: Proposal) -> Reward:
    return Reward(sum(proposal.text.encode()) % 11 / 10)


@pytest.mark.parametrize("method", METHODS)
def test_learner_contract(base: BackgroundModel, method: str) -> None:
    check_learner(lambda: learner(base, method), SEGMENTS, reward_of)


def test_ridge_is_least_squares_about_its_prior() -> None:
    rng = np.random.default_rng(1)
    x, y, prior = rng.standard_normal((40, 3)), rng.standard_normal(40), rng.standard_normal(3)
    ridge = Ridge(prior, penalty=0.5)
    for example, value in zip(x, y, strict=True):
        ridge.add(example, float(value))
    expected = prior + np.linalg.solve(x.T @ x + 0.5 * np.eye(3), x.T @ (y - x @ prior))
    np.testing.assert_allclose(ridge.predict(np.eye(3)), expected)


def test_before_the_first_reward_it_ranks_as_the_seed_system(base: BackgroundModel) -> None:
    system = learner(base, "limsi-ucb1")
    rows = np.array([vector_of(row) for _, row in system.engine.nbest(SAVE, 50)])
    predicted = system.ridge_.predict(candidate_features(rows / 4))
    scores = rows @ vector_of(system.engine.weights)
    assert list(np.argsort(-predicted)) == list(np.argsort(-scores))
    assert predicted.argmax() == 0, "the choice of the seed system"


def test_features_of_easy_sentences_do_not_change_the_ranking_of_candidates(base: BackgroundModel) -> None:
    """Two kinds of sentences: one has higher rewards and features; within a list the features have no effect."""
    rng, system = np.random.default_rng(1), learner(base, "limsi-ucb1")
    for number in range(400):
        rows = number % 2 + 0.1 * rng.standard_normal((6, 7))
        system.ridge_.add(candidate_features(rows)[0], 0.8 * (number % 2))
    learned = system.ridge_.predict(np.eye(15))
    assert learned[1:8].sum() > 0.5, "the mean of the list identifies the kind"
    assert abs(learned[8:] - system.ridge_.prior[8:]).max() < 0.02


@pytest.mark.parametrize("method", METHODS)
def test_both_systems_are_tried_and_the_better_one_is_chosen_more_often(base: BackgroundModel, method: str) -> None:
    """The adapted system always gets the higher reward."""
    system, arms = learner(base, method), []
    for number in range(300):
        proposal = system.propose(Segment(str(number), SAVE))
        arms.append(proposal.memo["arm"])
        assert system.learn(proposal, Reward(0.9 if arms[-1] == "adapted" else 0.1)).rejected is None
    assert arms[0] == "seed"
    assert set(arms) == {"seed", "adapted"}
    assert arms[100:].count("adapted") > 1.3 * arms[100:].count("seed")


def test_a_prediction_can_change_the_choice_of_the_seed_system(base: BackgroundModel) -> None:
    system = learner(base, "limsi-ucb1", ridge_penalty=1.0)
    candidates = system.engine.nbest(SAVE, 50)
    length = len(system.engine.tokeniser.tokenise_source(SAVE))
    examples = candidate_features(np.array([vector_of(row) for _, row in candidates]) / length)
    for _ in range(200):
        system.ridge_.add(examples[0], 0.1)
        system.ridge_.add(examples[1], 0.9)
    system.sums_, system.counts_ = np.array([1.0, 9.0]), np.array([10.0, 10.0])
    proposal = system.propose(Segment("1", SAVE))
    assert (proposal.memo["arm"], proposal.text) == ("adapted", candidates[1][0])


def test_sampling_reports_the_probability(base: BackgroundModel) -> None:
    system = learner(base, "limsi-sampling")
    system.sums_, system.counts_ = np.array([6.0, 2.0]), np.array([10.0, 10.0])
    probabilities = system.probabilities()
    assert probabilities.sum() == pytest.approx(1.0)
    assert probabilities[0] > probabilities[1] > 0
    assert system.propose(SEGMENTS[0]).probability == pytest.approx(1.0)  # both systems still agree


def test_select_gives_each_reward_to_one_part_only(base: BackgroundModel) -> None:
    system = learner(base, "limsi-select")
    for segment in SEGMENTS[:6]:
        system.learn(system.propose(segment), Reward(0.5))
    assert system.counts_.sum() == 3
    assert system.ridge_.products_[0, 0] == pytest.approx(100.0 + 3)


@pytest.mark.parametrize("method", METHODS)
def test_rejected_rewards(base: BackgroundModel, method: str) -> None:
    system = learner(base, method)
    proposal = system.propose(SEGMENTS[0])
    assert system.learn(proposal, Reward(math.nan)).rejected == "reward out of range"
    assert system.learn(proposal, PostEdit("x")).rejected == "learns from rewards, not from post-edits"
    assert system.learn(Proposal(SEGMENTS[0], "x"), Reward(0.5)).rejected == "unknown proposal"
    assert system.learn(system.propose(Segment("1", "")), Reward(0.5)).rejected == "not drawn"
    assert system.counts_.sum() == 0
    assert system.learn(proposal, Reward(0.5)).rejected is None
    assert system.learn(proposal, Reward(0.5)).rejected == "rewarded before"


def test_a_snapshot_of_another_variant_is_rejected(base: BackgroundModel, tmp_path: Path) -> None:
    learner(base, "limsi-ucb1").save(tmp_path)
    with pytest.raises(InputError, match="belongs to method limsi-ucb1"):
        learner(base, "limsi-select").load(tmp_path)


def test_a_snapshot_of_another_regression_is_rejected(base: BackgroundModel, tmp_path: Path) -> None:
    system = learner(base, "limsi-ucb1")
    system.ridge_ = Ridge(np.zeros(8), 1.0)
    system.save(tmp_path)
    with pytest.raises(InputError, match="other features"):
        learner(base, "limsi-ucb1").load(tmp_path)
