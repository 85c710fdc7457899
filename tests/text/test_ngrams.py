from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from mtloop.text.ngrams import clipped_matches, count_ngrams

WORDS = st.lists(st.sampled_from("abc"), max_size=12)


@given(WORDS, WORDS, st.integers(1, 4))
def test_counts_and_matches_equal_those_of_counters(words: list[str], reference: list[str], n: int) -> None:
    ours, theirs = (Counter(tuple(text[i : i + n]) for i in range(len(text) - n + 1)) for text in (words, reference))
    counts = count_ngrams(reference, n)
    assert counts == theirs
    assert clipped_matches(words, counts, n) == (ours & theirs).total()
    assert counts == theirs  # matching leaves the counts as they are
