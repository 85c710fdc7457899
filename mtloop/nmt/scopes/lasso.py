"""Group lasso: learn with few parameters, and let the data choose which (Wuebker et al., 2018).

W = W_base + W_user. A group is a whole hidden tensor, or one word's vector in an embedding or the output matrix. After
each gradient step every group is shrunk towards zero by rate * strength * sqrt(size) in norm (the proximal step of
the penalty), and groups are kept, largest first, while the budgets last: 1 M parameters in hidden tensors, 1 M in word
vectors.
What is not kept is exactly zero and costs nothing. The norms that decide are found without writing a gradient out.
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
from mtloop.nmt.engine.weights import EMBEDDINGS, LOGITS_BIAS
from mtloop.nmt.scopes.dense import all_names, hidden_names
from mtloop.nmt.scopes.scope import Clip, step_size


@dataclass
class Lasso:
    """Offsets over a shared model, few enough to store one set a user."""

    base: Marian
    rate: float = 1e-2
    bias_rate: float = 1e-2
    strength: float = 1e-4
    hidden_budget: int = 1_000_000
    row_budget: int = 1_000_000
    clip: Clip = "clip"
    hidden_: dict[str, Tensor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        weights = self.base.weights
        self.names = all_names(weights)
        self.extra_bias: Tensor = torch.zeros(len(weights[LOGITS_BIAS]))
        tables = dict.fromkeys(weights.table(name) for name in EMBEDDINGS)
        self.rows_ = {name: SparseRows(*weights[name].shape) for name in tables}
        self._hidden_names = hidden_names(weights)
        self.model = self._compose()
        self._before: dict[str, Tensor] = {}

    def update(self, lesson: Lesson) -> None:
        gradients = lesson.gradients()
        rate = self.rate * lesson.pace
        rates = {name: step_size(gradient.norm(), rate, self.clip) for name, gradient in gradients.items()}
        with torch.no_grad():
            self._before = self._before or self.tensors()
            self._move_bias(lesson)
            self._move_hidden(gradients, rates)
            self._move_rows(gradients, rates)
        self._check_budget()
        self.model = self._compose()

    def settle(self) -> None:
        self._before = {}

    def rollback(self) -> None:
        if self._before:
            self.restore(self._before)
        self._before = {}

    @property
    def parameters(self) -> tuple[int, int]:
        """How many are not zero: in hidden tensors, in word vectors. (The second bias is always there.)"""
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
            name.removeprefix("offset/"): self._laid_out(name.removeprefix("offset/"), offset)
            for name, offset in tensors.items()
            if name.startswith("offset/")
        }
        for name, rows in self.rows_.items():
            empty = torch.empty(0, dtype=torch.long), rows.values[:0]
            ids = tensors.get(f"rows/{name}/ids", empty[0])
            rows.replace(ids.clone(), tensors.get(f"rows/{name}/values", empty[1]).clone())
        self._check_budget()
        self.model = self._compose()

    def _move_bias(self, lesson: Lesson) -> None:
        gradient = lesson.error.sum(0)
        rate = step_size(float(gradient.norm()), self.bias_rate * lesson.pace, self.clip)
        self.extra_bias -= gradient * rate

    def _move_hidden(self, gradients: Mapping[str, Gradient], rates: Mapping[str, float]) -> None:
        """Step and shrink every hidden tensor; write out only those that stay."""
        norms: dict[str, float] = {}
        for name in self._hidden_names & gradients.keys():
            if name in self.hidden_:
                gradients[name].subtract(self.hidden_[name], rates[name])
                norms[name] = float(self.hidden_[name].norm())
            else:
                norms[name] = rates[name] * gradients[name].norm()
        kept = self._within_budget({name: self._shrunk(norms[name], self._size(name)) for name in norms})
        self.hidden_ = {name: self._offset(name, gradients, rates) * (kept[name] / norms[name]) for name in kept}

    def _offset(self, name: str, gradients: Mapping[str, Gradient], rates: Mapping[str, float]) -> Tensor:
        if name not in self.hidden_:
            self.hidden_[name] = torch.zeros_like(self.base.weights[name])
            gradients[name].subtract(self.hidden_[name], rates[name])
        return self.hidden_[name]

    def _within_budget(self, norms: Mapping[str, float]) -> dict[str, float]:
        """The largest groups, by norm over the root of their size, while the budget lasts."""
        kept, left = {}, self.hidden_budget
        for name in sorted(norms, key=lambda name: (-norms[name] / self._size(name) ** 0.5, name)):
            if norms[name] > 0 and self._size(name) <= left:
                kept[name] = norms[name]
                left -= self._size(name)
        return kept

    def _move_rows(self, gradients: Mapping[str, Gradient], rates: Mapping[str, float]) -> None:
        """Step and shrink word vectors, those held and those in the gradient; the largest stay."""
        moved = {name: self._moved_rows(name, gradients.get(name), rates.get(name, 0.0)) for name in self.rows_}
        width = self.base.shape.width
        norms = torch.cat([values.norm(dim=1) for _, values in moved.values()])
        shrunk = (norms - self._shrinkage(width)).clamp_min(0)
        limit = _threshold(shrunk, self.row_budget // width)
        start = 0
        for name, (ids, values) in moved.items():
            norm, left = norms[start : start + len(ids)], shrunk[start : start + len(ids)]
            stays = left > limit
            self.rows_[name].replace(ids[stays], values[stays] * (left[stays] / norm[stays])[:, None])
            start += len(ids)

    def _moved_rows(self, name: str, gradient: Gradient | None, rate: float) -> tuple[Tensor, Tensor]:
        """The rows held and the rows that move, after a step."""
        held = self.rows_[name]
        ids = held.ids if gradient is None else torch.cat([held.ids, self._moving(gradient, rate)]).unique()
        values = held.gather(ids)
        if gradient is not None:
            values -= rate * gradient.of_rows(ids)
        return ids, values

    def _moving(self, gradient: Gradient, rate: float) -> Tensor:
        """The rows that one step takes further than shrinking takes them back."""
        found = [ids for ids, _ in gradient.rows]
        for error, states in gradient.products:
            norms = ((error.t() @ (states @ states.t())) * error.t()).sum(1).clamp_min(0).sqrt() * rate
            ids = (norms > self._shrinkage(self.base.shape.width)).nonzero().flatten()
            most = self.row_budget // self.base.shape.width
            found.append(ids if len(ids) <= most else norms.topk(most).indices)
        return torch.cat(found)

    def _shrinkage(self, size: int) -> float:
        return self.rate * self.strength * math.sqrt(size)

    def _shrunk(self, norm: float, size: int) -> float:
        return max(0.0, norm - self._shrinkage(size))

    def _size(self, name: str) -> int:
        return self.base.weights[name].numel()

    def _check_budget(self) -> None:
        hidden, rows = self.parameters
        assert hidden <= self.hidden_budget, f"{hidden} hidden parameters, the budget is {self.hidden_budget}"
        assert rows <= self.row_budget, f"{rows} parameters in word vectors, the budget is {self.row_budget}"

    def _laid_out(self, name: str, offset: Tensor) -> Tensor:
        """In memory as the base has it: the same numbers in another order add up to other last bits."""
        return torch.empty_like(self.base.weights[name]).copy_(offset)

    def _compose(self) -> Marian:
        """The base with the offsets in place: own memory for the tensors that have one, the rest shared."""
        rows = {name: self.rows_[self.base.weights.table(name)] for name in EMBEDDINGS}
        weights = self.base.weights.copy(self.hidden_.keys()).with_rows(rows)
        for name, offset in self.hidden_.items():
            weights[name].add_(offset)
        return self.base.with_weights(weights)


def _threshold(norms: Tensor, most: int) -> float:
    """What a norm must exceed so that at most so many do."""
    return 0.0 if len(norms) <= most else max(0.0, float(norms.topk(most + 1).values[-1]))
