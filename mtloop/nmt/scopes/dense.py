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
from mtloop.nmt.scopes.scope import Clip, step_size


@dataclass
class Dense:
    """Whole tensors move; each gets its own memory at the first update. Of input embeddings only the rows met do.

    Updates of matrices stay thin products until the lesson is over, so that one pass over the weights does for all of
    them and a lesson that goes wrong never touches them; vectors and rows are small enough to keep a copy of.
    """

    base: Marian
    names: frozenset[str]
    rate: float = 1e-2
    clip: Clip = "clip"
    extra_bias: Tensor | None = None
    _own: Marian | None = None
    _touched: dict[str, set[int]] = field(default_factory=dict)
    _before: list[tuple[Tensor, Tensor | None, Tensor]] = field(default_factory=list)

    @property
    def model(self) -> Marian:
        return self._own or self.base

    @torch.no_grad()
    def update(self, lesson: Lesson) -> None:
        gradients = lesson.gradients()
        rate = self.rate * lesson.pace
        rates = {name: step_size(gradient.norm(), rate, self.clip) for name, gradient in gradients.items()}
        weights = self._weights()
        for block in dict.fromkeys(map(weights.block_of, gradients)):
            self._postpone(block, gradients, rates)
        for name, gradient in gradients.items():
            self._move_small(name, gradient, rates[name])

    def wishes(self, lesson: Lesson) -> dict[str, Gradient]:
        return lesson.gradients()

    @torch.no_grad()
    def move(self, steps: Mapping[str, Gradient]) -> None:
        for name, step in steps.items():
            step.subtract(self._weights()[name], 1.0)
            self._note(name, step)

    def settle(self) -> None:
        self.model.weights.settle()
        self._before.clear()

    def rollback(self) -> None:
        self.model.weights.pending.clear()
        for tensor, rows, values in reversed(self._before):
            tensor[slice(None) if rows is None else rows] = values
        self._before.clear()

    def _postpone(self, block: str, gradients: Mapping[str, Gradient], rates: Mapping[str, float]) -> None:
        """One thin product for a block: each member's error at its own rate, on the inputs they share."""
        members = self._weights().members(block)
        moving = [gradients[name] for name, _, _ in members if name in gradients and gradients[name].products]
        if not moving:
            return
        (error, inputs) = moving[0].products[0]
        zeros = error.new_zeros(len(error), 1)
        parts = [
            gradients[name].products[0][0] * rates[name] if name in gradients else zeros.expand(-1, stop - start)
            for name, start, stop in members
        ]
        self._weights().postpone(block, torch.cat(parts, dim=1) if len(parts) > 1 else parts[0], inputs)

    def _move_small(self, name: str, gradient: Gradient, rate: float) -> None:
        tensor = self._weights()[name]
        if gradient.dense is not None:
            self._before.append((tensor, None, tensor.clone()))
            tensor.sub_(gradient.dense, alpha=rate)
        for ids, values in gradient.rows:
            self._before.append((tensor, ids, tensor[ids]))
            tensor.index_add_(0, ids, values, alpha=-rate)
        self._note(name, gradient)

    def tensors(self) -> dict[str, Tensor]:
        weights = self.model.weights
        found: dict[str, Tensor] = {}
        tables = {weights.table(name) for name in EMBEDDINGS}
        for name in sorted(self.names) if self._own else ():
            if name in EMBEDDINGS and name not in tables:
                continue  # tied to one that is saved
            if name not in self._touched:
                found[f"dense/{name}"] = weights[name]
            elif self._touched[name]:
                found |= rows_of(name, weights[name], sorted(self._touched[name]))
        return found

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        self._check_names(tensors)
        self._own, self._touched = None, self._untouched()
        for name, values in tensors.items():
            kind, _, rest = name.partition("/")
            if kind == "dense":
                self._weights()[rest].copy_(values)
            elif kind == "rows" and rest.endswith("/ids"):
                table = rest.removesuffix("/ids")
                self._touched[table] = set(values.tolist())
                self._weights()[table][values] = tensors[f"rows/{table}/values"]

    def __post_init__(self) -> None:
        self._touched = self._untouched()

    def _check_names(self, tensors: Mapping[str, Tensor]) -> None:
        """What this scope does not own is the shared base's, and must not be written to."""
        learned = {name.partition("/")[2].removesuffix("/ids").removesuffix("/values") for name in tensors}
        if foreign := sorted(learned - self.names):
            raise InputError(f"this delta holds {foreign[0]!r}, which does not learn here; was another choice made?")

    def _untouched(self) -> dict[str, set[int]]:
        """Input embeddings change row by row, unless they are the output matrix too."""
        output = self.base.weights.table(OUTPUT)
        return {name: set() for name in (SOURCE, TARGET) if name in self.names and name != output}

    def _weights(self) -> Weights:
        if self._own is None:
            self._own = self.base.with_weights(self.base.weights.copy(self.names))
        return self._own.weights

    def _note(self, name: str, gradient: Gradient) -> None:
        if name in self._touched:
            for ids, _ in gradient.rows:
                self._touched[name].update(ids.tolist())


def rows_of(name: str, table: Tensor, ids: Iterable[int]) -> dict[str, Tensor]:
    """Some rows of a table, as a delta holds them."""
    where = torch.tensor(list(ids))
    return {f"rows/{name}/ids": where, f"rows/{name}/values": table[where]}


def all_names(weights: Collection[str]) -> frozenset[str]:
    """Every parameter; the base's own output bias is none in Marian models."""
    return frozenset(name for name in weights if name != LOGITS_BIAS)


def top_names(model: Marian) -> frozenset[str]:
    """The topmost layer of encoder and decoder."""
    shape = model.shape
    tops = (f"model.encoder.layers.{shape.encoder_layers - 1}.", f"model.decoder.layers.{shape.decoder_layers - 1}.")
    return frozenset(name for name in model.weights if name.startswith(tops))


def hidden_names(weights: Collection[str]) -> frozenset[str]:
    """Every parameter outside the embeddings and the output matrix."""
    return all_names(weights) - set(EMBEDDINGS)
