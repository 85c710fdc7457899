"""The Transformer itself, written for one segment: two-dimensional tensors, no padding, no masks but the causal one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F

from mtloop.core.errors import InputError
from mtloop.translators.marian.tape import Tape, linear
from mtloop.translators.marian.vocabulary import Vocabulary, load_vocabularies
from mtloop.translators.marian.weights import LOGITS_BIAS, OUTPUT, SOURCE, TARGET, Shape, Weights, load_weights

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "swish": F.silu,
    "silu": F.silu,
    "relu": F.relu,
    "gelu": F.gelu,
}


@dataclass(frozen=True, eq=False)
class Marian:
    """A model: its shape, its two vocabularies and its tensors."""

    shape: Shape
    source: Vocabulary
    target: Vocabulary
    weights: Weights
    folder: Path = Path()

    @classmethod
    def load(cls, folder: str | Path) -> Marian:
        """Read a model folder as Hugging Face writes it."""
        folder = Path(folder)
        if not folder.is_dir():
            raise InputError("no such model folder", path=folder)
        shape = Shape.read(folder)
        if shape.activation not in ACTIVATIONS:
            raise InputError(f"unknown activation {shape.activation!r}", path=folder / "config.json")
        source, target = load_vocabularies(folder)
        return cls(shape, source, target, load_weights(folder), folder)

    @property
    def fingerprint(self) -> str:
        return self.weights.fingerprint

    def with_weights(self, weights: Weights) -> Marian:
        return Marian(self.shape, self.source, self.target, weights, self.folder)

    def encode(self, ids: list[int], tape: Tape | None = None) -> Tensor:
        """The source as the decoder sees it: (length, width)."""
        x = self._embed(SOURCE, torch.tensor(ids), tape)
        for layer in range(self.shape.encoder_layers):
            prefix = f"model.encoder.layers.{layer}"
            x = self._norm(
                x + self._self_attention(x, prefix, tape, causal=False), f"{prefix}.self_attn_layer_norm", tape
            )
            x = self._norm(x + self._feed_forward(x, prefix, tape), f"{prefix}.final_layer_norm", tape)
        return x

    def decode(self, memory: Tensor, ids: list[int], tape: Tape | None = None) -> Tensor:
        """The decoder's last states before each of `ids` is predicted: (length, width)."""
        x = self._embed(TARGET, torch.tensor([self.shape.start, *ids[:-1]]), tape)
        for layer in range(self.shape.decoder_layers):
            prefix = f"model.decoder.layers.{layer}"
            x = self._norm(
                x + self._self_attention(x, prefix, tape, causal=True), f"{prefix}.self_attn_layer_norm", tape
            )
            x = self._norm(
                x + self._cross_attention(x, memory, prefix, tape), f"{prefix}.encoder_attn_layer_norm", tape
            )
            x = self._norm(x + self._feed_forward(x, prefix, tape), f"{prefix}.final_layer_norm", tape)
        return x

    def logits(self, states: Tensor, extra_bias: Tensor | None = None) -> Tensor:
        weights, bias = self.weights, self.weights[LOGITS_BIAS]
        logits = torch.addmm(bias if extra_bias is None else bias + extra_bias, states, weights[OUTPUT].t())
        if (table := weights.table(OUTPUT)) in weights.pending:
            logits -= weights.through(states, table)
        return weights.rows[OUTPUT].add_logits(logits, states) if OUTPUT in weights.rows else logits

    def logits_gradient(self, error: Tensor) -> Tensor:
        """From the gradient by the logits to that by the states."""
        weights = self.weights
        gradient = error @ weights[OUTPUT]
        if (table := weights.table(OUTPUT)) in weights.pending:
            gradient -= weights.back(error, table)
        rows = weights.rows.get(OUTPUT)
        return gradient if rows is None or not len(rows) else gradient.addmm_(error[:, rows.ids], rows.values)

    def rows(self, name: str, ids: Tensor) -> Tensor:
        """Rows of an embedding, with what a user's model adds to them."""
        weights = self.weights
        rows = weights[name][ids]
        for left, right in weights.pending.get(weights.table(name), ()):  # only where it is the output matrix too
            rows = rows - left[:, ids].t() @ right
        return rows + weights.rows[name].gather(ids) if name in weights.rows else rows

    @cached_property
    def positions(self) -> Tensor:
        return _sinusoids(self.shape.positions, self.shape.width)

    def _embed(self, name: str, ids: Tensor, tape: Tape | None) -> Tensor:
        rows = self.rows(name, ids)
        if tape:
            rows = tape.watch(self.weights.table(name), rows, ids, self.shape.padding)
        return rows * self.shape.scale + self.positions[: len(ids)]

    def _self_attention(self, x: Tensor, layer: str, tape: Tape | None, causal: bool) -> Tensor:
        prefix = f"{layer}.self_attn"
        query, key, value = linear(x, self.weights, f"{prefix}.fused", tape).chunk(3, dim=1)
        return linear(self._attend(query, key, value, causal), self.weights, f"{prefix}.out_proj", tape)

    def _cross_attention(self, x: Tensor, memory: Tensor, layer: str, tape: Tape | None) -> Tensor:
        prefix = f"{layer}.encoder_attn"
        query = linear(x, self.weights, f"{prefix}.q_proj", tape)
        key, value = linear(memory, self.weights, f"{prefix}.fused", tape).chunk(2, dim=1)
        return linear(self._attend(query, key, value, causal=False), self.weights, f"{prefix}.out_proj", tape)

    def _attend(self, query: Tensor, key: Tensor, value: Tensor, causal: bool) -> Tensor:
        queries, keys, values = (self.split(part).unsqueeze(0) for part in (query, key, value))
        mixed = F.scaled_dot_product_attention(queries, keys, values, is_causal=causal)
        return mixed.squeeze(0).transpose(0, 1).reshape(len(query), -1)

    def split(self, x: Tensor) -> Tensor:
        """(length, width) to (heads, length, width of a head)."""
        return x.view(len(x), self.shape.heads, -1).transpose(0, 1)

    def _feed_forward(self, x: Tensor, layer: str, tape: Tape | None) -> Tensor:
        inner = ACTIVATIONS[self.shape.activation](linear(x, self.weights, f"{layer}.fc1", tape))
        return linear(inner, self.weights, f"{layer}.fc2", tape)

    def _norm(self, x: Tensor, name: str, tape: Tape | None) -> Tensor:
        scale, shift = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        if tape:
            scale, shift = tape.leaf(f"{name}.weight", scale), tape.leaf(f"{name}.bias", shift)
        return F.layer_norm(x, (x.shape[-1],), scale, shift)


@lru_cache(maxsize=4)
def _sinusoids(positions: int, width: int) -> Tensor:
    """Marian's positions: sines in the first half of the vector, cosines in the second."""
    steps = torch.arange(0, width, 2, dtype=torch.float64)
    angles = torch.arange(positions, dtype=torch.float64)[:, None] / torch.pow(10000.0, steps / width)
    return torch.cat([angles.sin(), angles.cos()], dim=1).float()
