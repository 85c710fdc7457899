"""N-grams of words and their clipped matches: the only place that counts them by hand.

Corpus BLEU comes from sacreBLEU. The sentence rewards and the tuner of SMT weights count here, because they need the
counts of one sentence very often and with their own smoothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

Ngram: TypeAlias = tuple[str, ...]


def count_ngrams(words: Sequence[str], n: int) -> dict[Ngram, int]:
    """Return how often each n-gram occurs. The result is a plain dict because a Counter would be slower.

    >>> count_ngrams(["to", "be", "to", "be"], 2)
    {('to', 'be'): 2, ('be', 'to'): 1}
    """
    counts: dict[Ngram, int] = {}
    for ngram in _ngrams(words, n):
        counts[ngram] = counts.get(ngram, 0) + 1
    return counts


def clipped_matches(words: Sequence[str], reference: Mapping[Ngram, int], n: int) -> int:
    """Return how many n-grams of `words` the reference counts contain; each counted n-gram matches once.

    >>> clipped_matches(["the", "the", "cat"], count_ngrams(["the", "cat"], 1), 1)
    2
    """
    left, matches = dict(reference), 0
    for ngram in _ngrams(words, n):
        if count := left.get(ngram, 0):
            left[ngram] = count - 1
            matches += 1
    return matches


def _ngrams(words: Sequence[str], n: int) -> Iterator[Ngram]:
    return zip(*(words[i:] for i in range(n)), strict=False)
