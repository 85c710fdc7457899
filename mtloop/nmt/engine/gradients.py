"""Gradients as they come: for a matrix used on a few positions they are a thin product, and stay one.

A dense gradient of a 16,000 x 256 output matrix is 16 MB to write, to norm, to scale and to subtract, every step.
As dY^T X over 25 positions its norm comes from two 25 x 25 matrices, and one pass over the weights applies it.
The result is the same update.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from mtloop.nmt.engine.weights import Weights


@dataclass
class Gradient:
    """The gradient of one matrix: a sum of thin products, rows of a table, or a small dense vector."""

    products: list[tuple[Tensor, Tensor]] = field(default_factory=list)
    rows: list[tuple[Tensor, Tensor]] = field(default_factory=list)
    dense: Tensor | None = None

    @torch.no_grad()
    def norm(self) -> float:
        """The L2 norm, as if it were written out."""
        if self.dense is not None:
            return float(self.dense.norm())
        self._merge()
        square = sum(float((dy @ dy.t()).mul_(x @ x.t()).sum()) for dy, x in self.products)
        square += sum(float(values.pow(2).sum()) for _, values in self.rows)
        square += sum(2 * _overlap(product, row) for product in self.products for row in self.rows)
        return math.sqrt(max(square, 0.0))

    @torch.no_grad()
    def subtract(self, weight: Tensor, rate: float) -> None:
        """weight -= rate * gradient, in place."""
        if self.dense is not None:
            weight.sub_(self.dense, alpha=rate)
        for dy, x in self.products:
            weight.addmm_(dy.t(), x, alpha=-rate)
        for ids, values in self.rows:
            weight.index_add_(0, ids, values, alpha=-rate)

    def scaled(self, factor: float) -> Gradient:
        """The gradient times a number."""
        products = [(dy * factor, x) for dy, x in self.products]
        rows = [(ids, values * factor) for ids, values in self.rows]
        return Gradient(products, rows, None if self.dense is None else self.dense * factor)

    @torch.no_grad()
    def of_rows(self, ids: Tensor) -> Tensor:
        """Some rows of the gradient, written out; `ids` are sorted and distinct."""
        rows = torch.zeros(len(ids), self._width())
        for dy, x in self.products:
            rows.addmm_(dy[:, ids].t(), x)
        for moved, values in self.rows:
            rows.index_add_(0, torch.searchsorted(ids, moved), values)
        return rows

    def _width(self) -> int:
        return (self.products or self.rows)[0][1].shape[1]

    def _merge(self) -> None:
        """One product and one set of distinct rows, so that norms need no cross terms within each."""
        if len(self.products) > 1:
            self.products = [(torch.cat([dy for dy, _ in self.products]), torch.cat([x for _, x in self.products]))]
        if self.rows:
            ids = torch.cat([ids for ids, _ in self.rows])
            values = torch.cat([values for _, values in self.rows])
            distinct, where = ids.unique(return_inverse=True)
            self.rows = [(distinct, torch.zeros(len(distinct), values.shape[1]).index_add_(0, where, values))]


class Tape:
    """Collects the gradients of the tensors in a scope on the way back through a model."""

    def __init__(self, scope: frozenset[str]) -> None:
        self.scope = scope
        self.gradients: dict[str, Gradient] = {}

    def of(self, name: str) -> Gradient:
        return self.gradients.setdefault(name, Gradient())

    def product(self, weights: Weights, block: str, dy: Tensor, x: Tensor) -> None:
        for name, start, stop in weights.members(block):
            if name in self.scope:
                self.of(name).products.append((dy[:, start:stop], x))

    def bias(self, weights: Weights, block: str, dy: Tensor) -> None:
        for name, start, stop in weights.members(block):
            if name in self.scope:
                self.of(name).dense = dy[:, start:stop].sum(0)

    def rows(self, name: str, ids: Tensor, gradient: Tensor, padding: int) -> None:
        """Rows of an embedding: only those met have a gradient, and the padding stays put."""
        if name in self.scope:
            moves = ids != padding
            self.of(name).rows.append((ids[moves], gradient[moves]))

    def reaches(self, *prefixes: str) -> bool:
        """Whether anything that begins so learns."""
        return any(name.startswith(prefixes) for name in self.scope)


def _overlap(product: tuple[Tensor, Tensor], row: tuple[Tensor, Tensor]) -> float:
    """The inner product of dY^T X with rows of the same matrix: tied embeddings have both."""
    (dy, x), (ids, values) = product, row
    return float((dy[:, ids].t() @ x).mul_(values).sum())
