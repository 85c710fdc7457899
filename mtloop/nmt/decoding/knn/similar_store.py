"""SK-MT, simple and scalable kNN-MT (Dai and others, ICLR 2023): only the states of the most similar pairs vote.

Before a sentence is translated, the most similar confirmed pairs are found: BM25 first, then edit distance. The nearest
of their states vote with the softmax of -distance / temperature. The weight of the votes depends on the distance of the
nearest one: lambda = max(0, 1 - distance / temperature). So there is neither a large store nor a weight to tune.

The authors recommend 16 pairs with 2 neighbours, or 2 pairs with 1 neighbour, and temperature 100, also for corrections
that come one by one (github.com/dirkiedai/sk-mt). There are 64 candidates before the edit distance, as in
github.com/NJUNLP/knn-box.
"""

from __future__ import annotations

import numpy as np

from mtloop.core.ranges import check_at_least
from mtloop.nmt.decoding.knn.indexed_memory import IndexedMemory
from mtloop.nmt.decoding.knn.neighbours import Neighbours, VectorTable
from mtloop.nmt.decoding.knn.similar_pairs import PairIndex, edit_likeness, in_lower_case
from mtloop.nmt.decoding.knn.token_store import KnnSettings, TokenStore
from mtloop.nmt.decoding.memory import Array, Key
from mtloop.nmt.decoding.source_words import SourceWords
from mtloop.nmt.engine.vocabulary import Vocabulary

CANDIDATES = 64


class SimilarStore(IndexedMemory, TokenStore):
    """The states of all confirmed segments; those of the most similar ones vote. `store_weight` has no effect."""

    def __init__(self, knn: KnnSettings, vocabulary: Vocabulary, similar_pairs: int = 16) -> None:
        super().__init__(knn)
        check_at_least(1, similar_pairs=similar_pairs)
        self.vocabulary, self.similar_pairs = vocabulary, similar_pairs
        self.index = PairIndex()

    def shares(self, found: Neighbours) -> Array:
        weight = max(0.0, 1 - float(found.distances[0]) / self.knn.temperature)
        return np.float32(weight) * self.votes(found)

    def table_for(self, words: SourceWords) -> VectorTable:
        return self.table_of(self.similar(words))

    def similar(self, words: SourceWords) -> list[Key]:
        """Return the most similar segments, the most similar first."""
        compared = in_lower_case(words)
        found = self.index.most_similar(compared, edit_likeness, CANDIDATES, self.similar_pairs, self._is_visible)
        return [key for key, _ in found]
