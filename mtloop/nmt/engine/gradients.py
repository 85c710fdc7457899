"""Gradients in factored form: the gradient of a matrix that was used at a few positions is a low-rank product.

A dense gradient of a 16,000 x 256 output matrix has 16 MB, and every step writes it, computes its norm, scales and
subtracts it. Stored as the factors dY and X of 25 positions, its norm needs only two 25 x 25 matrices, and one pass
over the weights subtracts dY^T X. The result is the same update.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from mtloop.nmt.engine.weights import Weights


@dataclass
class Gradient:
    """The gradient of one tensor: a sum of low-rank products (dY, X), rows of a table (ids, values), or a dense tensor.

    `dense` is None where the gradient consists of products and rows.
    """

    products: list[tuple[Tensor, Tensor]] = field(default_factory=list)
    rows: list[tuple[Tensor, Tensor]] = field(default_factory=list)
    dense: Tensor | None = None

    @torch.no_grad()
    def norm(self) -> float:
        """Return the L2 norm of the full gradient."""
        if self.dense is not None:
            return float(self.dense.norm())
        self._merge()
        square = sum(float((dy @ dy.t()).mul_(x @ x.t()).sum()) for dy, x in self.products)
        square += sum(float(values.pow(2).sum()) for _, values in self.rows)
        square += sum(2 * _inner_product(product, row) for product in self.products for row in self.rows)
        return math.sqrt(max(square, 0.0))

    @torch.no_grad()
    def subtract_from(self, weight: Tensor, learning_rate: float) -> None:
        """weight -= learning_rate * gradient, in place."""
        if self.dense is not None:
            weight.sub_(self.dense, alpha=learning_rate)
        for dy, x in self.products:
            weight.addmm_(dy.t(), x, alpha=-learning_rate)
        for ids, values in self.rows:
            weight.index_add_(0, ids, values, alpha=-learning_rate)

    def scaled(self, factor: float) -> Gradient:
        """Return the gradient times a number."""
        products = [(dy * factor, x) for dy, x in self.products]
        rows = [(ids, values * factor) for ids, values in self.rows]
        return Gradient(products, rows, None if self.dense is None else self.dense * factor)

    @torch.no_grad()
    def gather_rows(self, ids: Tensor) -> Tensor:
        """Return some rows of the full gradient; `ids` are sorted and distinct, and include all ids in `rows`."""
        rows = torch.zeros(len(ids), self._width())
        for dy, x in self.products:
            rows.addmm_(dy[:, ids].t(), x)
        for row_ids, values in self.rows:
            rows.index_add_(0, torch.searchsorted(ids, row_ids), values)
        return rows

    def _width(self) -> int:
        return (self.products or self.rows)[0][1].shape[1]

    def _merge(self) -> None:
        """Merge into one product and one set of distinct rows, so that norms need no cross terms within each."""
        if len(self.products) > 1:
            self.products = [(torch.cat([dy for dy, _ in self.products]), torch.cat([x for _, x in self.products]))]
        if self.rows:
            ids = torch.cat([ids for ids, _ in self.rows])
            values = torch.cat([values for _, values in self.rows])
            distinct, where = ids.unique(return_inverse=True)
            self.rows = [(distinct, torch.zeros(len(distinct), values.shape[1]).index_add_(0, where, values))]


class GradientCollector:
    """Collects the gradients of the tensors in a scope during the backward pass of a model."""

    def __init__(self, scope: frozenset[str]) -> None:
        self.scope = scope
        self.gradients: dict[str, Gradient] = {}

    def get(self, name: str) -> Gradient:
        """Return the gradient of a tensor, at first an empty one."""
        return self.gradients.setdefault(name, Gradient())

    def add_product(self, weights: Weights, block: str, dy: Tensor, x: Tensor) -> None:
        """Add dY^T X to the gradients of the matrices in a block."""
        for name, start, stop in weights.members(block):
            if name in self.scope:
                self.get(name).products.append((dy[:, start:stop], x))

    def set_bias(self, weights: Weights, block: str, dy: Tensor) -> None:
        """Set the gradients of the biases in a block."""
        for name, start, stop in weights.members(block):
            if name in self.scope:
                self.get(name).dense = dy[:, start:stop].sum(0)

    def add_rows(self, name: str, ids: Tensor, gradient: Tensor, padding: int) -> None:
        """Add rows to the gradient of an embedding; the row of the padding token never changes."""
        if name in self.scope:
            used = ids != padding
            self.get(name).rows.append((ids[used], gradient[used]))

    def covers(self, *prefixes: str) -> bool:
        """Return whether the scope has a tensor whose name begins with one of the prefixes."""
        return any(name.startswith(prefixes) for name in self.scope)


def _inner_product(product: tuple[Tensor, Tensor], row: tuple[Tensor, Tensor]) -> float:
    """Return the inner product of dY^T X with rows of the same matrix; tied embeddings have both."""
    (dy, x), (ids, values) = product, row
    return float((dy[:, ids].t() @ x).mul_(values).sum())
