"""Noise on rewards: granularity, variance and skew."""

from __future__ import annotations

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtloop.core.errors import InputError
from mtloop.judges import Noise
from mtloop.judges.noise import rating_deviation

REWARDS = st.floats(0, 1)


@given(REWARDS, st.floats(0.1, 10), st.floats(0, 3), st.integers(0, 20), st.integers())
def test_a_noisy_reward_stays_in_range(reward: float, skew: float, variance: float, steps: int, seed: int) -> None:
    noisy = Noise(skew, variance, steps)(reward, random.Random(seed))
    assert 0 <= noisy <= 1
    assert not steps or noisy * steps == pytest.approx(round(noisy * steps))


@given(REWARDS)
def test_no_noise_changes_nothing(reward: float) -> None:
    assert Noise()(reward, random.Random(1)) == reward
    assert not Noise()


@given(REWARDS)
def test_harsh_raters_give_less_and_lenient_ones_more(reward: float) -> None:
    rng = random.Random(1)
    assert Noise(skew=2)(reward, rng) <= reward <= Noise(skew=0.5)(reward, rng)


def test_variance_follows_the_fitted_deviation() -> None:
    rng = random.Random(1)
    noisy = [Noise(variance=0.5)(0.5, rng) for _ in range(5000)]
    assert statistics.mean(noisy) == pytest.approx(0.5, abs=0.01)
    assert statistics.stdev(noisy) == pytest.approx(0.5 * rating_deviation(0.5), abs=0.01)


@pytest.mark.parametrize(
    "wrong",
    [
        {"skew": 0},
        {"skew": math.nan},
        {"variance": -1},
        {"variance": math.inf},
        {"granularity": -1},
        {"granularity": 1.5},
        {"granularity": math.inf},
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        Noise(**wrong)  # type: ignore[arg-type]
