"""EWAF and EXP3 against values computed by hand from Mendonça et al. (2021), and against the published code."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from mtloop.core import Choice, Delay, InputError, Segment, Truth, replay, run
from mtloop.judges import HumanRatings
from mtloop.methods.recorded import Recorded
from mtloop.selection import EWAF, EXP3, Select

LN3 = math.log(3)

# Three systems, T = 100: eta = sqrt(8 ln 3 / 100) = 0.296461; loss = -score. Sums of scores after each step.
EWAF_STEPS = [
    ({"a": 0.9, "b": 0.5, "c": 0.1}, (0.9, 0.5, 0.1)),
    ({"a": 0.2, "b": 0.8}, (1.1, 1.3, 0.1)),  # nobody rated c: its weight is unchanged
    ({"a": 0.0, "b": 1.0, "c": 1.0}, (1.1, 2.3, 1.1)),
]
# The resulting weights, computed with decimal arithmetic to 30 digits.
EWAF_WEIGHTS = [
    (0.373548, 0.331776, 0.294676),
    (0.356566, 0.378347, 0.265087),
    (0.291779, 0.416443, 0.291779),
]


def test_three_steps_of_ewaf_by_hand() -> None:
    policy = EWAF(["a", "b", "c"], horizon=100)
    for (scores, sums), expected in zip(EWAF_STEPS, EWAF_WEIGHTS, strict=True):
        policy.update(Choice("a", 1 / 3), scores)
        raw = [math.exp(math.sqrt(8 * LN3 / 100) * total) for total in sums]
        weights = list(policy.weights().values())
        assert weights == pytest.approx([w / sum(raw) for w in raw], abs=1e-12)
        assert weights == pytest.approx(expected, abs=2e-6)


def test_three_steps_of_exp3_by_hand() -> None:
    """T = 50, J = 2: eta = sqrt(2 ln 2 / 100) = 0.117741; the drawn system's log weight grows by eta score / p."""
    eta = math.sqrt(2 * math.log(2) / (50 * 2))
    policy = EXP3(["a", "b"], horizon=50)
    log_a = log_b = 0.0
    for system, score in [("a", 0.8), ("b", 0.5), ("a", 0.3)]:
        p_a = math.exp(log_a) / (math.exp(log_a) + math.exp(log_b))
        assert policy.weights()["a"] == pytest.approx(p_a, abs=1e-12)
        probability = p_a if system == "a" else 1 - p_a
        policy.update(Choice(system, probability), {system: score})
        if system == "a":
            log_a += eta * score / probability
        else:
            log_b += eta * score / probability
    # by hand: 0.8/0.5 = 1.6; p(a) = 0.546958, 0.5/0.453042 = 1.103649; p(a) = 0.514606, 0.3/0.514606 = 0.582970
    assert log_a == pytest.approx(eta * (1.6 + 0.582970), abs=1e-6)
    assert log_b == pytest.approx(eta * 1.103649, abs=1e-6)
    assert policy.weights()["a"] == pytest.approx(1 / (1 + math.exp(log_b - log_a)), abs=1e-12)


def published_exp3(systems: int, draws: list[int], rewards: list[float]) -> list[float]:
    """The rule as published: cumulative reward over a probability that is refreshed only when the arm is drawn."""
    sums, weights, stale = [0.0] * systems, [1.0] * systems, [1 / systems] * systems
    for time, (arm, reward) in enumerate(zip(draws, rewards, strict=True), start=1):
        sums[arm] += reward / stale[arm]
        weights[arm] = math.exp(math.sqrt(2 * math.log(systems) / (time * systems)) * sums[arm])
        stale[arm] = weights[arm] / sum(weights)
    return [weight / sum(weights) for weight in weights]


def test_mtol_is_the_published_update_on_a_fixed_sequence_of_draws() -> None:
    draws, rewards = [0, 1, 0, 2, 2, 1, 0, 0, 3, 1], [0.8, 0.5, 0.0, 1.0, 0.3, 0.9, 0.7, 0.2, 0.6, 0.4]
    policy = EXP3(["a", "b", "c", "d"], variant="published")
    for arm, reward in zip(draws, rewards, strict=True):
        policy.update(Choice("abcd"[arm], 0.25), {"abcd"[arm]: reward})
    assert list(policy.weights().values()) == pytest.approx(published_exp3(4, draws, rewards), abs=1e-12)


def test_mtol_ewaf_applies_the_shrinking_step_size_to_the_whole_sum() -> None:
    policy = EWAF(["a", "b"], variant="published")
    for scores in ({"a": 0.9, "b": 0.3}, {"a": 0.1, "b": 0.4}):
        policy.update(Choice("a", 0.5), scores)
    eta = math.sqrt(8 * math.log(2) / 2)
    assert policy.weights()["a"] == pytest.approx(1 / (1 + math.exp(eta * (0.7 - 1.0))), abs=1e-12)


def test_anytime_step_sizes_need_no_horizon_and_shrink() -> None:
    policy = EXP3(["a", "b"], step_size="anytime")
    policy.update(Choice("a", 0.5), {"a": 0.8})
    eta = math.sqrt(2 * math.log(2) / (2 * 2))  # the step size of the second iteration
    assert policy.weights()["a"] == pytest.approx(1 / (1 + math.exp(-eta * 1.6)), abs=1e-12)
    with pytest.raises(InputError, match="horizon"):
        EXP3(["a", "b"])


@pytest.mark.parametrize("make", [EWAF, EXP3])
def test_a_million_iterations_neither_overflow_nor_underflow(make: type[EWAF]) -> None:
    policy = make(["a", "b", "c"], step_size="anytime")
    policy.sums_ = np.array([[9e5, 8e5, 0.0]]) / (3e-7 if make is EXP3 else 1)
    policy.time_ = np.array([10**6])
    policy.update(Choice("a", 1e-9), {"a": 1.0, "b": 0.0, "c": 0.0})
    weights = policy.weights()
    assert all(map(math.isfinite, weights.values()))
    assert weights["a"] == pytest.approx(1)


def test_a_thousand_runs_of_a_thousand_iterations_stay_finite() -> None:
    """The step size is that of a horizon of 1."""
    policy = EXP3(["a", "b"], horizon=1, runs=1000)
    rng = np.random.default_rng(1)
    for _ in range(1000):
        draw = policy.choose_batch(rng, [""] * 1000)
        policy.update_batch(draw, np.where(draw.asked, 0.9, np.nan))
    assert np.isfinite(policy.batch_weights()).all()
    assert np.allclose(policy.batch_weights().sum(axis=1), 1)


def test_the_array_form_equals_a_plain_loop() -> None:
    """The weights of each run equal those of a loop in plain Python with the same uniform numbers."""
    runs, size, time = 7, 5, 200
    scores = np.round(np.random.default_rng(3).random((size, time)), 2)
    policy = EXP3([f"s{i}" for i in range(size)], horizon=time, runs=runs)
    rng = np.random.default_rng(4)
    for t in range(time):
        draw = policy.choose_batch(rng, [str(t)] * runs)
        policy.update_batch(draw, np.where(draw.asked, scores[:, t], np.nan))
    uniforms = np.random.default_rng(4).random((time, runs))
    for row, own in zip(policy.batch_weights(), uniforms.T, strict=True):
        assert np.abs(row - plain_exp3(scores, own)).max() < 1e-12


def plain_exp3(scores: np.ndarray, uniforms: np.ndarray) -> list[float]:
    size, time = scores.shape
    eta = math.sqrt(2 * math.log(size) / (time * size))
    logs = [0.0] * size
    for t in range(time):
        weights = softmax(logs)
        edge, arm = weights[0], 0
        while uniforms[t] >= edge and arm < size - 1:
            arm += 1
            edge += weights[arm]
        logs[arm] += eta * float(scores[arm, t]) / weights[arm]
    return softmax(logs)


def softmax(logs: list[float]) -> list[float]:
    raw = [math.exp(value - max(logs)) for value in logs]
    return [value / sum(raw) for value in raw]


def test_exp3_learns_the_same_from_feedback_in_another_order() -> None:
    """The choice holds its probability, so late feedback gets the same weight."""
    prompt, late = EXP3(["a", "b", "c"], horizon=40), EXP3(["a", "b", "c"], horizon=40)
    lessons = []
    for i in range(40):
        choice = prompt.choose(Segment(str(i), ""), random.Random(i))
        lessons.append((choice, {choice.system: (i % 7) / 7}))
        prompt.update(*lessons[-1])
    for choice, scores in random.Random(1).sample(lessons, len(lessons)):
        late.update(choice, scores)
    assert late.weights() == pytest.approx(prompt.weights(), abs=1e-12)


def test_delayed_learning_in_the_loop_equals_its_replay() -> None:
    systems = {name: Recorded(["x"] * 30, name) for name in "abc"}
    stream = [(Segment(str(i + 1), ""), Truth(scores={"a": 90, "b": 40})) for i in range(30)]
    select = Select(EXP3("abc", horizon=30), systems, seed=5)
    steps = list(run(stream, select, HumanRatings("abc", missing="zero"), schedule=Delay(4)))
    again = Select(EXP3("abc", horizon=30), systems, seed=5)
    replay(reversed(steps), again)
    assert again.policy.weights() == pytest.approx(select.policy.weights(), abs=1e-12)
    assert select.policy.weights()["a"] > select.policy.weights()["c"]


@pytest.mark.parametrize("settings", [{"variant": "papr"}, {"step_size": "slow"}, {"horizon": 0}])
def test_invalid_settings_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(InputError):
        EWAF(["a", "b"], **({"horizon": 5} | settings))  # type: ignore[arg-type]


def test_the_paper_variant_refuses_scores_above_one_and_mtol_accepts_them() -> None:
    with pytest.raises(InputError, match="from 0 to 1"):
        EWAF(["a", "b"], horizon=5).update(Choice("a", 0.5), {"a": 1.3})
    EWAF(["a", "b"], variant="published").update(Choice("a", 0.5), {"a": 1.3})
