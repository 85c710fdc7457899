from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from helpers.samples import noisy_steps
from helpers.steps import make_steps
from hypothesis import given
from hypothesis import strategies as st

from mtloop.core import Feedback, InputError, Proposal, Reward, Segment, Step
from mtloop.metrics.curves import cumulative
from mtloop.metrics.quality import BLEU, RewardBLEU
from mtloop.metrics.regret import MeanReward, Regret, cumulative_reward, relative_reward

REWARDS = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=20)


def rewarded(values: Sequence[float | None]) -> list[Step]:
    """Steps with these rewards; None: no feedback."""
    feedback: list[Feedback | None] = [None if value is None else Reward(value) for value in values]
    return [Step(i, Proposal(Segment(str(i), "s"), "t"), given) for i, given in enumerate(feedback)]


def test_given_rewards_are_summed_and_averaged_on_0_to_1() -> None:
    steps = rewarded([0.2, 0.4, 0.9])
    score = MeanReward().score(steps)
    assert score.value == pytest.approx(0.5)
    assert score.detail["cumulative_reward"] == score.numerator == pytest.approx(1.5)
    assert str(score) == "0.50"
    np.testing.assert_allclose(cumulative_reward(MeanReward().rows(steps)), [0.2, 0.6, 1.5])


def test_a_given_reward_comes_before_a_computed_one() -> None:
    steps = make_steps(["a b", "a b"], ["a b", "a b"])
    steps[1] = replace(steps[1], feedback=Reward(0.25))
    assert MeanReward(RewardBLEU()).rows(steps).tolist() == [[1, 1], [0.25, 1]]
    assert MeanReward(RewardBLEU()).signature.startswith("reward:given-else-wmt17|")


def test_computed_rewards_are_those_of_the_sentence_metric() -> None:
    steps = noisy_steps(50, references=2)
    assert 100 * MeanReward(RewardBLEU()).score(steps).value == pytest.approx(RewardBLEU().score(steps).value)


def test_a_step_without_a_reward_changes_nothing() -> None:
    assert MeanReward().score(rewarded([0.5, None])).value == 0.5
    assert math.isnan(MeanReward().score(rewarded([None])).value)
    assert math.isnan(MeanReward().score([]).value)


@pytest.mark.parametrize("value", [-0.1, 1.5, math.nan])
def test_a_reward_outside_0_to_1_is_refused(value: float) -> None:
    with pytest.raises(InputError, match=r"segment '0' has reward .* from 0 to 1"):
        MeanReward().score(rewarded([value]))


@given(REWARDS)
def test_regret_is_its_definition_at_every_step(pairs: list[tuple[float, float]]) -> None:
    ours, best = rewarded([a for a, _ in pairs]), rewarded([b for _, b in pairs])
    metric = Regret(best)
    expected = [sum(b - a for a, b in pairs[:k]) / k for k in range(1, len(pairs) + 1)]
    np.testing.assert_allclose(cumulative(metric, metric.rows(ours)), expected, atol=1e-12)
    assert metric.score(ours).value == pytest.approx(expected[-1], abs=1e-12)


def test_the_regret_of_the_oracle_is_zero() -> None:
    steps = noisy_steps(20)
    assert Regret(steps, RewardBLEU()).score(steps).value == 0
    perfect = make_steps([step.references[0] for step in steps], [step.references[0] for step in steps])
    assert Regret(perfect, RewardBLEU()).score(steps).value > 0


def test_a_run_that_stopped_early_is_compared_with_the_beginning_of_the_oracle() -> None:
    best = rewarded([1, 1, 0])
    assert Regret(best).score(rewarded([0.5, 0.5])).value == 0.5
    assert Regret(best).score(rewarded([0, 0.5, 0.5])[1:]).value == 0


def test_a_step_undefined_on_either_side_changes_nothing() -> None:
    score = Regret(rewarded([1, 1, None])).score(rewarded([0.5, None, 0.5]))
    assert (score.value, score.denominator) == (0.5, 1)


def test_an_oracle_of_another_stream_is_refused() -> None:
    with pytest.raises(InputError, match="no step 1"):
        Regret(rewarded([1])).score(rewarded([1, 1]))
    other = replace(rewarded([1])[0], proposal=Proposal(Segment("x", "s"), "t"))
    with pytest.raises(InputError, match="step 0 has segment '0', but the oracle's step has segment 'x'"):
        Regret([other]).score(rewarded([1]))


def test_relative_reward_starts_at_zero() -> None:
    rows = MeanReward().rows(rewarded([0.2, 0.4, 0.9, 0.5, 0.5, 0.6, 0.6]))
    found = relative_reward(MeanReward(), rows, [range(2), range(3, 5), range(5, 7)])
    np.testing.assert_allclose(found, [0, 0.2, 0.3])


def test_relative_reward_at_corpus_level() -> None:
    steps = noisy_steps(30, noise=0.5) + noisy_steps(30, noise=0.1)
    found = relative_reward(BLEU(), BLEU().rows(steps), [range(30), range(30, 60)])
    expected = BLEU().score(steps[30:]).value - BLEU().score(steps[:30]).value
    np.testing.assert_allclose(found, [0, expected])
    assert expected > 0


def test_a_checkpoint_outside_the_run_is_refused() -> None:
    rows = MeanReward().rows(rewarded([0.2, 0.4]))
    assert relative_reward(MeanReward(), rows, []).size == 0
    for checkpoint in (range(1, 3), range(-1, 1), range(0)):
        with pytest.raises(InputError, match="is outside the 2 steps"):
            relative_reward(MeanReward(), rows, [checkpoint])
