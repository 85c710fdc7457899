"""Token rows of different lengths, concatenated in one array."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int32]


@dataclass(frozen=True)
class TokenRows:
    """All tokens of all rows, and the length of each row.

    >>> rows = TokenRows(np.arange(6, dtype=np.int32), np.array([1, 3, 2], np.int32))
    >>> rows.select(np.array([True, False, True])).flat.tolist()
    [0, 4, 5]
    """

    flat: Ints
    lengths: Ints

    @classmethod
    def concatenate(cls, parts: Iterable[TokenRows]) -> TokenRows:
        """Return all rows of all parts."""
        all_parts = [cls(np.zeros(0, np.int32), np.zeros(0, np.int32)), *parts]
        return cls(
            np.concatenate([part.flat for part in all_parts]), np.concatenate([part.lengths for part in all_parts])
        )

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def starts(self) -> npt.NDArray[np.int64]:
        """The index in `flat` of the first token of each row."""
        return np.cumsum(self.lengths, dtype=np.int64) - self.lengths

    def select(self, keep: npt.NDArray[np.bool_]) -> TokenRows:
        """Return the rows for which `keep` is True."""
        return TokenRows(self.flat[np.repeat(keep, self.lengths)], self.lengths[keep])
