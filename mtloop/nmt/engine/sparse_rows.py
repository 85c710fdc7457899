"""Offsets for some rows of a large table: what a user's model adds to a shared one, at the price of those rows."""

from __future__ import annotations

import torch
from torch import Tensor


class SparseRows:
    """A table that is zero but for the rows it holds."""

    def __init__(self, height: int, width: int) -> None:
        self.ids = torch.empty(0, dtype=torch.long)
        self.values = torch.empty(0, width)
        self._where = torch.full((height,), -1, dtype=torch.int32)

    def __len__(self) -> int:
        return len(self.ids)

    def replace(self, ids: Tensor, values: Tensor) -> None:
        """Hold these rows and no others."""
        self._where[self.ids] = -1
        self.ids, self.values = ids, values
        self._where[ids] = torch.arange(len(ids), dtype=torch.int32)

    def gather(self, ids: Tensor) -> Tensor:
        """The rows asked for, zero where there is none."""
        where = self._where[ids]
        rows = torch.zeros(len(ids), self.values.shape[1])
        held = where >= 0
        rows[held] = self.values[where[held].long()]
        return rows

    def added(self, table: Tensor) -> Tensor:
        """A table with these rows in it, written out."""
        return table.index_add(0, self.ids, self.values) if len(self) else table

    def add_logits(self, logits: Tensor, states: Tensor) -> Tensor:
        """What these rows of an output matrix add to the logits of some states."""
        return logits.index_add_(1, self.ids, states @ self.values.t()) if len(self) else logits
