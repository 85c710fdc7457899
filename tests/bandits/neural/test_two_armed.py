"""A model with two nearly equally likely translations of one sentence must find the better one from rewards."""

from __future__ import annotations

import math
from typing import Any

import pytest
from helpers.tiers import slow
from helpers.two_armed import RIGHT, SOURCE, WRONG, make_two_armed

from mtloop.bandits.neural.bandit_nmt import BanditNMT
from mtloop.core import Reward, Segment
from mtloop.methods.registry import make_learner
from mtloop.nmt.engine.lesson import forward_pass
from mtloop.nmt.engine.marian import Marian

STEPS = 150  # rewards until the better translation must be found by sampling
PERTURBATIONS = 300  # and by perturbing weights
FOUND: list[tuple[str, dict[str, Any], float]] = [
    ("nmt-el", {"learning_rate": 0.02, "max_gradient_norm": 0.0}, 0.9),
    slow("nmt-el", {"learning_rate": 0.02, "max_gradient_norm": 0.0, "seed": 2}, 0.9),
    ("nmt-el-cv", {"learning_rate": 0.05}, 0.9),
    slow("nmt-el-cv", {"learning_rate": 0.05, "seed": 2}, 0.9),
    slow("nmt-el-ridge", {"learning_rate": 0.05}, 0.88),
    ("nmt-reinforce", {"learning_rate": 0.05}, 0.88),
    slow("nmt-el-cv", {"learning_rate": 1e-3, "optimiser": "adam", "max_gradient_norm": 0.0}, 0.7),
    slow("nmt-el-cv", {"learning_rate": 0.05, "dropout": 0.1}, 0.88),
    slow("nmt-el-cv", {"learning_rate": 0.05, "exploration": 0.5}, 0.8),
    slow("nmt-el-cv", {"learning_rate": 0.05, "negative_weight": 0.0}, 0.88),
]


@pytest.fixture(scope="module")
def two_armed(tmp_path_factory: pytest.TempPathFactory) -> Marian:
    """A model with two translations of "Save the file."; the wrong one is a little more likely."""
    return make_two_armed(tmp_path_factory.mktemp("two-armed"), frozenset({1}), 2)


def probability(system: BanditNMT, text: str) -> float:
    """The probability of a translation."""
    ids, wanted = system.model.source.encode(SOURCE), system.model.target.encode(text)
    return math.exp(-forward_pass(system.model, ids, wanted, frozenset(), system.scope.extra_bias).loss * len(wanted))


def trained(model: Marian, method: str, steps: int, settings: dict[str, Any]) -> BanditNMT:
    system = make_learner(method, model, {"temperature": 1.0} | settings)
    assert isinstance(system, BanditNMT)
    start = probability(system, RIGHT), probability(system, WRONG)
    assert start[0] < 0.6
    assert sum(start) > 0.5, "both are likely"
    for number in range(steps):
        proposal = system.propose(Segment(str(number), SOURCE))
        value = 0.9 if proposal.text == RIGHT else 0.3 if proposal.text == WRONG else 0.0
        system.learn(proposal, Reward(value))
    return system


@pytest.mark.parametrize(("method", "settings", "least"), FOUND)
def test_sampling_finds_the_better_translation(
    two_armed: Marian, method: str, settings: dict[str, Any], least: float
) -> None:
    assert probability(trained(two_armed, method, STEPS, settings), RIGHT) > least


@pytest.mark.slow
def test_truncated_sampling_finds_the_better_translation(two_armed: Marian) -> None:
    """Nothing outside the nucleus is sampled or learned, so the test compares the two translations only."""
    system = trained(two_armed, "nmt-el-cv", STEPS, {"learning_rate": 0.05, "top_p": 0.9})
    assert probability(system, RIGHT) > 5 * probability(system, WRONG)


@pytest.mark.slow
def test_perturbing_the_output_bias_finds_the_better_translation(two_armed: Marian) -> None:
    system = trained(two_armed, "nmt-szo", PERTURBATIONS, {"learning_rate": 0.02, "perturbation_scale": 0.3})
    assert probability(system, RIGHT) > 1.5 * probability(system, WRONG)
    assert system.translator().propose(Segment("1", SOURCE)).text == RIGHT
