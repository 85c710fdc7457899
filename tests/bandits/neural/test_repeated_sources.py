"""Repeated sources: good translations are repeated, bad ones are not, also after a restart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.tiny_marian import demo_pairs
from helpers.two_armed import RIGHT, SOURCE, WRONG, make_two_armed
from hypothesis import given
from hypothesis import strategies as st

from mtloop.bandits.neural.annealing import Annealing
from mtloop.bandits.neural.bandit_nmt import BanditNMT
from mtloop.bandits.neural.baselines import RewardObservation, RunningMean
from mtloop.bandits.neural.repeated_sources import RewardHistory, SourceMean
from mtloop.core import InputError, Proposal, Reward, Segment
from mtloop.methods.registry import make_learner
from mtloop.nmt.engine.marian import Encoded, Marian

FROZEN = {"learning_rate": 1e-9}  # so that only the reward history changes
LINES = st.tuples(st.integers(0, 5), st.lists(st.integers(0, 9), max_size=4), st.floats(0, 1))


def made(model: Marian, **settings: Any) -> BanditNMT:
    system = make_learner("nmt-el-recall", model, FROZEN | settings)
    assert isinstance(system, BanditNMT)
    return system


def translations(
    system: BanditNMT, times: int, reward_of: Callable[[Proposal], float], source: str = SOURCE
) -> list[str]:
    """Translate one source several times, with a reward each time; return the translations."""
    texts = []
    for number in range(times):
        proposal = system.propose(Segment(str(number), source))
        assert system.learn(proposal, Reward(reward_of(proposal))).rejected is None
        texts.append(proposal.text)
    return texts


def source_of(number: int) -> Encoded:
    return Encoded((number,), torch.empty(0), lambda dx, collector: None)


def test_a_bad_reward_gives_another_translation_and_a_good_one_the_same(small: Marian) -> None:
    source = demo_pairs()[0][0]
    rejected = translations(made(small), 5, lambda proposal: 0.1, source)
    assert len(set(rejected)) == 5, "no bad translation is repeated while there are untried ones"
    assert set(translations(made(small), 5, lambda proposal: 0.9, source)) == {rejected[0]}


def test_if_all_rewards_are_bad_the_best_translation_is_repeated(small: Marian) -> None:
    rewards: dict[str, float] = {}
    values = iter([0.2, 0.3, 0.1, 0.05])
    system, source = made(small, beam_size=3), demo_pairs()[0][0]
    texts = translations(system, 7, lambda one: rewards.setdefault(one.text, next(values, 0.0)), source)
    assert 3 <= len(set(texts)) <= 4
    assert texts[-1] == texts[-2] == texts[1]


def test_one_bad_reward_does_not_change_a_good_mean(small: Marian) -> None:
    """Equal sources can have different references; the mean decides, not the last reward."""
    rewards = iter([1.0, 1.0, 0.0, 1.0])
    assert len(set(translations(made(small), 4, lambda proposal: next(rewards), demo_pairs()[0][0]))) == 1


def test_the_better_of_two_translations_is_found_in_a_few_steps(tmp_path: Path) -> None:
    """Sampling needs 150 rewards (test_two_armed.py); a history needs one reward for each candidate."""
    model = make_two_armed(tmp_path, frozenset({1}), 2)
    texts = translations(made(model, temperature=1.0), 12, lambda one: {RIGHT: 0.9, WRONG: 0.3}.get(one.text, 0.0))
    assert texts[-3:] == [RIGHT] * 3


def test_the_baseline_of_a_known_source_is_its_mean_reward() -> None:
    history, source = RewardHistory(), source_of(7)
    baseline = SourceMean(history, RunningMean())
    new = baseline.advantage(RewardObservation(0.5, 0.3, source))
    assert float(new) == pytest.approx(0.2), "a new source: the mean of all"
    history.add(source, [1, 2], 0.1)
    history.add(source, [1, 3], 0.3)
    assert float(baseline.advantage(RewardObservation(0.5, 0.3, source))) == pytest.approx(0.3)
    assert float(baseline.advantage(RewardObservation(0.5, 0.3, source_of(8)))) == pytest.approx(0.2)


def test_equal_rewards_have_an_advantage_of_exactly_zero() -> None:
    history, source = RewardHistory(), source_of(7)
    for _ in range(8):
        history.add(source, [1, 2], 0.7)
        assert not SourceMean(history, RunningMean()).advantage(RewardObservation(0.7, 0.3, source)).any()


def test_rewards_are_recorded_after_annealing_has_ended(small: Marian) -> None:
    """Annealing stops updates of the weights, not of the history."""

    class Ended(Annealing):
        def learning_rate_scale(self, rewards: int) -> float:
            return 0.0

    system = made(small)
    system.annealing = Ended(temperature=0.3)
    assert len(set(translations(system, 4, lambda proposal: 0.1, demo_pairs()[0][0]))) == 4
    assert not system.updates_


@pytest.mark.parametrize("baseline", ["mean", "ridge", "critic"])
def test_a_resumed_learner_is_bit_identical(small: Marian, tmp_path: Path, baseline: str) -> None:
    stayed, resumed = (made(small, learning_rate=0.01, reward_baseline=baseline) for _ in range(2))
    segments = [Segment(str(i), demo_pairs()[i % 3][0]) for i in range(9)]

    def learn_late(system: BanditNMT, some: list[Segment]) -> list[str]:
        proposals = [system.propose(one) for one in some[:2]]  # each reward arrives two steps late
        for one in some[2:]:
            proposals.append(system.propose(one))
            system.learn(proposals[-3], Reward(len(proposals[-3].text) % 7 / 10))
        return [proposal.text for proposal in proposals]

    learn_late(stayed, segments[:5])
    stayed.save(tmp_path)
    resumed.load(tmp_path)
    assert learn_late(stayed, segments[5:]) == learn_late(resumed, segments[5:])
    one, other = stayed.delta().tensors, resumed.delta().tensors
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("baseline", ["ridge", "critic"])
def test_a_snapshot_with_another_baseline_is_rejected(small: Marian, tmp_path: Path, baseline: str) -> None:
    made(small, reward_baseline="mean").save(tmp_path)
    with pytest.raises(InputError, match="other settings"):
        made(small, reward_baseline=baseline).load(tmp_path)


def test_only_sampled_translations_have_a_propensity(small: Marian) -> None:
    system, segment = made(small), Segment("1", demo_pairs()[0][0])
    first = system.propose(segment)
    system.learn(first, Reward(0.9))
    again = system.propose(segment)
    assert "log_probability" in first.memo
    assert "log_probability" not in again.memo
    assert (again.text, again.probability) == (first.text, 1.0)


@given(st.lists(LINES))
def test_a_reward_history_is_restored(lines: list[tuple[int, list[int], float]]) -> None:
    written, read = RewardHistory(), RewardHistory()
    for number, ids, reward in lines:
        written.add(source_of(number), ids, reward)
    read.restore(written.tensors())
    assert read.sources_ == written.sources_
    assert [list(one) for one in read.sources_.values()] == [list(one) for one in written.sources_.values()]


def test_an_unknown_baseline_lists_the_known_ones(small: Marian) -> None:
    with pytest.raises(InputError, match="setting reward_baseline is 'rigde'; did you mean 'ridge'"):
        made(small, reward_baseline="rigde")


@pytest.mark.parametrize("settings", [{"accept_reward": 1.5}, {"accept_reward": -0.1}, {"beam_size": 0}])
def test_invalid_settings_raise_an_input_error(small: Marian, settings: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(settings))):
        made(small, **settings)
