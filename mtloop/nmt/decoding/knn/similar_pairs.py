"""Find the confirmed pairs whose source is most similar to another source: BM25 first, then a closer look at the best.

BM25 is that of Elasticsearch, which SK-MT uses, with its constants. Words are compared in lower case; punctuation marks
count in the closer look alone.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from rapidfuzz.distance import Levenshtein

from mtloop.nmt.decoding.memory import Key
from mtloop.nmt.decoding.source_words import SourceWords
from mtloop.nmt.engine.vocabulary import Vocabulary

SATURATION, LENGTH_WEIGHT = 1.2, 0.75  # k1 and b of BM25
MAX_ORDER = 4  # of n-grams
SMOOTHING = 0.1  # added to counts of n-grams
MAX_LENGTH_RATIO = 2.0  # of two sentences that can be similar
Words = Sequence[str]
Likeness = Callable[[Words, Words], float]
IsVisible = Callable[[Key], bool]


def always(_: Key) -> bool:
    return True


class PairIndex:
    """Sources by words."""

    def __init__(self) -> None:
        self._words: dict[Key, Words] = {}
        self._lengths: dict[Key, int] = {}  # without punctuation marks
        self._counts_by_word: dict[str, dict[Key, int]] = {}
        self._total_length = 0

    def __len__(self) -> int:
        return len(self._words)

    def add(self, key: Key, words: Words) -> None:
        self.remove(key)
        counts = Counter(_plain(words))
        self._words[key], self._lengths[key] = words, counts.total()
        self._total_length += counts.total()
        for word, count in counts.items():
            self._counts_by_word.setdefault(word, {})[key] = count

    def remove(self, key: Key) -> None:
        for word in set(_plain(self._words.pop(key, ()))):
            del self._counts_by_word[word][key]
        self._total_length -= self._lengths.pop(key, 0)

    def clear(self) -> None:
        for one in (self._words, self._lengths, self._counts_by_word):
            one.clear()
        self._total_length = 0

    def most_similar(
        self, words: Words, likeness: Likeness, candidates: int, count: int, is_visible: IsVisible = always
    ) -> list[tuple[Key, float]]:
        """Return the `count` sources with the highest likeness, of the `candidates` that BM25 finds first.

        Of equally similar ones, the one that BM25 prefers comes first; then the newer one. What is not visible is
        neither found nor a candidate; it counts in the rarity of words.
        """
        best = self.best_by_bm25(words, candidates, is_visible)
        found = [(key, likeness(words, self._words[key])) for key in best]
        return heapq.nlargest(count, found, key=lambda one: one[1])

    def best_by_bm25(self, words: Words, count: int, is_visible: IsVisible = always) -> list[Key]:
        """Return the sources with the highest BM25 scores, the highest first; at equal scores the newer comes first."""
        scores: dict[Key, float] = {}
        for word in _plain(words):
            for key, score in self._bm25(word):
                scores[key] = scores.get(key, 0.0) + score
        return heapq.nlargest(count, filter(is_visible, scores), key=lambda key: (scores[key], key))

    def _bm25(self, word: str) -> Iterator[tuple[Key, float]]:
        counts = self._counts_by_word.get(word, {})
        rarity = math.log(1 + (len(self) - len(counts) + 0.5) / (len(counts) + 0.5))
        mean_length = self._total_length / max(len(self), 1)
        for key, count in counts.items():
            length = self._lengths[key] / mean_length
            yield key, rarity * count / (count + SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * length))


def edit_likeness(one: Words, other: Words) -> float:
    """Return 1 - edit distance / length of the longer one, in words (Dai and others, 2023).

    >>> edit_likeness(["open", "the", "tray", "."], ["close", "the", "tray"])
    0.5
    """
    return 1 - Levenshtein.distance(one, other) / max(len(one), len(other), 1)


def ngram_likeness(one: Words, other: Words) -> float:
    """Return the harmonic mean of n-gram precision and recall, each as in BLEU; 0 if one is more than twice as long.

    This is ModernMT's measure; Farajian and others (2017) take sentence-level BLEU.

    >>> ngram_likeness(["log", "in"], ["log", "in"]), ngram_likeness(["log", "in"], ["a", "log", "in", "to", "it"])
    (1.0, 0.0)
    """
    if max(len(one), len(other)) > MAX_LENGTH_RATIO * min(len(one), len(other)):
        return 0.0
    common = [sum((_ngrams(one, order) & _ngrams(other, order)).values()) for order in range(1, MAX_ORDER + 1)]
    precision, recall = _geometric_mean(common, len(other)), _geometric_mean(common, len(one))
    return 2 * precision * recall / (precision + recall)


def _geometric_mean(common: Sequence[int], length: int) -> float:
    logs = [math.log((count + SMOOTHING) / (max(length - order, 0) + SMOOTHING)) for order, count in enumerate(common)]
    return math.exp(sum(logs) / len(logs))


def _ngrams(words: Words, order: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[start : start + order]) for start in range(len(words) - order + 1))


def compared_words(source: str, vocabulary: Vocabulary) -> Words:
    """Return the words of a source, in lower case."""
    return in_lower_case(SourceWords.of(vocabulary.encode(source), vocabulary))


def in_lower_case(words: SourceWords) -> Words:
    """Return the words without the end of the sentence, in lower case."""
    return tuple(text.lower() for text in words.texts[:-1])


def _plain(words: Words) -> list[str]:
    """Return the words that are not punctuation marks."""
    return [word for word in words if any(map(str.isalnum, word))]
