"""Whole tensors learn: all of them, those of the top layers, or a list."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from mtloop.core.errors import InputError
from mtloop.nmt.engine.gradients import Gradient
from mtloop.nmt.engine.lesson import Lesson
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.weights import EMBEDDINGS, LOGITS_BIAS, OUTPUT, SOURCE, TARGET, Weights
from mtloop.nmt.scopes.scope import GradientClipping, step_size


@dataclass
class Dense:
    """Whole tensors learn; they are copied at the first update. Of input embeddings only the rows that occur change.

    Updates of matrices stay low-rank products until commit. So one pass over the weights applies all of them, and a
    rejected lesson never changes the weights. Vectors and rows are small: they change at once, and a copy is kept.
    """

    base: Marian
    names: frozenset[str]
    learning_rate: float = 1e-2
    gradient_clipping: GradientClipping = "clip"
    extra_bias: Tensor | None = None
    _copy: Marian | None = None
    _changed_rows: dict[str, set[int]] = field(default_factory=dict)
    _before: list[tuple[Tensor, Tensor | None, Tensor]] = field(default_factory=list)

    @property
    def model(self) -> Marian:
        return self._copy or self.base

    @torch.no_grad()
    def update(self, lesson: Lesson) -> None:
        gradients = lesson.gradients()
        scaled = self.learning_rate * lesson.learning_rate_scale
        rates = {
            name: step_size(gradient.norm(), scaled, self.gradient_clipping) for name, gradient in gradients.items()
        }
        weights = self._weights()
        for block in dict.fromkeys(map(weights.block_of, gradients)):
            self._add_pending(block, gradients, rates)
        for name, gradient in gradients.items():
            self._update_small(name, gradient, rates[name])

    def gradients(self, lesson: Lesson) -> dict[str, Gradient]:
        return lesson.gradients()

    @torch.no_grad()
    def apply_steps(self, steps: Mapping[str, Gradient]) -> None:
        for name, step in steps.items():
            step.subtract_from(self._weights()[name], 1.0)
            self._record_rows(name, step)

    def commit(self) -> None:
        self.model.weights.apply_pending()
        self._before.clear()

    def rollback(self) -> None:
        self.model.weights.pending.clear()
        for tensor, rows, values in reversed(self._before):
            tensor[slice(None) if rows is None else rows] = values
        self._before.clear()

    def _add_pending(self, block: str, gradients: Mapping[str, Gradient], rates: Mapping[str, float]) -> None:
        """Add one low-rank product for a block: each member's error times its step size, on their common input."""
        members = self._weights().members(block)
        learning = [gradients[name] for name, _, _ in members if name in gradients and gradients[name].products]
        if not learning:
            return
        (error, inputs) = learning[0].products[0]
        zeros = error.new_zeros(len(error), 1)
        parts = [
            gradients[name].products[0][0] * rates[name] if name in gradients else zeros.expand(-1, stop - start)
            for name, start, stop in members
        ]
        self._weights().add_pending(block, torch.cat(parts, dim=1) if len(parts) > 1 else parts[0], inputs)

    def _update_small(self, name: str, gradient: Gradient, rate: float) -> None:
        """Update a vector, or rows of a table, in place; keep the old values for a rollback."""
        tensor = self._weights()[name]
        if gradient.dense is not None:
            self._before.append((tensor, None, tensor.clone()))
            tensor.sub_(gradient.dense, alpha=rate)
        for ids, values in gradient.rows:
            self._before.append((tensor, ids, tensor[ids]))
            tensor.index_add_(0, ids, values, alpha=-rate)
        self._record_rows(name, gradient)

    def tensors(self) -> dict[str, Tensor]:
        weights = self.model.weights
        found: dict[str, Tensor] = {}
        tables = {weights.canonical_name(name) for name in EMBEDDINGS}
        for name in sorted(self.names) if self._copy else ():
            if name in EMBEDDINGS and name not in tables:
                continue  # tied to a table that is saved
            if name not in self._changed_rows:
                found[f"dense/{name}"] = weights[name]
            elif self._changed_rows[name]:
                found |= rows_of(name, weights[name], sorted(self._changed_rows[name]))
        return found

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        self._check_names(tensors)
        self._copy, self._changed_rows = None, self._no_changed_rows()
        for name, values in tensors.items():
            kind, _, rest = name.partition("/")
            if kind == "dense":
                self._weights()[rest].copy_(values)
            elif kind == "rows" and rest.endswith("/ids"):
                table = rest.removesuffix("/ids")
                self._changed_rows[table] = set(values.tolist())
                self._weights()[table][values] = tensors[f"rows/{table}/values"]

    def __post_init__(self) -> None:
        self._changed_rows = self._no_changed_rows()

    def _check_names(self, tensors: Mapping[str, Tensor]) -> None:
        """Raise InputError for a tensor outside the scope: it belongs to the shared base, which is never written to."""
        learned = {name.partition("/")[2].removesuffix("/ids").removesuffix("/values") for name in tensors}
        if foreign := sorted(learned - self.names):
            raise InputError(
                f"this delta holds tensor {foreign[0]!r}, which does not learn here; "
                "it was learned with another choice of tensors"
            )

    def _no_changed_rows(self) -> dict[str, set[int]]:
        """Return an empty set for each table that changes by rows: the input embeddings, unless tied to the output."""
        output = self.base.weights.canonical_name(OUTPUT)
        return {name: set() for name in (SOURCE, TARGET) if name in self.names and name != output}

    def _weights(self) -> Weights:
        if self._copy is None:
            self._copy = self.base.with_weights(self.base.weights.copy(self.names))
        return self._copy.weights

    def _record_rows(self, name: str, gradient: Gradient) -> None:
        if name in self._changed_rows:
            for ids, _ in gradient.rows:
                self._changed_rows[name].update(ids.tolist())


def rows_of(name: str, table: Tensor, ids: Iterable[int]) -> dict[str, Tensor]:
    """Return some rows of a table, in the format of a delta."""
    where = torch.tensor(list(ids))
    return {f"rows/{name}/ids": where, f"rows/{name}/values": table[where]}


def all_names(weights: Collection[str]) -> frozenset[str]:
    """Return the names of all parameters. The output bias of the base is excluded: Marian models do not train it."""
    return frozenset(name for name in weights if name != LOGITS_BIAS)


def top_names(model: Marian) -> frozenset[str]:
    """Return the names of the parameters in the topmost layer of the encoder and of the decoder."""
    shape = model.shape
    tops = (f"model.encoder.layers.{shape.encoder_layers - 1}.", f"model.decoder.layers.{shape.decoder_layers - 1}.")
    return frozenset(name for name in model.weights if name.startswith(tops))


def hidden_names(weights: Collection[str]) -> frozenset[str]:
    """Return the names of all parameters except the embeddings and the output matrix."""
    return all_names(weights) - set(EMBEDDINGS)
