"""Rows of tokens of many lengths, end to end in one array."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int32]


@dataclass(frozen=True)
class TokenRows:
    """All tokens of all rows, and how long each row is.

    >>> rows = TokenRows(np.arange(6, dtype=np.int32), np.array([1, 3, 2], np.int32))
    >>> rows.where(np.array([True, False, True])).flat.tolist()
    [0, 4, 5]
    """

    flat: Ints
    lengths: Ints

    @classmethod
    def joined(cls, parts: Iterable[TokenRows]) -> TokenRows:
        """Rows after rows."""
        every = [cls(np.zeros(0, np.int32), np.zeros(0, np.int32)), *parts]
        return cls(np.concatenate([part.flat for part in every]), np.concatenate([part.lengths for part in every]))

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def starts(self) -> npt.NDArray[np.int64]:
        """Where in `flat` each row begins."""
        return np.cumsum(self.lengths, dtype=np.int64) - self.lengths

    def where(self, keep: npt.NDArray[np.bool_]) -> TokenRows:
        """Only the rows to keep."""
        return TokenRows(self.flat[np.repeat(keep, self.lengths)], self.lengths[keep])
