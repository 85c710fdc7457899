"""Counts by hand, and what holds for every text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtloop.metrics.repetition import RepetitionRate
from mtloop.metrics.text_statistics import KnownText, TextStatistics, WordSplitter, count_known
from mtloop.text.moses import tokenise

TEXTS = st.lists(st.text("ab .A", max_size=12), max_size=8)
SPLITTERS = st.builds(WordSplitter, lowercase=st.booleans())


def moses(text: str) -> list[str]:
    return tokenise(text, "en")


def test_a_small_text_counted_by_hand() -> None:
    """Words: `Save the file . Close it .`, `Save the file .` twice; of four words, `Save the file .` repeats."""
    texts = ["Save the file. Close it.", "Save the  file.", "Save the file."]
    found = TextStatistics.of(texts, WordSplitter(moses, "moses-en"))
    assert (found.segments, found.sentences, found.duplicates) == (3, 4, 1)
    assert (found.words, found.types, found.longest, found.mean_length) == (15, 6, 7, 5)
    # types that occur twice, divided by all types: 4/6 words, 3/6 pairs, 2/5 triples, 1/4 of four words
    assert found.repetition_rate.value == pytest.approx(100 * (4 / 6 * 3 / 6 * 2 / 5 * 1 / 4) ** 0.25)
    assert (found.oov, found.overlap) == (None, None), "there is nothing to compare with"


def test_a_known_word_with_a_full_stop_is_known() -> None:
    split = WordSplitter(moses, "moses-en")
    known = KnownText.of(["Close the file now."], split)
    found = TextStatistics.of(["Close the file.", "Save the file."], split, known)
    assert (found.unknown_words, found.words, found.oov) == (1, 8, 12.5), "only `Save` is unknown"
    assert (found.known_segments, found.overlap) == (0, 0)


def test_words_are_lowered_after_they_are_found() -> None:
    """In lower case Moses cannot tell that a full stop ends a sentence."""
    split = WordSplitter(moses, "moses-en", lowercase=True)
    assert split("Save IT. Close it.") == ["save", "it", ".", "close", "it", "."]
    known = KnownText.of(["save it. close it."], split)
    found = TextStatistics.of(["Save it. Close it.", "SAVE IT. CLOSE IT."], split, known)
    assert (found.types, found.sentences, found.duplicates, found.known_segments) == (4, 4, 1, 2)


def test_a_text_without_words() -> None:
    nothing = TextStatistics.of([], WordSplitter(), KnownText())
    assert (nothing.segments, nothing.words, nothing.longest) == (0, 0, 0)
    assert (nothing.mean_length, nothing.oov, nothing.overlap) == (None, None, None)
    blank = TextStatistics.of([" "], WordSplitter(), KnownText())
    assert (blank.segments, blank.mean_length, blank.oov, blank.overlap) == (1, 0, None, 0)
    assert not blank.repetition_rate.defined


@given(TEXTS, SPLITTERS)
def test_a_text_has_no_unknown_words_against_itself(texts: list[str], split: WordSplitter) -> None:
    found = TextStatistics.of(texts, split, KnownText.of(texts, split))
    assert (found.unknown_words, found.known_segments) == (0, len(texts))


@given(TEXTS, SPLITTERS)
def test_everything_is_unknown_against_nothing(texts: list[str], split: WordSplitter) -> None:
    found = TextStatistics.of(texts, split, KnownText())
    assert (found.unknown_words, found.known_segments) == (found.words, 0)


@given(TEXTS, TEXTS, SPLITTERS)
def test_the_counts_of_two_texts_add_up(texts: list[str], more: list[str], split: WordSplitter) -> None:
    known = KnownText.of(more, split)
    one, two, both = (TextStatistics.of(part, split, known) for part in (texts, more, texts + more))
    for name in ("segments", "sentences", "words", "unknown_words", "known_segments"):
        assert getattr(both, name) == getattr(one, name) + getattr(two, name), name
    assert both.longest == max(one.longest, two.longest)
    assert max(one.types, two.types) <= both.types <= one.types + two.types
    assert both.duplicates >= one.duplicates + two.duplicates


@given(TEXTS, SPLITTERS)
def test_bounds(texts: list[str], split: WordSplitter) -> None:
    found = TextStatistics.of(texts, split)
    assert found.types <= found.words <= found.segments * found.longest
    assert found.duplicates < max(1, found.segments)
    rate = RepetitionRate().of_sentences([split(text) for text in texts])
    assert found.repetition_rate.value == pytest.approx(rate.value, nan_ok=True), "the rate is that of metric rr"


@given(TEXTS, TEXTS)
def test_more_text_to_compare_with_knows_no_fewer_words(texts: list[str], more: list[str]) -> None:
    split = WordSplitter()
    little = TextStatistics.of(texts, split, KnownText.of(more[:1], split))
    much = TextStatistics.of(texts, split, KnownText.of(more, split))
    assert much.unknown_words is not None
    assert little.unknown_words is not None
    assert much.unknown_words <= little.unknown_words


def test_what_is_known_is_counted_as_often_as_it_occurs() -> None:
    assert count_known([("a", "b"), ("a", "b"), ("a", "c")], {("a", "b")}) == 2
