"""A dictionary of limited size that drops the least recently used items."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LRUCache(Generic[K, V]):
    """Holds at most `size` items.

    >>> cache = LRUCache(2)
    >>> cache.update({1: "a", 2: "b"}); cache.get(1); cache.update({3: "c"})
    'a'
    >>> cache.get(1), cache.get(2), cache.get(3)
    ('a', None, 'c')
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._items: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        if key not in self._items:
            return None
        self._items.move_to_end(key)
        return self._items[key]

    def update(self, items: Mapping[K, V]) -> None:
        self._items.update(items)
        while len(self._items) > self._size:
            self._items.popitem(last=False)

    def remove(self, key: K) -> None:
        """Drop an item, if it is there."""
        self._items.pop(key, None)

    def clear(self) -> None:
        self._items.clear()
