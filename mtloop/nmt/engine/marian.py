"""The Transformer itself, written for one segment: two-dimensional tensors, no padding, no masks but the causal one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import torch
from torch import Tensor

from mtloop.core.errors import InputError
from mtloop.nmt.engine.dropout import Dropout, Thin, untouched
from mtloop.nmt.engine.gradients import Tape
from mtloop.nmt.engine.layers import ACTIVATIONS, Back, cross_attention, feed_forward, norm, self_attention
from mtloop.nmt.engine.vocabulary import Vocabulary, load_vocabularies
from mtloop.nmt.engine.weights import LOGITS_BIAS, OUTPUT, SOURCE, TARGET, Shape, Weights, load_weights

GAZE = 2  # layers of the decoder whose attention says which source word is being translated


@dataclass(frozen=True, eq=False)
class Encoded:
    """A source that was read: its ids, its states (length, width), and the way back into the encoder."""

    ids: tuple[int, ...]
    states: Tensor
    back: Callable[[Tensor, Tape], None]


@dataclass(frozen=True, eq=False)
class Decoded:
    """A target that was read against its source: the last state before each token, and the whole way back."""

    states: Tensor
    looks: list[Tensor]
    back: Callable[[Tensor, Tape], None]

    @property
    def attention(self) -> Tensor:
        """Where each position looked at the source: (length, source)."""
        return gaze(self.looks[-GAZE:])


def gaze(looks: Sequence[Tensor]) -> Tensor:
    """The attention of some layers' heads together: in the last ones it points at the word being translated."""
    return functools.reduce(torch.add, looks).sum(0).mul_(1 / (len(looks) * len(looks[0])))


@dataclass(frozen=True, eq=False)
class Marian:
    """A model: its shape, its two vocabularies and its tensors; with `dropout`, one that reads through noise."""

    shape: Shape
    source: Vocabulary
    target: Vocabulary
    weights: Weights
    folder: Path = Path()
    dropout: Dropout | None = None

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

    def with_dropout(self, rate: float, seed: int) -> Marian:
        """The same model with some of its numbers missing, the same ones for the same seed and the same reading."""
        return Marian(self.shape, self.source, self.target, self.weights, self.folder, Dropout.of(rate, seed))

    def encode(self, ids: list[int]) -> Encoded:
        """The source as the decoder sees it."""
        x, thin = self._thinned(self._embed(SOURCE, where := torch.tensor(ids)))
        backs = []
        for layer in range(self.shape.encoder_layers):
            x, back = self._encoder_layer(x, f"model.encoder.layers.{layer}")
            backs.append(back)

        def home(dx: Tensor, tape: Tape) -> None:
            for layer in reversed(range(self.shape.encoder_layers)):
                if not tape.reaches(*self._below("encoder", SOURCE, layer)):
                    return
                dx = backs[layer](dx, tape)
            self._embed_back(SOURCE, where, thin(dx), tape)

        return Encoded(tuple(ids), x, home)

    def decode(self, encoded: Encoded, ids: list[int]) -> Decoded:
        """The decoder on a given target."""
        x, thin = self._thinned(self._embed(TARGET, where := torch.tensor([self.shape.start, *ids[:-1]])))
        backs, looks = [], []
        for layer in range(self.shape.decoder_layers):
            x, shares, back = self._decoder_layer(x, encoded.states, f"model.decoder.layers.{layer}")
            backs.append(back)
            looks.append(shares)

        def home(dx: Tensor, tape: Tape) -> None:
            of_source, encoder = torch.zeros(()), tape.reaches("model.encoder.", self.weights.table(SOURCE))
            for layer in reversed(range(self.shape.decoder_layers)):
                if not (encoder or tape.reaches(*self._below("decoder", TARGET, layer))):
                    return
                dx, of_memory = backs[layer](dx, tape)
                of_source = of_source + of_memory
            self._embed_back(TARGET, where, thin(dx), tape)
            if encoder:
                encoded.back(of_source, tape)

        return Decoded(x, looks, home)

    def _below(self, side: str, table: str, layer: int) -> tuple[str, ...]:
        """What a gradient still has to reach at this layer."""
        return (self.weights.table(table), *(f"model.{side}.layers.{i}." for i in range(layer + 1)))

    def _encoder_layer(self, x: Tensor, prefix: str) -> tuple[Tensor, Back]:
        weights, shape = self.weights, self.shape
        y, of_attention = self_attention(x, weights, f"{prefix}.self_attn", shape.heads, causal=False)
        y, thin_attention = self._thinned(y)
        x, of_norm = norm(y.add_(x), weights, f"{prefix}.self_attn_layer_norm")
        y, of_inner = feed_forward(x, weights, prefix, shape.activation)
        y, thin_inner = self._thinned(y)
        x, of_last = norm(y.add_(x), weights, f"{prefix}.final_layer_norm")

        def back(dx: Tensor, tape: Tape) -> Tensor:
            dx = of_last(dx, tape)
            dx = of_norm(of_inner(thin_inner(dx), tape).add_(dx), tape)
            return of_attention(thin_attention(dx), tape).add_(dx)

        return x, back

    def _decoder_layer(
        self, x: Tensor, memory: Tensor, prefix: str
    ) -> tuple[Tensor, Tensor, Callable[[Tensor, Tape], tuple[Tensor, Tensor]]]:
        weights, shape = self.weights, self.shape
        y, of_attention = self_attention(x, weights, f"{prefix}.self_attn", shape.heads, causal=True)
        y, thin_attention = self._thinned(y)
        x, of_norm = norm(y.add_(x), weights, f"{prefix}.self_attn_layer_norm")
        y, shares, of_cross = cross_attention(x, memory, weights, f"{prefix}.encoder_attn", shape.heads)
        y, thin_cross = self._thinned(y)
        x, of_second = norm(y.add_(x), weights, f"{prefix}.encoder_attn_layer_norm")
        y, of_inner = feed_forward(x, weights, prefix, shape.activation)
        y, thin_inner = self._thinned(y)
        x, of_last = norm(y.add_(x), weights, f"{prefix}.final_layer_norm")

        def back(dx: Tensor, tape: Tape) -> tuple[Tensor, Tensor]:
            dx = of_last(dx, tape)
            dx = of_second(of_inner(thin_inner(dx), tape).add_(dx), tape)
            through, of_memory = of_cross(thin_cross(dx), tape)
            dx = of_norm(through.add_(dx), tape)
            return of_attention(thin_attention(dx), tape).add_(dx), of_memory

        return x, shares, back

    def _thinned(self, y: Tensor) -> tuple[Tensor, Thin]:
        """What is left after dropout, and the same for a gradient on its way back."""
        return (y, untouched) if self.dropout is None else self.dropout(y)

    def logits(self, states: Tensor, extra_bias: Tensor | None = None) -> Tensor:
        weights, bias = self.weights, self.weights[LOGITS_BIAS]
        logits = torch.addmm(bias if extra_bias is None else bias + extra_bias, states, weights[OUTPUT].t())
        logits = weights.through(logits, states, weights.table(OUTPUT))
        return weights.rows[OUTPUT].add_logits(logits, states) if OUTPUT in weights.rows else logits

    def logits_gradient(self, error: Tensor) -> Tensor:
        """From the gradient by the logits to that by the states."""
        weights = self.weights
        gradient = weights.back(error @ weights[OUTPUT], error, weights.table(OUTPUT))
        rows = weights.rows.get(OUTPUT)
        return gradient if rows is None or not len(rows) else gradient.addmm_(error[:, rows.ids], rows.values)

    def rows(self, name: str, ids: Tensor) -> Tensor:
        """Rows of an embedding, with what a user's model adds to them."""
        weights = self.weights
        rows = weights[name][ids]
        if (table := weights.table(name)) in weights.pending:  # only where it is the output matrix too
            left, right = weights.pending[table]
            rows = rows - left[:, ids].t() @ right
        return rows + weights.rows[name].gather(ids) if name in weights.rows else rows

    @cached_property
    def positions(self) -> Tensor:
        return _sinusoids(self.shape.positions, self.shape.width)

    def _embed(self, name: str, ids: Tensor) -> Tensor:
        return self.rows(name, ids) * self.shape.scale + self.positions[: len(ids)]

    def _embed_back(self, name: str, ids: Tensor, dx: Tensor, tape: Tape) -> None:
        tape.rows(self.weights.table(name), ids, dx * self.shape.scale, self.shape.padding)


@lru_cache(maxsize=4)
def _sinusoids(positions: int, width: int) -> Tensor:
    """Marian's positions: sines in the first half of the vector, cosines in the second."""
    steps = torch.arange(0, width, 2, dtype=torch.float64)
    angles = torch.arange(positions, dtype=torch.float64)[:, None] / torch.pow(10000.0, steps / width)
    return torch.cat([angles.sin(), angles.cos()], dim=1).float()
