"""Two translations of one sentence, known nearly equally well: rewards alone must tell which one is better."""

from __future__ import annotations

import math
from typing import Any

import pytest
from helpers.two_armed import RIGHT, SOURCE, WRONG, make_two_armed

from mtloop.bandits.neural.bandit_nmt import BanditNMT
from mtloop.core import Reward, Segment
from mtloop.methods.registry import make_learner
from mtloop.nmt.engine.lesson import study
from mtloop.nmt.engine.marian import Marian

STEPS = 150  # within which the better of two translations must be found by drawing
SHAKES = 300  # and by shaking
FOUND: list[tuple[str, dict[str, Any], float]] = [
    ("nmt-el", {"rate": 0.02, "clip": 0.0}, 0.9),
    ("nmt-el", {"rate": 0.02, "clip": 0.0, "seed": 2}, 0.9),
    ("nmt-el-cv", {"rate": 0.05}, 0.9),
    ("nmt-el-cv", {"rate": 0.05, "seed": 2}, 0.9),
    ("nmt-el-ridge", {"rate": 0.05}, 0.88),
    ("nmt-reinforce", {"rate": 0.05}, 0.88),
    ("nmt-el-cv", {"rate": 1e-3, "optimiser": "adam", "clip": 0.0}, 0.7),
    ("nmt-el-cv", {"rate": 0.05, "dropout": 0.1}, 0.88),
    ("nmt-el-cv", {"rate": 0.05, "explore": 0.5}, 0.8),
    ("nmt-el-cv", {"rate": 0.05, "blame": 0.0}, 0.88),
]


@pytest.fixture(scope="module")
def two_armed(tmp_path_factory: pytest.TempPathFactory) -> Marian:
    """A model that says one of two things about "Save the file.", the wrong one a little more often."""
    return make_two_armed(tmp_path_factory.mktemp("two-armed"), frozenset({1}), 2)


def share(system: BanditNMT, text: str) -> float:
    """How likely a translation is."""
    ids, wanted = system.model.source.encode(SOURCE), system.model.target.encode(text)
    return math.exp(-study(system.model, ids, wanted, frozenset(), system.scope.extra_bias).loss * len(wanted))


def taught(model: Marian, method: str, steps: int, settings: dict[str, Any]) -> BanditNMT:
    system = make_learner(method, model, {"temperature": 1.0} | settings)
    assert isinstance(system, BanditNMT)
    start = share(system, RIGHT), share(system, WRONG)
    assert start[0] < 0.6
    assert sum(start) > 0.5, "the model knows both"
    for number in range(steps):
        proposal = system.propose(Segment(str(number), SOURCE))
        value = 0.9 if proposal.text == RIGHT else 0.3 if proposal.text == WRONG else 0.0
        system.learn(proposal, Reward(value))
    return system


@pytest.mark.parametrize(("method", "settings", "least"), FOUND)
def test_drawing_finds_the_better_of_two_translations(
    two_armed: Marian, method: str, settings: dict[str, Any], least: float
) -> None:
    assert share(taught(two_armed, method, STEPS, settings), RIGHT) > least


def test_truncated_draws_find_it_among_what_they_draw(two_armed: Marian) -> None:
    """Outside the nucleus nothing is drawn, so nothing is learned: what counts is the odds between the two."""
    system = taught(two_armed, "nmt-el-cv", STEPS, {"rate": 0.05, "mass": 0.9})
    assert share(system, RIGHT) > 5 * share(system, WRONG)


def test_shaking_the_output_bias_finds_it_too(two_armed: Marian) -> None:
    system = taught(two_armed, "nmt-szo", SHAKES, {"rate": 0.02, "spread": 0.3})
    assert share(system, RIGHT) > 1.5 * share(system, WRONG)
    assert system._steady().propose(Segment("1", SOURCE)).text == RIGHT
