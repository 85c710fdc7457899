from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtloop.core import InputError
from mtloop.metrics.ranking import kendall_tau, rank, top_n_overlap

SCORES = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 4), min_size=2)


def test_equal_scores_rank_by_name_and_undefined_ones_last() -> None:
    assert rank({"b": 1, "c": 2, "a": 1, "n": math.nan}) == ["c", "a", "b", "n"]


@given(SCORES)
def test_a_ranking_does_not_depend_on_the_order_of_its_input(scores: dict[str, int]) -> None:
    assert rank(scores) == rank(dict(sorted(scores.items(), reverse=True)))


@pytest.mark.parametrize(
    ("ranking", "gold", "n", "overlap"),
    [
        ("abcd", "abcd", 1, 1.0),
        ("abcd", "bacd", 1, 0.0),
        ("abcd", "cabd", 3, 1.0),
        ("abcd", "daxy", 3, 1 / 3),
        ("a", "ab", 2, 0.5),  # a gold system that is not ranked counts as not found
    ],
)
def test_overlap_by_hand(ranking: str, gold: str, n: int, overlap: float) -> None:
    assert top_n_overlap(list(ranking), list(gold), n) == overlap


@pytest.mark.parametrize("n", [0, 3])
def test_n_outside_the_number_of_systems_is_refused(n: int) -> None:
    with pytest.raises(InputError, match="from 1 to 2"):
        top_n_overlap(["a", "b"], ["a", "b"], n)


def test_a_system_ranked_twice_is_refused() -> None:
    with pytest.raises(InputError, match="'b' appears 2 times"):
        top_n_overlap(["a", "b", "b"], ["a", "b"], 1)


@pytest.mark.parametrize(
    ("ours", "gold", "tau"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 4], 1.0),
        ([1, 2, 3, 4], [4, 3, 2, 1], -1.0),
        ([1, 2, 3, 4], [1, 2, 4, 3], 4 / 6),
        ([1, 2, 2], [1, 2, 3], 2 / math.sqrt(2 * 3)),  # tau-b: one pair tied on our side
        ([1, 1, 1], [1, 2, 3], math.nan),
        ([1], [1], math.nan),
    ],
)
def test_tau_by_hand(ours: list[float], gold: list[float], tau: float) -> None:
    found = kendall_tau(dict(zip("abcd", ours, strict=False)), dict(zip("abcd", gold, strict=False)))
    assert found == pytest.approx(tau, nan_ok=True)


def test_systems_without_a_score_on_either_side_are_left_out() -> None:
    ours, gold = {"a": 1.0, "b": 2.0, "x": 9.0, "n": math.nan}, {"a": 1.0, "b": 2.0, "y": 0.0, "n": 5.0}
    assert kendall_tau(ours, gold) == 1


@given(SCORES, SCORES)
def test_tau_is_symmetric_and_changes_sign_with_the_scores(ours: dict[str, int], gold: dict[str, int]) -> None:
    tau = kendall_tau(ours, gold)
    assert kendall_tau(gold, ours) == pytest.approx(tau, nan_ok=True)
    assert kendall_tau({name: -score for name, score in ours.items()}, gold) == pytest.approx(-tau, nan_ok=True)
    assert math.isnan(tau) or -1 - 1e-12 <= tau <= 1 + 1e-12
