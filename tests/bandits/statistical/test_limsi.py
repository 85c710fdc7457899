from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from helpers.tiny_smt import known_pairs, stream_pairs

from mtloop.bandits.statistical.bandit_smt import values_of
from mtloop.bandits.statistical.limsi import Limsi, Ridge, described
from mtloop.checks.learner_contract import check_learner
from mtloop.core import InputError, PostEdit, Proposal, Reward, Segment
from mtloop.methods.registry import make_learner
from mtloop.smt.learners import Base
from mtloop.smt.training import SmtJob

METHODS = ["limsi-ucb1", "limsi-sampling", "limsi-select"]
SEGMENTS = [Segment(str(i), source) for i, (source, _) in enumerate(stream_pairs()[:10])]
SAVE = "Save the file now."


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Base:
    """A model that knows two ways to say "Save", one a little more often."""
    folder = tmp_path_factory.mktemp("smt") / "model"
    others = [(source, target.replace("Speichern", "Sichern")) for source, target in known_pairs()]
    SmtJob(pairs=known_pairs() * 4 + others * 3, out=folder, valid=(), say=lambda text: None).run()
    return Base.open(folder)


def learner(base: Base, method: str, **settings: float) -> Limsi:
    made = make_learner(method, base, settings)
    assert isinstance(made, Limsi)
    return made


def worth(proposal: Proposal) -> Reward:
    return Reward(sum(proposal.text.encode()) % 11 / 10)


@pytest.mark.parametrize("method", METHODS)
def test_the_contract(base: Base, method: str) -> None:
    check_learner(lambda: learner(base, method), SEGMENTS, worth)


def test_ridge_is_least_squares_about_its_prior() -> None:
    rng = np.random.default_rng(1)
    x, y, prior = rng.standard_normal((40, 3)), rng.standard_normal(40), rng.standard_normal(3)
    ridge = Ridge(prior, penalty=0.5)
    for example, value in zip(x, y, strict=True):
        ridge.add(example, float(value))
    expected = prior + np.linalg.solve(x.T @ x + 0.5 * np.eye(3), x.T @ (y - x @ prior))
    np.testing.assert_allclose(ridge.predict(np.eye(3)), expected)


def test_before_it_has_heard_anything_it_ranks_as_the_seed_does(base: Base) -> None:
    system = learner(base, "limsi-ucb1")
    rows = np.array([values_of(row) for _, row in system.engine.nbest(SAVE, 50)])
    predicted = system.ridge_.predict(described(rows / 4))
    scores = rows @ values_of(system.engine.weights)
    assert list(np.argsort(-predicted)) == list(np.argsort(-scores))
    assert predicted.argmax() == 0, "the seed's own choice"


def test_what_makes_sentences_easy_does_not_make_a_candidate_good(base: Base) -> None:
    """Two kinds of sentences, one of which earns more and has higher features; within a list nothing matters."""
    rng, system = np.random.default_rng(1), learner(base, "limsi-ucb1")
    for number in range(400):
        rows = number % 2 + 0.1 * rng.standard_normal((6, 7))
        system.ridge_.add(described(rows)[0], 0.8 * (number % 2))
    learned = system.ridge_.predict(np.eye(15))
    assert learned[1:8].sum() > 0.5, "the list's mean says which kind it is"
    assert abs(learned[8:] - system.ridge_.prior[8:]).max() < 0.02


@pytest.mark.parametrize("method", METHODS)
def test_both_systems_are_tried_and_the_better_one_is_taken_more_often(base: Base, method: str) -> None:
    """A world that likes the adapted system better, whatever it says."""
    system, arms = learner(base, method), []
    for number in range(300):
        proposal = system.propose(Segment(str(number), SAVE))
        arms.append(proposal.memo["arm"])
        assert system.learn(proposal, Reward(0.9 if arms[-1] == "adapted" else 0.1)).rejected is None
    assert arms[0] == "seed"
    assert set(arms) == {"seed", "adapted"}
    assert arms[100:].count("adapted") > 1.3 * arms[100:].count("seed")


def test_a_prediction_can_prefer_what_the_seed_does_not(base: Base) -> None:
    system = learner(base, "limsi-ucb1", ridge=1.0)
    candidates = system.engine.nbest(SAVE, 50)
    length = len(system.engine.words.read(SAVE))
    examples = described(np.array([values_of(row) for _, row in candidates]) / length)
    for _ in range(200):
        system.ridge_.add(examples[0], 0.1)
        system.ridge_.add(examples[1], 0.9)
    system.sums_, system.counts_ = np.array([1.0, 9.0]), np.array([10.0, 10.0])
    proposal = system.propose(Segment("1", SAVE))
    assert (proposal.memo["arm"], proposal.text) == ("adapted", candidates[1][0])


def test_sampling_says_how_likely_it_was(base: Base) -> None:
    system = learner(base, "limsi-sampling")
    system.sums_, system.counts_ = np.array([6.0, 2.0]), np.array([10.0, 10.0])
    chances = system.chances()
    assert chances.sum() == pytest.approx(1.0)
    assert chances[0] > chances[1] > 0
    assert system.propose(SEGMENTS[0]).probability == pytest.approx(1.0)  # both systems say the same so far


def test_select_keeps_what_was_fitted_apart(base: Base) -> None:
    system = learner(base, "limsi-select")
    for segment in SEGMENTS[:6]:
        system.learn(system.propose(segment), Reward(0.5))
    assert system.counts_.sum() == 3
    assert system.ridge_.products_[0, 0] == pytest.approx(100.0 + 3)


@pytest.mark.parametrize("method", METHODS)
def test_what_teaches_nothing(base: Base, method: str) -> None:
    system = learner(base, method)
    proposal = system.propose(SEGMENTS[0])
    assert system.learn(proposal, Reward(math.nan)).rejected == "reward out of range"
    assert system.learn(proposal, PostEdit("x")).rejected == "learns from rewards, not from PostEdit"
    assert system.learn(Proposal(SEGMENTS[0], "x"), Reward(0.5)).rejected == "unknown proposal"
    assert system.learn(system.propose(Segment("1", "")), Reward(0.5)).rejected == "not drawn"
    assert system.counts_.sum() == 0
    assert system.learn(proposal, Reward(0.5)).rejected is None
    assert system.learn(proposal, Reward(0.5)).rejected == "rewarded before"


def test_a_snapshot_of_another_variant_is_refused(base: Base, tmp_path: Path) -> None:
    learner(base, "limsi-ucb1").save(tmp_path)
    with pytest.raises(InputError, match="is of method limsi-ucb1"):
        learner(base, "limsi-select").load(tmp_path)


def test_a_snapshot_of_another_regression_is_refused(base: Base, tmp_path: Path) -> None:
    system = learner(base, "limsi-ucb1")
    system.ridge_ = Ridge(np.zeros(8), 1.0)
    system.save(tmp_path)
    with pytest.raises(InputError, match="other features"):
        learner(base, "limsi-ucb1").load(tmp_path)
