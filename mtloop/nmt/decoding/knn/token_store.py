"""kNN-MT (Khandelwal and others, ICLR 2021): the nearest of all stored states vote with a fixed weight."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from mtloop.core.ranges import check_above, check_at_least, check_share
from mtloop.nmt.decoding.knn.neighbours import Neighbours, VectorTable
from mtloop.nmt.decoding.knn.votes import KnnProcessor, softmax
from mtloop.nmt.decoding.memory import Array, Key, Memory, MemorySettings, Silent, StoredSegment
from mtloop.nmt.decoding.source_words import SourceWords
from mtloop.nmt.engine.search import LogitsProcessor


@dataclass(frozen=True)
class KnnSettings:
    """How the neighbours vote.

    The `neighbours` nearest states vote with the softmax of -distance / temperature. `store_weight` is the weight of
    all votes together, lambda in the papers. With `exact_match`, an exact repeat gets its confirmed translation.
    """

    neighbours: int = 8
    temperature: float = 10.0
    store_weight: float = 0.4
    exact_match: bool = False

    def __post_init__(self) -> None:
        check_at_least(1, neighbours=self.neighbours)
        check_above(0, temperature=self.temperature)
        check_share(store_weight=self.store_weight)


class TokenStore(Memory):
    """All states of the confirmed segments, with their tokens.

    p = store_weight * p_kNN + (1 - store_weight) * p_NMT. The papers set the weight, the temperature and the number of
    neighbours for each domain: 0.7 to 0.8 for stores of millions of tokens, 0.2 in KoK's experiments with single
    documents; temperature 10 or 100; 4 to 64 neighbours.
    """

    def __init__(self, knn: KnnSettings) -> None:
        super().__init__(MemorySettings(check_changed_words=False))
        self.knn = knn
        self._studies = True
        self._table: VectorTable | None = None
        self._limited: tuple[Container[int], VectorTable] | None = None  # the last limit, and what it left

    def shares(self, found: Neighbours) -> Array:
        """Return what each neighbour adds to the probability of its token."""
        return self.knn.store_weight * self.votes(found)

    def votes(self, found: Neighbours) -> Array:
        """Return the weight of each neighbour in p_kNN."""
        return softmax(found.distances / -self.knn.temperature)

    def processor(  # type: ignore[override]  # it is another kind of processor
        self, words: SourceWords, end: int = -1, silent: Silent | None = None
    ) -> LogitsProcessor | None:
        """Return the logits processor for one source, or None if nothing votes."""
        table = self.table_for(words)
        return KnnProcessor(table, self.knn.neighbours, self.shares) if len(table) else None

    def table_for(self, words: SourceWords) -> VectorTable:
        """Return the states that are compared for one source: all that are visible."""
        if self.visible is None:
            return self.table()
        if self._limited is None or self._limited[0] is not self.visible:
            self._limited = self.visible, self.table_of(filter(self._is_visible, self._segments))
        return self._limited[1]

    def table(self) -> VectorTable:
        """Return all stored states."""
        if self._table is None:
            length = len(self._store)
            whole = self._store.keys[:length].float(), self._store.tokens[:length]
            self._table = self.table_of(self._segments) if self._deleted_rows else as_table(*whole)
        return self._table

    def table_of(self, keys: Iterable[Key]) -> VectorTable:
        """Return the states of some segments."""
        rows = [row for key in keys for row in self._rows(key)]
        return as_table(*self._store.take(rows)) if rows else as_table(torch.empty(0, 0), torch.empty(0).long())

    def _rows(self, key: Key) -> range:
        first = self._first_rows[key]
        return range(first, first + len(self._segments[key].tokens))

    def exact_match(self, source: str) -> str | None:
        """Return the newest confirmed translation of exactly this source, if repeats are looked up."""
        return super().exact_match(source) if self.knn.exact_match else None

    def add(self, one: StoredSegment) -> None:
        self._remove(one.key)
        if self._studies and len(one.tokens):
            self.study(one)
        super().add(one)
        self._table = self._limited = None

    def study(self, one: StoredSegment) -> None:
        """Learn from a segment how to weigh the neighbours, before it is stored; here nothing."""

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore the segments; none of them is studied again."""
        self._studies = False
        try:
            super().restore(tensors)
        finally:
            self._studies = True

    def _remove(self, key: Key) -> None:
        super()._remove(key)
        self._table = self._limited = None

    def _clear(self) -> None:
        super()._clear()
        self._table = self._limited = None

    def neighbours_of(self, one: StoredSegment) -> list[Neighbours]:
        """Return the nearest stored states of each state of a segment."""
        return self.table().nearest(one.keys.float().numpy(), self.knn.neighbours)


def as_table(keys: Tensor, tokens: Tensor) -> VectorTable:
    return VectorTable(keys.numpy(), tokens.numpy())
