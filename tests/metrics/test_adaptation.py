from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np
import pytest
from helpers.samples import SplitWords
from helpers.steps import make_steps
from hypothesis import given
from hypothesis import strategies as st

from mtloop.core import PostEdit, Proposal, Segment, Step, Truth
from mtloop.metrics.adaptation import Recall, parse_recall, recall_name
from mtloop.text.stopwords import StopWords
from mtloop.text.units import ContentWords

# Figure 1 of the 2019 paper, with its two stop words.
FIGURE_1 = make_steps(
    ["A terrier bites the person", "The dog bites the man"], ["The dog bites the lady", "The man bites the dog"]
)
CONTENT = ContentWords("en", StopWords.of_words(["the", "a"], "figure"))
TEXTS = st.lists(st.tuples(st.text("abcd ", max_size=8), st.text("abcd ", max_size=8)), max_size=8)


@pytest.mark.parametrize(
    ("ks", "name", "found", "counted"), [({0}, "r0", 2, 4), ({1}, "r1", 2, 2), ({0, 1}, "r01", 4, 6)]
)
def test_figure_1(ks: set[int], name: str, found: int, counted: int) -> None:
    score = Recall(CONTENT, ks).score(FIGURE_1)
    assert (score.name, score.numerator, score.denominator) == (name, found, counted)
    assert score.value == pytest.approx(100 * found / counted)


def test_the_signature_contains_the_units() -> None:
    expected = "k:0+1|tok:moses-en|case:kept|stop:figure|letterless:dropped|words:all"
    assert Recall(CONTENT, {0, 1}).signature == expected
    assert Recall(CONTENT, {0}, seen={"dog", "man"}).signature.endswith("words:novel[2]")


def test_words_of_the_training_data_are_not_novel() -> None:
    score = Recall(CONTENT, {0}, seen={"bites", "lady"}).score(FIGURE_1)
    assert (score.numerator, score.denominator) == (1, 2)


def test_a_score_without_words_is_undefined() -> None:
    score = Recall(CONTENT, {1}).score(make_steps(["x"], ["dog"]))
    assert math.isnan(score.value)
    assert (str(score), score.denominator) == ("0/0", 0)


def test_a_segment_without_counted_words_changes_nothing() -> None:
    steps = [*FIGURE_1, *make_steps(["the"], ["the the"])]
    assert Recall(CONTENT, {0}).score(steps).value == Recall(CONTENT, {0}).score(FIGURE_1).value


def test_a_word_twice_in_one_reference_counts_once() -> None:
    steps = make_steps(["dog", ""], ["dog dog", "dog"])
    np.testing.assert_array_equal(Recall(CONTENT, {0}).rows(steps), [[1, 1], [0, 0]])
    np.testing.assert_array_equal(Recall(CONTENT, {1}).rows(steps), [[0, 0], [0, 1]])


def test_only_the_first_reference_counts() -> None:
    step = Step(0, Proposal(Segment("1", ""), "dog"), PostEdit("cat"), truth=Truth(("dog", "cat")))
    assert Recall(CONTENT, {0}).score([step]).value == 100


def brute_force(pairs: list[tuple[str, str]], ks: Collection[int]) -> list[tuple[int, int]]:
    """The definition, computed naively: count the earlier references with each word."""
    rows = []
    for i, (hypothesis, reference) in enumerate(pairs):
        counted = [w for w in set(reference.split()) if sum(w in earlier.split() for _, earlier in pairs[:i]) in ks]
        rows.append((sum(word in hypothesis.split() for word in counted), len(counted)))
    return rows


@given(TEXTS, st.sets(st.integers(0, 4), min_size=1))
def test_recall_equals_its_definition(pairs: list[tuple[str, str]], ks: set[int]) -> None:
    steps = make_steps([h for h, _ in pairs], [r for _, r in pairs])
    expected = np.reshape(brute_force(pairs, ks), (-1, 2))
    np.testing.assert_array_equal(Recall(SplitWords(), ks).rows(steps), expected)


@given(st.sets(st.integers(0, 30), min_size=1))
def test_a_name_parses_to_its_ks(ks: set[int]) -> None:
    assert parse_recall(recall_name(ks)) == ks
