"""Offsets for some rows of a large table: a user's additions to a shared model, stored for those rows only."""

from __future__ import annotations

import torch
from torch import Tensor


class SparseRows:
    """A table whose rows are zero except for the stored ones."""

    def __init__(self, height: int, width: int) -> None:
        self.ids = torch.empty(0, dtype=torch.long)
        self.values = torch.empty(0, width)
        self._positions = torch.full((height,), -1, dtype=torch.int32)  # id: its row in `values`, or -1

    def __len__(self) -> int:
        return len(self.ids)

    def replace(self, ids: Tensor, values: Tensor) -> None:
        """Store these rows instead of the present ones."""
        self._positions[self.ids] = -1
        self.ids, self.values = ids, values
        self._positions[ids] = torch.arange(len(ids), dtype=torch.int32)

    def gather(self, ids: Tensor) -> Tensor:
        """Return the rows of these ids, zero where no row is stored."""
        positions = self._positions[ids]
        rows = torch.zeros(len(ids), self.values.shape[1])
        stored = positions >= 0
        rows[stored] = self.values[positions[stored].long()]
        return rows

    def added_to(self, table: Tensor) -> Tensor:
        """Return the dense sum of a table and these rows."""
        return table.index_add(0, self.ids, self.values) if len(self) else table

    def add_logits(self, logits: Tensor, states: Tensor) -> Tensor:
        """Add the contribution of these rows of an output matrix to the logits of some states, in place."""
        return logits.index_add_(1, self.ids, states @ self.values.t()) if len(self) else logits
