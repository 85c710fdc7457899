from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.steps import make_steps
from hypothesis import given
from hypothesis import strategies as st

from mtloop.core import Proposal, Segment, Step, Truth
from mtloop.metrics.base import Additive, Array
from mtloop.metrics.quality import BLEU, TER, ChrF
from mtloop.metrics.slope import Model, Slope, fit, verdict

ENDS = np.arange(1, 9) * 10


class Errors(TER):
    """TER over artificial rows."""


class Accuracy(Errors):
    """100 minus TER, for which higher is better."""

    name = "accuracy"
    higher_is_better = True

    def aggregate(self, sums: Array) -> Array:
        return 100 - super().aggregate(sums)


def power_law_rows(b: float, model: Model, a: float = 40) -> Array:
    """Rows of ten segments per block, whose block-wise ("u") or incremental ("ca") errors are exactly a * x^b."""
    x = np.arange(1, len(ENDS) + 1)
    errors = a * x**b
    if model == "ca":
        errors = np.diff(errors * x, prepend=0)
    return np.repeat(np.column_stack([errors / 100, np.ones(len(x))]), 10, axis=0)


@given(st.floats(-0.4, 0.4), st.floats(0.1, 90), st.integers(3, 60))
def test_s_is_exact_on_a_power_law(b: float, a: float, blocks: int) -> None:
    fitted = fit(a * np.arange(1.0, blocks + 1) ** b)
    assert fitted.slope == pytest.approx(100 * 2**b, abs=1e-9)
    assert fitted.a == pytest.approx(a, rel=1e-9)
    np.testing.assert_allclose(fitted(np.array([1.0, 2.0])), [a, a * 2**b])


@pytest.mark.parametrize("b", [-0.3, -0.05, 0.0, 0.1])
@pytest.mark.parametrize("model", ["u", "ca"])
@pytest.mark.parametrize("metric", [Errors(), Accuracy()], ids=lambda metric: metric.name)
def test_s_is_exact_through_the_class(metric: Additive, model: Model, b: float) -> None:
    score = Slope(metric, model, resamples=20).score_rows(power_law_rows(b, model), ENDS)
    assert score.value == pytest.approx(100 * 2**b, abs=1e-9)
    assert score.interval == pytest.approx((100 * 2**b, 100 * 2**b), abs=1e-9)


def streams(rates: Array, seed: int, segments: int = 20, words: int = 15) -> Array:
    """Rows of blocks in which each word is wrong with the block's probability."""
    errors = np.random.default_rng(seed).binomial(words, np.repeat(rates, segments))
    return np.column_stack([errors, np.full(len(errors), words)]).astype(float)


@pytest.mark.parametrize("model", ["u", "ca"])
def test_a_constant_error_rate_is_no_learning(model: Model) -> None:
    """The interval includes 100 in about 95 % of cases; the points of U are independent, early points of CA are not."""
    verdicts = []
    for seed in range(20):
        rows = streams(np.full(12, 0.4), seed)
        score = Slope(TER(), model, resamples=300).score_rows(rows, np.arange(1, 13) * 20)
        verdicts.append(score.detail["verdict"])
    assert verdicts.count("no learning shown") >= 17


@pytest.mark.parametrize("model", ["u", "ca"])
@pytest.mark.parametrize(("b", "expected"), [(-0.25, "learning"), (0.25, "forgetting")])
def test_learning_and_forgetting_are_detected(model: Model, b: float, expected: str) -> None:
    rows = streams(0.3 * np.arange(1, 13) ** b, seed=1)
    score = Slope(TER(), model, resamples=300).score_rows(rows, np.arange(1, 13) * 20)
    assert score.detail["verdict"] == expected
    assert score.interval is not None
    assert score.interval[0] < score.value < score.interval[1]


@pytest.mark.parametrize("model", ["u", "ca"])
def test_a_block_without_errors_counts_as_half_an_edit(model: Model) -> None:
    rows = np.array([[2.0, 10], [0, 10], [1, 10], [0, 10]])
    sums = np.cumsum(rows, axis=0) if model == "ca" else rows
    expected = 100 * np.where(sums[:, 0] > 0, sums[:, 0], 0.5) / sums[:, 1]
    np.testing.assert_allclose(Slope(TER(), model).errors(rows[None])[0], expected)


def test_other_metrics_use_half_of_the_smallest_error() -> None:
    rows = np.array([[[2.0, 10], [0, 10], [1, 10]], [[0, 10], [0, 10], [0, 10]]])
    np.testing.assert_allclose(Slope(Accuracy(), "u").errors(rows)[0], [20, 5, 10])


@pytest.mark.parametrize("metric", [TER(), BLEU(), ChrF()], ids=lambda metric: metric.name)
@pytest.mark.parametrize("model", ["u", "ca"])
def test_blocks_without_errors_leave_the_slope_finite(metric: Additive, model: Model) -> None:
    texts = ["one two three four five"] * 30
    outputs = [*texts[:12], "one two three six five", *texts[13:]]
    score = Slope(metric, model, words=25, resamples=50).score(make_steps(outputs, texts, texts))
    assert score.interval is not None
    assert all(map(math.isfinite, (score.value, *score.interval)))


@pytest.mark.parametrize("metric", [TER(), BLEU(), ChrF()], ids=lambda metric: metric.name)
@pytest.mark.parametrize("model", ["u", "ca"])
def test_a_perfect_system_has_nothing_to_learn(metric: Additive, model: Model) -> None:
    texts = ["one two three four five"] * 30
    score = Slope(metric, model, words=25).score(make_steps(texts, texts, texts))
    assert str(score) == "0/0"
    assert score.detail == {"blocks": 6, "verdict": "no errors: nothing to learn"}


def test_an_undefined_block_is_left_out() -> None:
    class Share(Errors):
        def aggregate(self, sums: Array) -> Array:
            return np.where(sums[:, 1] > 0, super().aggregate(sums), np.nan)

    rows = power_law_rows(-0.2, "u")
    rows[20:30] = 0
    score = Slope(Share(), "u", resamples=20).score_rows(rows, ENDS)
    assert score.value == pytest.approx(100 * 2**-0.2, abs=1e-9)
    assert score.detail["blocks"] == 7


def test_the_verdict_on_a_short_stream_is_too_short() -> None:
    score = Slope(TER()).score(make_steps(["a"], ["a"], ["a"]))
    assert str(score) == "0/0"
    assert str(score.detail["verdict"]).startswith("too short")


def test_names_and_signature() -> None:
    assert Slope(TER(), "u").name == "slope-u"
    assert Slope(BLEU()).name == "slope-ca-bleu"
    assert Slope(BLEU(), words=500).signature.startswith("model:ca|errors:100-bleu|block:500w|bs:1000|seed:1|nrefs:1|")


def test_verdicts() -> None:
    assert [verdict(90, 99), verdict(99, 101), verdict(101, 102)] == ["learning", "no learning shown", "forgetting"]


def test_blocks_without_a_model_are_left_out_of_the_fit() -> None:
    from dataclasses import replace

    def steps(wrong: list[int], first_block_is_copied: bool) -> list[Step]:
        result = []
        for block, errors in enumerate(wrong):
            for word in range(10):
                output = "x" if word < errors else "a"
                memo = {"model": "none"} if first_block_is_copied and block == 0 else {}
                proposal = Proposal(Segment(f"{block}-{word}", "s"), output, memo=memo)
                result.append(Step(len(result), proposal, truth=Truth(("a",))))
        return result

    for model in ("u", "ca"):
        slope = Slope(TER(), model, words=10)  # type: ignore[arg-type]
        copied = slope.score(steps([10, 8, 4, 2], True))
        assert copied.detail["blocks"] == 3
        same = slope.score([replace(step) for step in steps([1, 8, 4, 2], True)])
        assert copied.value == same.value  # the scores of the copied segments do not matter
        assert copied.value != slope.score(steps([10, 8, 4, 2], False)).value
    by_hand = np.polyfit(np.log([2, 3, 4]), np.log([80, 40, 20]), 1)[0]
    assert Slope(TER(), "u", words=10).score(steps([10, 8, 4, 2], True)).value == pytest.approx(100 * 2**by_hand)
