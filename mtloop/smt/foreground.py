"""Foreground models: what the corrections so far say about phrases, words and word order (2012), for rescoring."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from mtloop.smt.language_model import BEGIN, END, Ngram

FOREGROUND = ("fg_phrase", "fg_inverse_phrase", "fg_lexical", "fg_language_model", "fg_known")
LONGEST_PHRASE = 6
START = 0.2  # the weight of each until a companion has tuned it
FLOOR = math.log(1e-3)  # what a phrase or word costs that the foreground has never seen


class WittenBell:
    """A 3-gram language model that learns sentence by sentence; unseen words share what is left.

    >>> model = WittenBell()
    >>> model.add(["save", "the", "file"])
    >>> model.score(["save", "the", "file"]) > model.score(["file", "the", "save"])
    True
    """

    def __init__(self, order: int = 3) -> None:
        self.order = order
        self._counts: Counter[Ngram] = Counter()
        self._contexts: Counter[Ngram] = Counter()
        self._types: Counter[Ngram] = Counter()  # how many different words followed a context

    def add(self, tokens: Sequence[str]) -> None:
        words = [BEGIN] * (self.order - 1) + [*tokens, END]
        for i in range(self.order - 1, len(words)):
            for n in range(self.order):
                context = tuple(words[i - n : i])
                self._types[context] += (*context, words[i]) not in self._counts
                self._counts[(*context, words[i])] += 1
                self._contexts[context] += 1

    def score(self, tokens: Sequence[str]) -> float:
        """The log probability of a sentence."""
        words = [BEGIN] * (self.order - 1) + [*tokens, END]
        return sum(
            math.log(self.probability(tuple(words[i - self.order + 1 : i]), words[i]))
            for i in range(self.order - 1, len(words))
        )

    def probability(self, context: Ngram, word: str) -> float:
        lower = self.probability(context[1:], word) if context else 1 / (self._types[()] + 1000)
        seen, types = self._contexts[context], self._types[context]
        if not seen:
            return lower
        return (self._counts[(*context, word)] + types * lower) / (seen + types)


class Foreground:
    """Counts of phrases and words in the pairs learned, and what they make of a candidate."""

    def __init__(self) -> None:
        self.model = WittenBell()
        self._phrases: Counter[tuple[Ngram, Ngram]] = Counter()
        self._sources: Counter[Ngram] = Counter()
        self._targets: Counter[Ngram] = Counter()
        self._links: Counter[tuple[str, str]] = Counter()
        self._linked: Counter[str] = Counter()

    def add(self, source: Sequence[str], target: Sequence[str], matrix: Any) -> None:
        self.model.add(target)
        for i, j in zip(*matrix.nonzero(), strict=True):
            self._links[source[i], target[j]] += 1
            self._linked[source[i]] += 1
        for (a, b), (c, d) in extract(matrix):
            one, other = tuple(source[a:b]), tuple(target[c:d])
            self._phrases[one, other] += 1
            self._sources[one] += 1
            self._targets[other] += 1

    def features(
        self, source: Sequence[str], target: Sequence[str], phrases: Sequence[tuple[tuple[int, int], tuple[int, int]]]
    ) -> dict[str, float]:
        """The foreground's feature values of one candidate, each a log probability but the last: phrases it knows."""
        direct = inverse = lexical = 0.0
        known = 0
        for (a, b), (c, d) in phrases:
            one, other = tuple(source[a:b]), tuple(target[c:d])
            together = self._phrases[one, other]
            known += together > 0
            direct += _log(together, self._sources[one])
            inverse += _log(together, self._targets[other])
            lexical += sum(self._best_link(one, word) for word in other)
        values = (direct, inverse, lexical, self.model.score(target), float(known))
        return dict(zip(FOREGROUND, values, strict=True))

    def _best_link(self, source: Ngram, word: str) -> float:
        return max((_log(self._links[one, word], self._linked[one]) for one in source), default=FLOOR)


def extract(matrix: Any, longest: int = LONGEST_PHRASE) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """All pairs of spans whose words are aligned to each other and to nothing outside.

    >>> import numpy
    >>> list(extract(numpy.eye(2, dtype=bool)))
    [((0, 1), (0, 1)), ((0, 2), (0, 2)), ((1, 2), (1, 2))]
    """
    rows = len(matrix)
    for a in range(rows):
        for b in range(a + 1, min(a + longest, rows) + 1):
            linked = matrix[a:b].any(axis=0).nonzero()[0]
            if not len(linked):
                continue
            c, d = int(linked[0]), int(linked[-1]) + 1
            if d - c > longest or matrix[:a, c:d].any() or matrix[b:, c:d].any():
                continue
            yield (a, b), (c, d)


def _log(count: int, total: int) -> float:
    return max(math.log(count / total), FLOOR) if count else FLOOR
