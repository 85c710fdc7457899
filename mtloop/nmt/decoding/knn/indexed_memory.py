"""A memory whose segments are found by the words of their sources."""

from __future__ import annotations

from mtloop.nmt.decoding.knn.similar_pairs import PairIndex, compared_words
from mtloop.nmt.decoding.memory import Key, Memory, StoredSegment
from mtloop.nmt.engine.vocabulary import Vocabulary


class IndexedMemory(Memory):
    """Adds an index to the memory that comes after it among the bases of a class. Exact matches alone are not in it."""

    vocabulary: Vocabulary
    index: PairIndex

    def add(self, one: StoredSegment) -> None:
        super().add(one)
        if len(one.tokens):
            self.index.add(one.key, compared_words(one.source, self.vocabulary))

    def _remove(self, key: Key) -> None:
        super()._remove(key)
        self.index.remove(key)

    def _clear(self) -> None:
        super()._clear()
        self.index.clear()
