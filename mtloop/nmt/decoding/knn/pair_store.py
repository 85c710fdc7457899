"""Confirmed pairs without states: for tuning on the most similar ones."""

from __future__ import annotations

from mtloop.nmt.decoding.knn.indexed_memory import IndexedMemory
from mtloop.nmt.decoding.knn.similar_pairs import PairIndex, compared_words, ngram_likeness
from mtloop.nmt.decoding.memory import StoredSegment
from mtloop.nmt.engine.vocabulary import Vocabulary

CANDIDATES = 10  # that BM25 finds first, as in ModernMT


class PairStore(IndexedMemory):
    """Confirmed pairs, found by the likeness of their sources; no state votes."""

    def __init__(self, vocabulary: Vocabulary, repeats: bool = False) -> None:
        """`repeats`: an exact repeat gets its confirmed translation."""
        super().__init__(None)
        self.vocabulary, self.repeats = vocabulary, repeats
        self.index = PairIndex()

    def most_like(self, source: str, count: int) -> list[tuple[StoredSegment, float]]:
        """Return the pairs whose sources are most like this one, the most like first, with their likeness (0 to 1)."""
        words = compared_words(source, self.vocabulary)
        candidates = max(CANDIDATES, 2 * count)
        found = self.index.most_similar(words, ngram_likeness, candidates, count, self._is_visible)
        return [(self._segments[key], likeness) for key, likeness in found]

    def exact_match(self, source: str) -> str | None:
        """Return the newest confirmed translation of exactly this source, if repeats are looked up."""
        return next(reversed(self.translations(source)), None) if self.repeats else None
