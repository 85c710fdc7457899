from __future__ import annotations

import math
import random
import time
from collections import Counter

import pytest
from helpers.steps import make_steps
from hypothesis import given
from hypothesis import strategies as st

from mtloop.core import Step
from mtloop.metrics.repetition import OutOfVocabulary, RepetitionRate, RunningWords
from mtloop.text.moses import tokenise

TEXTS = st.lists(st.text("abc ", max_size=14), max_size=8)


def steps_with_sources(sources: list[str]) -> list[Step]:
    return make_steps([""] * len(sources), [""] * len(sources), sources)


def brute_force(sources: list[str], window: int) -> float:
    """The definition, computed naively: count every n-gram in each position of the window."""
    words = [(number, word) for number, source in enumerate(sources) for word in source.split()]
    product = 1.0
    for n in range(1, 5):
        repeated = types = 0
        for start in range(max(1, len(words) - window + 1)):
            counts = _ngrams(words[start : start + window], n)
            repeated += sum(count > 1 for count in counts.values())
            types += len(counts)
        product *= repeated / types if types else math.nan
    return 100 * product**0.25


def _ngrams(words: list[tuple[int, str]], n: int) -> Counter[tuple[str, ...]]:
    grams = (words[i : i + n] for i in range(len(words) - n + 1))
    return Counter(tuple(word for _, word in gram) for gram in grams if gram[0][0] == gram[-1][0])


@given(TEXTS, st.integers(1, 12))
def test_the_rate_equals_its_definition(sources: list[str], window: int) -> None:
    found = RepetitionRate(window=window).score(steps_with_sources(sources)).value
    assert found == pytest.approx(brute_force(sources, window), nan_ok=True)


def test_the_rate_of_a_long_text_equals_its_definition() -> None:
    rng = random.Random(1)
    sources = [" ".join(rng.choices("abcdefghij", k=rng.randint(0, 9))) for _ in range(60)]
    for window in (4, 50, 1000):
        found = RepetitionRate(window=window).score(steps_with_sources(sources)).value
        assert found == pytest.approx(brute_force(sources, window))


@pytest.mark.parametrize(
    ("sources", "rate"),
    [
        (["a b c d"] * 2, 100.0),
        (["a b c d", "e f g h"], 0.0),
        # types that occur twice, divided by all types: 4/5, 3/4, 2/3, 1/2
        (["a b c d", "a b c d e"], 100 * (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25),
        (["a b c"] * 2, math.nan),  # no sentence has four words
        ([], math.nan),
    ],
)
def test_a_short_text_is_one_window(sources: list[str], rate: float) -> None:
    assert RepetitionRate().score(steps_with_sources(sources)).value == pytest.approx(rate, nan_ok=True)


def test_a_repetition_outside_the_window_does_not_count() -> None:
    far = ["a b c d", *(f"w{i}" for i in range(1000)), "a b c d"]
    assert RepetitionRate().score(steps_with_sources(far)).value == 0
    assert RepetitionRate(window=2000).score(steps_with_sources(far)).value > 0


def test_the_detail_contains_the_four_rates() -> None:
    score = RepetitionRate(RunningWords(lowercase=True)).score(steps_with_sources(["A b", "a B"]))
    assert score.detail == {"rate1": 1.0, "rate2": 1.0, "rate3": None, "rate4": None}
    assert score.signature == "text:source|tok:whitespace|case:lc|window:1000w|order:4"


def test_twenty_thousand_segments_take_a_second() -> None:
    rng = random.Random(1)
    vocabulary = [f"w{i}" for i in range(5000)]
    steps = steps_with_sources([" ".join(rng.choices(vocabulary, k=15)) for _ in range(20_000)])
    started = time.process_time()
    RepetitionRate().score(steps)
    assert time.process_time() - started < 3


def test_out_of_vocabulary_counts_running_words() -> None:
    score = OutOfVocabulary({"the", "dog"}).score(steps_with_sources(["the cat", "", "the cat dog"]))
    assert (score.numerator, score.denominator, score.value) == (2, 5, 40)
    assert score.signature == "text:source|tok:whitespace|case:mixed|vocabulary:2"


def test_case_and_tokens_are_options() -> None:
    steps = steps_with_sources(["The dog."])
    assert OutOfVocabulary({"the", "dog"}).score(steps).value == 100
    moses = RunningWords(lambda text: tokenise(text, "en"), tok="moses-en", lowercase=True)
    metric = OutOfVocabulary({"The", "Dog"}, moses)
    assert metric.score(steps).numerator == 1  # the full stop
    assert metric.signature == "text:source|tok:moses-en|case:lc|vocabulary:2"


def test_a_source_without_words_is_undefined() -> None:
    assert str(OutOfVocabulary({"a"}).score(steps_with_sources(["", " "]))) == "0/0"
