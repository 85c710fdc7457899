"""A dictionary that remembers what was last used, and no more than so much."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Cache(Generic[K, V]):
    """The least recently used goes first.

    >>> cache = Cache(2)
    >>> cache.update({1: "a", 2: "b"}); cache[1]; cache.update({3: "c"})
    'a'
    >>> cache.missing([1, 2, 3])
    [2]
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._items: OrderedDict[K, V] = OrderedDict()

    def __getitem__(self, key: K) -> V:
        self._items.move_to_end(key)
        return self._items[key]

    def get(self, key: K) -> V | None:
        return self[key] if key in self._items else None

    def missing(self, keys: Iterable[K]) -> list[K]:
        """Those of the keys that are not here; the others count as used."""
        absent = []
        for key in keys:
            if key in self._items:
                self._items.move_to_end(key)
            else:
                absent.append(key)
        return absent

    def update(self, items: Mapping[K, V]) -> None:
        self._items.update(items)
        while len(self._items) > self._size:
            self._items.popitem(last=False)

    def clear(self) -> None:
        self._items.clear()
