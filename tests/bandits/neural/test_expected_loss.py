from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from helpers.tiny_marian import write_tiny

from mtloop.bandits.neural.annealing import Annealing
from mtloop.bandits.neural.expected_loss import clip_lesson, expected_loss
from mtloop.bandits.reward_mean import RewardMean
from mtloop.core import InputError
from mtloop.nmt.engine.lesson import Lesson
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.search import LengthLimits, sample
from mtloop.nmt.scopes.dense import all_names

SOURCE = "Open the pane on the left."
DRAWN = [5, 17, 17, 80, 0]


def lesson(model: Marian, weight: float, temperature: float, bias: torch.Tensor | None = None) -> Lesson:
    encoded = model.encode(model.source.encode(SOURCE))
    scope = all_names(model.weights)
    return expected_loss(model, encoded, DRAWN, weight, temperature=temperature, scope=scope, extra_bias=bias)


def loss(model: Marian, weight: float, temperature: float, bias: torch.Tensor | None = None) -> float:
    """-weight * sum log p_T, from the definition."""
    return weight * lesson(model, weight, temperature, bias).loss * len(DRAWN)


def dense_gradient(found: object, shape: torch.Size) -> torch.Tensor:
    gradient = torch.zeros(shape, dtype=torch.float64)
    for dy, x in found.products:  # type: ignore[attr-defined]
        gradient += dy.double().t() @ x.double()
    for ids, values in found.rows:  # type: ignore[attr-defined]
        gradient.index_add_(0, ids, values.double())
    dense = found.dense  # type: ignore[attr-defined]
    return gradient if dense is None else gradient + dense.double()


def slope(value: Callable[[], float], tensor: torch.Tensor, direction: torch.Tensor, step: float) -> float:
    """The central difference along a direction; the tensor is restored."""
    kept, ends = tensor.clone(), []
    for sign in (1, -1):
        tensor.copy_(kept + sign * step * direction)
        ends.append(value())
    tensor.copy_(kept)
    return (ends[0] - ends[1]) / (2 * step)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize(("weight", "temperature"), [(0.7, 1.0), (-0.3, 1.0), (0.7, 0.4)])
def test_every_gradient_against_finite_differences(
    tmp_path: Path, tied: bool, weight: float, temperature: float
) -> None:
    write_tiny(tmp_path, tied=tied)
    model = Marian.load(tmp_path)
    found = lesson(model, weight, temperature).gradients()
    generator = torch.Generator().manual_seed(3)
    checked = 0
    for name, gradient in found.items():
        tensor = model.weights[name]
        full = dense_gradient(gradient, tensor.shape)
        direction = full + torch.randn(tensor.shape, generator=generator).double() * full.norm() / tensor.numel() ** 0.5
        direction /= direction.norm().clamp_min(1e-12)
        expected = float((full * direction).sum())
        measured = slope(lambda: loss(model, weight, temperature), tensor, direction.float(), 3e-3)
        assert measured == pytest.approx(expected, rel=0.03, abs=0.01), name
        checked += abs(expected) > 0.05
    assert checked > 20


def test_the_output_bias_against_finite_differences(small: Marian) -> None:
    bias = torch.zeros(len(small.target.pieces))
    gradient = lesson(small, 0.7, 0.5, bias).error.sum(0).double()
    direction = gradient / gradient.norm()
    measured = slope(lambda: loss(small, 0.7, 0.5, bias), bias, direction.float(), 1e-2)
    assert measured == pytest.approx(float(gradient.norm()), rel=0.01)


def test_log_probabilities_are_summed_and_equal_those_of_the_search(small: Marian) -> None:
    """Search and objective give the same log-probability of a draw."""
    encoded, limits = small.encode(small.source.encode(SOURCE)), LengthLimits()
    for seed, temperature in [(1, 1.0), (2, 0.5), (3, 1.5)]:
        found = sample(small, encoded, limits, seed, temperature)
        again = expected_loss(small, encoded, found.ids, 1.0, temperature=temperature, limits=limits)
        assert again.loss * len(found.ids) == pytest.approx(-found.log_probability, rel=1e-3)


def test_a_forced_end_token_has_no_gradient(small: Marian) -> None:
    encoded, looping = small.encode(small.source.encode(SOURCE)), [7] * 4 + [0]
    found = expected_loss(small, encoded, looping, 1.0, limits=LengthLimits())
    assert found.error[4].abs().sum() == 0
    assert found.error[3].abs().sum() > 0


def test_padding_has_no_gradient(small: Marian) -> None:
    error = lesson(small, 1.0, 1.0).error
    assert error[:, small.target.pad].abs().sum() == 0
    torch.testing.assert_close(error.sum(1), torch.zeros(len(DRAWN)), atol=1e-5, rtol=0)


def test_the_whole_gradient_is_clipped_to_one_norm(small: Marian) -> None:
    plain = lesson(small, 1.0, 1.0)
    norm = math.sqrt(sum(gradient.norm() ** 2 for gradient in plain.gradients().values()))
    assert norm > 1
    clipped = clip_lesson(plain, 1.0, 1.0, has_bias=False)
    assert math.sqrt(sum(g.norm() ** 2 for g in clipped.gradients().values())) == pytest.approx(1.0, rel=1e-3)
    unclipped = clip_lesson(plain, 0.0, 0.5, has_bias=False)
    assert math.sqrt(sum(g.norm() ** 2 for g in unclipped.gradients().values())) == pytest.approx(norm, rel=1e-3)
    assert unclipped.learning_rate_scale == 0.5, "a scope takes it at half its rate"
    torch.testing.assert_close(clipped.error, plain.error / norm)


def test_without_control_the_advantage_is_the_reward() -> None:
    rewards = RewardMean()
    assert [rewards.advantage(value) for value in (0.2, 0.9)] == [0.2, 0.9]
    assert rewards.count_ == 2


def test_annealing_is_that_of_the_paper_down_to_the_minimum() -> None:
    """T_k = 0.99^max(k - k_start, 0) and gamma_k = gamma_(k-1) * T_k, step by step."""
    annealing, scale = Annealing(1000, annealing_start=0.54, annealing_decay=0.99, min_temperature=0.5), 1.0
    for rewards in range(700):
        temperature = max(0.5, 0.99 ** max(rewards - 540, 0))
        scale *= temperature
        assert annealing.temperature_after(rewards) == pytest.approx(temperature)
        assert annealing.learning_rate_scale(rewards) == pytest.approx(scale, rel=1e-6)
    assert Annealing(1000).learning_rate_scale(10**9) == 0.0
    assert Annealing().temperature_after(10**9) == 1.0


@pytest.mark.parametrize(
    "wrong",
    [
        {"stream_length": -1},
        {"annealing_start": 1.5},
        {"annealing_decay": 0.0},
        {"min_temperature": 2.0},
        {"temperature": 0.0},
        {"temperature": math.nan},
    ],
)
def test_invalid_settings_raise_an_input_error(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        Annealing(**wrong)  # type: ignore[arg-type]
