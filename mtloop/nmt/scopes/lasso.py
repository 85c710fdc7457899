"""Group lasso: learn few parameters, selected by the data (Wuebker et al., 2018).

W = W_base + W_user. A group is a whole hidden tensor, or one word's vector in an embedding or the output matrix. After
each gradient step the norm of every group shrinks by learning_rate * lasso_penalty * sqrt(size) (the proximal step of
the penalty). Then the largest groups are kept, up to the budgets: 1 M parameters in hidden tensors and 1 M in word
vectors. All other groups are exactly zero and cost nothing. The norms are computed without forming a full gradient.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from mtloop.nmt.engine.gradients import Gradient
from mtloop.nmt.engine.lesson import Lesson
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.sparse_rows import SparseRows
from mtloop.nmt.engine.weights import EMBEDDINGS, LOGITS_BIAS, copy_with_layout
from mtloop.nmt.scopes.dense import all_names, hidden_names
from mtloop.nmt.scopes.scope import GradientClipping, step_size


@dataclass
class Lasso:
    """Sparse offsets to a shared model, few enough to store one set per user."""

    base: Marian
    learning_rate: float = 1e-2
    bias_learning_rate: float = 1e-2
    lasso_penalty: float = 1e-4
    hidden_budget: int = 1_000_000
    embedding_budget: int = 1_000_000
    gradient_clipping: GradientClipping = "clip"
    hidden_: dict[str, Tensor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        weights = self.base.weights
        self.names = all_names(weights)
        self.extra_bias: Tensor = torch.zeros(len(weights[LOGITS_BIAS]))
        tables = dict.fromkeys(weights.canonical_name(name) for name in EMBEDDINGS)
        self.rows_ = {name: SparseRows(*weights[name].shape) for name in tables}
        self._hidden_names = hidden_names(weights)
        self.model = self._compose()
        self._before: dict[str, Tensor] = {}

    def update(self, lesson: Lesson) -> None:
        gradients = lesson.gradients()
        scaled = self.learning_rate * lesson.learning_rate_scale
        rates = {
            name: step_size(gradient.norm(), scaled, self.gradient_clipping) for name, gradient in gradients.items()
        }
        with torch.no_grad():
            self._before = self._before or self.tensors()
            self._update_bias(lesson)
            self._update_hidden(gradients, rates)
            self._update_rows(gradients, rates)
        self._check_budget()
        self.model = self._compose()

    def commit(self) -> None:
        self._before = {}

    def rollback(self) -> None:
        if self._before:
            self.restore(self._before)
        self._before = {}

    @property
    def parameters(self) -> tuple[int, int]:
        """The numbers of non-zero parameters in hidden tensors and in word vectors, without the extra output bias."""
        rows = sum(rows.values.numel() for rows in self.rows_.values())
        return sum(offset.numel() for offset in self.hidden_.values()), rows

    def tensors(self) -> dict[str, Tensor]:
        found = {"bias": self.extra_bias.clone()}
        found |= {f"offset/{name}": offset.clone() for name, offset in self.hidden_.items()}
        for name, rows in self.rows_.items():
            if len(rows):
                found |= {f"rows/{name}/ids": rows.ids.clone(), f"rows/{name}/values": rows.values.clone()}
        return found

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        self.extra_bias = tensors["bias"].clone()
        self.hidden_ = {
            name: copy_with_layout(tensors[f"offset/{name}"], self.base.weights[name])
            for name in (key.removeprefix("offset/") for key in tensors if key.startswith("offset/"))
        }
        for name, rows in self.rows_.items():
            empty = torch.empty(0, dtype=torch.long), rows.values[:0]
            ids = tensors.get(f"rows/{name}/ids", empty[0])
            rows.replace(ids.clone(), tensors.get(f"rows/{name}/values", empty[1]).clone())
        self._check_budget()
        self.model = self._compose()

    def _update_bias(self, lesson: Lesson) -> None:
        gradient = lesson.error.sum(0)
        scaled = self.bias_learning_rate * lesson.learning_rate_scale
        rate = step_size(float(gradient.norm()), scaled, self.gradient_clipping)
        self.extra_bias -= gradient * rate

    def _update_hidden(self, gradients: Mapping[str, Gradient], rates: Mapping[str, float]) -> None:
        """Apply the gradient step and the shrinkage to hidden tensors; compute the full offset only of those kept."""
        norms: dict[str, float] = {}
        for name in self._hidden_names & gradients.keys():
            if name in self.hidden_:
                gradients[name].subtract_from(self.hidden_[name], rates[name])
                norms[name] = float(self.hidden_[name].norm())
            else:
                norms[name] = rates[name] * gradients[name].norm()
        kept = self._within_budget({name: self._shrunk(norms[name], self._size(name)) for name in norms})
        self.hidden_ = {name: self._offset(name, gradients, rates) * (kept[name] / norms[name]) for name in kept}

    def _offset(self, name: str, gradients: Mapping[str, Gradient], rates: Mapping[str, float]) -> Tensor:
        if name not in self.hidden_:
            self.hidden_[name] = torch.zeros_like(self.base.weights[name])
            gradients[name].subtract_from(self.hidden_[name], rates[name])
        return self.hidden_[name]

    def _within_budget(self, norms: Mapping[str, float]) -> dict[str, float]:
        """Return the groups with the largest norm / sqrt(size) that fit the budget."""
        kept, remaining = {}, self.hidden_budget
        for name in sorted(norms, key=lambda name: (-norms[name] / self._size(name) ** 0.5, name)):
            if norms[name] > 0 and self._size(name) <= remaining:
                kept[name] = norms[name]
                remaining -= self._size(name)
        return kept

    def _update_rows(self, gradients: Mapping[str, Gradient], rates: Mapping[str, float]) -> None:
        """Apply the gradient step and the shrinkage to word vectors, stored or in the gradient; keep the largest."""
        stepped = {name: self._rows_after_step(name, gradients.get(name), rates.get(name, 0.0)) for name in self.rows_}
        width = self.base.shape.width
        norms = torch.cat([values.norm(dim=1) for _, values in stepped.values()])
        shrunk = (norms - self._shrinkage(width)).clamp_min(0)
        limit = _threshold(shrunk, self.embedding_budget // width)
        start = 0
        for name, (ids, values) in stepped.items():
            norm, shrunk_norm = norms[start : start + len(ids)], shrunk[start : start + len(ids)]
            kept = shrunk_norm > limit
            self.rows_[name].replace(ids[kept], values[kept] * (shrunk_norm[kept] / norm[kept])[:, None])
            start += len(ids)

    def _rows_after_step(self, name: str, gradient: Gradient | None, rate: float) -> tuple[Tensor, Tensor]:
        """Return ids and values after a step: of the stored rows and of the rows that the gradient adds."""
        stored = self.rows_[name]
        ids = stored.ids if gradient is None else torch.cat([stored.ids, self._rows_to_add(gradient, rate)]).unique()
        values = stored.gather(ids)
        if gradient is not None:
            values -= rate * gradient.gather_rows(ids)
        return ids, values

    def _rows_to_add(self, gradient: Gradient, rate: float) -> Tensor:
        """Return the ids of rows that a step may make non-zero.

        These are all rows in `gradient.rows`, and rows of the products whose step is longer than the shrinkage (the
        longest, if they exceed the budget).
        """
        found = [ids for ids, _ in gradient.rows]
        for error, states in gradient.products:
            norms = ((error.t() @ (states @ states.t())) * error.t()).sum(1).clamp_min(0).sqrt() * rate
            ids = (norms > self._shrinkage(self.base.shape.width)).nonzero().flatten()
            max_rows = self.embedding_budget // self.base.shape.width
            found.append(ids if len(ids) <= max_rows else norms.topk(max_rows).indices)
        return torch.cat(found)

    def _shrinkage(self, size: int) -> float:
        return self.learning_rate * self.lasso_penalty * math.sqrt(size)

    def _shrunk(self, norm: float, size: int) -> float:
        return max(0.0, norm - self._shrinkage(size))

    def _size(self, name: str) -> int:
        return self.base.weights[name].numel()

    def _check_budget(self) -> None:
        hidden, rows = self.parameters
        assert hidden <= self.hidden_budget, f"{hidden} hidden parameters, the budget is {self.hidden_budget}"
        assert rows <= self.embedding_budget, f"{rows} embedding parameters, the budget is {self.embedding_budget}"

    def _compose(self) -> Marian:
        """Return the base with the offsets added; only tensors with an offset are copied."""
        rows = {name: self.rows_[self.base.weights.canonical_name(name)] for name in EMBEDDINGS}
        weights = self.base.weights.copy(self.hidden_.keys()).with_rows(rows)
        for name, offset in self.hidden_.items():
            weights[name].add_(offset)
        return self.base.with_weights(weights)


def _threshold(norms: Tensor, max_count: int) -> float:
    """Return the threshold that at most `max_count` norms exceed."""
    return 0.0 if len(norms) <= max_count else max(0.0, float(norms.topk(max_count + 1).values[-1]))
