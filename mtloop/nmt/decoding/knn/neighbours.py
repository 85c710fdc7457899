"""Exact search for the nearest stored vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mtloop.nmt.decoding.memory import Array

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The stored vectors nearest to a query, the nearest first: squared distances, and what is stored with each."""

    distances: Array
    values: Numbers

    def distinct_counts(self) -> Array:
        """Return the number of distinct values among the first one, the first two, and so on."""
        seen, counts = set[int](), list[int]()
        for value in self.values.tolist():
            seen.add(value)
            counts.append(len(seen))
        return np.array(counts, np.float32)


class VectorTable:
    """Vectors, each with a number that is stored with it: a token, or a policy."""

    def __init__(self, keys: Array, values: Numbers) -> None:
        self._keys, self._values = keys, values
        self._squares: Array = np.einsum("ij,ij->i", keys, keys)

    def __len__(self) -> int:
        return len(self._values)

    def nearest(self, queries: Array, count: int) -> list[Neighbours]:
        """Return the `count` nearest vectors of each query, or all if there are fewer."""
        return [self._smallest(distances, count) for distances in self.distances(queries)]

    def distances(self, queries: Array) -> Array:
        """Return the squared Euclidean distances: (queries, vectors)."""
        found: Array = np.matmul(queries, self._keys.T)
        found *= -2
        found += self._squares
        found += np.square(queries).sum(1)[:, None]
        return np.maximum(found, 0, out=found)

    def _smallest(self, distances: Array, count: int) -> Neighbours:
        """Return the smallest distances in order; of equal ones, the older vector comes first."""
        rows = np.arange(len(distances))
        if len(distances) > count:
            rows = np.sort(np.argpartition(distances, count - 1)[:count])
        rows = rows[np.argsort(distances[rows], kind="stable")]
        return Neighbours(distances[rows], self._values[rows])
