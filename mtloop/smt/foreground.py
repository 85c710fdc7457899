"""Foreground models (2012): phrase, word and n-gram counts of the corrections so far, for rescoring n-best lists."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from mtloop.smt.language_model import BEGIN, END, Ngram

FOREGROUND_FEATURES = ("fg_phrase", "fg_inverse_phrase", "fg_lexical", "fg_language_model", "fg_known")
MAX_PHRASE_LENGTH = 6
INITIAL_WEIGHT = 0.2  # of each foreground feature until it is tuned
FLOOR = math.log(1e-3)  # log probability of a phrase or word that the foreground has never seen


class WittenBell:
    """A 3-gram language model with Witten-Bell smoothing that learns sentence by sentence.

    >>> model = WittenBell()
    >>> model.add(["save", "the", "file"])
    >>> model.score(["save", "the", "file"]) > model.score(["file", "the", "save"])
    True
    """

    def __init__(self, order: int = 3) -> None:
        self.order = order
        self._counts: Counter[Ngram] = Counter()
        self._contexts: Counter[Ngram] = Counter()
        self._types: Counter[Ngram] = Counter()  # number of different words that followed a context

    def add(self, tokens: Sequence[str]) -> None:
        words = [BEGIN] * (self.order - 1) + [*tokens, END]
        for i in range(self.order - 1, len(words)):
            for n in range(self.order):
                context = tuple(words[i - n : i])
                self._types[context] += (*context, words[i]) not in self._counts
                self._counts[(*context, words[i])] += 1
                self._contexts[context] += 1

    def score(self, tokens: Sequence[str]) -> float:
        """Return the log probability of a sentence."""
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
    """Counts phrases and words of the learned pairs, and computes foreground features of a candidate."""

    def __init__(self) -> None:
        self.language_model = WittenBell()
        self._phrases: Counter[tuple[Ngram, Ngram]] = Counter()
        self._sources: Counter[Ngram] = Counter()
        self._targets: Counter[Ngram] = Counter()
        self._links: Counter[tuple[str, str]] = Counter()
        self._linked: Counter[str] = Counter()

    def add(self, source: Sequence[str], target: Sequence[str], matrix: Any) -> None:
        """Learn one pair; `matrix` is its word alignment, source by target."""
        self.language_model.add(target)
        for i, j in zip(*matrix.nonzero(), strict=True):
            self._links[source[i], target[j]] += 1
            self._linked[source[i]] += 1
        for (a, b), (c, d) in phrase_spans(matrix):
            source_phrase, target_phrase = tuple(source[a:b]), tuple(target[c:d])
            self._phrases[source_phrase, target_phrase] += 1
            self._sources[source_phrase] += 1
            self._targets[target_phrase] += 1

    def features(
        self, source: Sequence[str], target: Sequence[str], phrases: Sequence[tuple[tuple[int, int], tuple[int, int]]]
    ) -> dict[str, float]:
        """Return the features of one candidate: log probabilities, and last the number of phrases already seen."""
        direct = inverse = lexical = 0.0
        known = 0
        for (a, b), (c, d) in phrases:
            source_phrase, target_phrase = tuple(source[a:b]), tuple(target[c:d])
            count = self._phrases[source_phrase, target_phrase]
            known += count > 0
            direct += _log_probability(count, self._sources[source_phrase])
            inverse += _log_probability(count, self._targets[target_phrase])
            lexical += sum(self._best_link(source_phrase, word) for word in target_phrase)
        values = (direct, inverse, lexical, self.language_model.score(target), float(known))
        return dict(zip(FOREGROUND_FEATURES, values, strict=True))

    def _best_link(self, source: Ngram, word: str) -> float:
        return max((_log_probability(self._links[other, word], self._linked[other]) for other in source), default=FLOOR)


def phrase_spans(matrix: Any, max_length: int = MAX_PHRASE_LENGTH) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield all pairs of spans consistent with an alignment: no word in them is aligned to a word outside.

    >>> import numpy
    >>> list(phrase_spans(numpy.eye(2, dtype=bool)))
    [((0, 1), (0, 1)), ((0, 2), (0, 2)), ((1, 2), (1, 2))]
    """
    rows = len(matrix)
    for a in range(rows):
        for b in range(a + 1, min(a + max_length, rows) + 1):
            linked = matrix[a:b].any(axis=0).nonzero()[0]
            if not len(linked):
                continue
            c, d = int(linked[0]), int(linked[-1]) + 1
            if d - c > max_length or matrix[:a, c:d].any() or matrix[b:, c:d].any():
                continue
            yield (a, b), (c, d)


def _log_probability(count: int, total: int) -> float:
    return max(math.log(count / total), FLOOR) if count else FLOOR
