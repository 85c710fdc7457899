"""The Transformer, written for one segment: two-dimensional tensors, no padding, and no mask except the causal one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import torch
from torch import Tensor

from mtloop.core.errors import InputError
from mtloop.nmt.engine.dropout import Dropout, MaskFunction, identity
from mtloop.nmt.engine.gradients import GradientCollector
from mtloop.nmt.engine.layers import ACTIVATIONS, Backward, cross_attention, feed_forward, norm, self_attention
from mtloop.nmt.engine.model_checks import check_shape, check_weights
from mtloop.nmt.engine.precision import Precision, fastest_precision
from mtloop.nmt.engine.vocabulary import Vocabulary, load_vocabularies
from mtloop.nmt.engine.weights import LOGITS_BIAS, OUTPUT, SOURCE, TARGET, Shape, Weights, load_weights

ATTENTION_LAYERS = 2  # the last decoder layers, whose attention indicates the source word being translated


@dataclass(frozen=True, eq=False)
class Encoded:
    """An encoded source: its ids, its encoder states (length, width), and the backward pass of the encoder."""

    ids: tuple[int, ...]
    states: Tensor
    backward: Callable[[Tensor, GradientCollector], None]


@dataclass(frozen=True, eq=False)
class Decoded:
    """A target read with its source: the last decoder state before each token, and the backward pass of the model.

    `layer_attention` holds the cross-attention weights of each decoder layer: (heads, length, source length).
    """

    states: Tensor
    layer_attention: list[Tensor]
    backward: Callable[[Tensor, GradientCollector], None]

    @property
    def attention(self) -> Tensor:
        """The cross-attention weights, averaged over the last layers: (length, source length)."""
        return mean_attention(self.layer_attention[-ATTENTION_LAYERS:])


def mean_attention(layers: Sequence[Tensor]) -> Tensor:
    """Return the mean of the attention weights over all heads of some layers."""
    return functools.reduce(torch.add, layers).sum(0).mul_(1 / (len(layers) * len(layers[0])))


@dataclass(frozen=True, eq=False)
class Marian:
    """A model: its shape, its two vocabularies and its tensors; `dropout` applies to training passes (None: off)."""

    shape: Shape
    source: Vocabulary
    target: Vocabulary
    weights: Weights
    folder: Path = Path()
    dropout: Dropout | None = None

    @classmethod
    def load(cls, folder: str | Path) -> Marian:
        """Read a model folder in Hugging Face's format."""
        folder = Path(folder)
        if not folder.is_dir():
            raise InputError("no such model folder", path=folder)
        shape = Shape.read(folder)
        check_shape(shape, folder / "config.json")
        if not isinstance(shape.activation, str) or shape.activation not in ACTIVATIONS:
            raise InputError(f"unknown activation {shape.activation!r:.40}", path=folder / "config.json")
        source, target = load_vocabularies(folder)
        weights = load_weights(folder)
        check_weights(shape, weights, (source.largest_id, target.largest_id), folder)
        return cls(shape, source, target, weights, folder)

    @property
    def fingerprint(self) -> str:
        return self.weights.fingerprint

    def with_weights(self, weights: Weights) -> Marian:
        return Marian(self.shape, self.source, self.target, weights, self.folder)

    def with_precision(self, precision: Precision) -> Marian:
        """Return the same model with frozen matrices in this precision."""
        chosen = fastest_precision() if precision == "auto" else precision
        if chosen == "float32":
            return self
        return self.with_weights(self.weights.in_int8 if chosen == "int8" else self.weights.in_bfloat16)

    def with_dropout(self, rate: float, seed: int) -> Marian:
        """Return the same model with dropout; the same seed and the same sequence of passes give the same masks."""
        return Marian(self.shape, self.source, self.target, self.weights, self.folder, Dropout.seeded(rate, seed))

    def encode(self, ids: list[int]) -> Encoded:
        """Run the encoder on a source."""
        x, apply_mask = self._with_dropout(self._embed(SOURCE, where := torch.tensor(ids)))
        layers = []
        for layer in range(self.shape.encoder_layers):
            x, layer_backward = self._encoder_layer(x, f"model.encoder.layers.{layer}")
            layers.append(layer_backward)

        def backward(dx: Tensor, collector: GradientCollector) -> None:
            for layer in reversed(range(self.shape.encoder_layers)):
                if not collector.covers(*self._prefixes_up_to("encoder", SOURCE, layer)):
                    return
                dx = layers[layer](dx, collector)
            self._embed_backward(SOURCE, where, apply_mask(dx), collector)

        return Encoded(tuple(ids), x, backward)

    def decode(self, encoded: Encoded, ids: list[int]) -> Decoded:
        """Run the decoder on a given target (teacher forcing)."""
        x, apply_mask = self._with_dropout(self._embed(TARGET, where := torch.tensor([self.shape.start, *ids[:-1]])))
        layers, layer_attention = [], []
        for layer in range(self.shape.decoder_layers):
            x, attention, layer_backward = self._decoder_layer(x, encoded.states, f"model.decoder.layers.{layer}")
            layers.append(layer_backward)
            layer_attention.append(attention)

        def backward(dx: Tensor, collector: GradientCollector) -> None:
            d_source = torch.zeros(())
            encoder_learns = collector.covers("model.encoder.", self.weights.canonical_name(SOURCE))
            for layer in reversed(range(self.shape.decoder_layers)):
                if not (encoder_learns or collector.covers(*self._prefixes_up_to("decoder", TARGET, layer))):
                    return
                dx, d_layer_source = layers[layer](dx, collector)
                d_source = d_source + d_layer_source
            self._embed_backward(TARGET, where, apply_mask(dx), collector)
            if encoder_learns:
                encoded.backward(d_source, collector)

        return Decoded(x, layer_attention, backward)

    def _prefixes_up_to(self, side: str, table: str, layer: int) -> tuple[str, ...]:
        """Return the name prefixes of all tensors from the embeddings up to this layer."""
        return (self.weights.canonical_name(table), *(f"model.{side}.layers.{i}." for i in range(layer + 1)))

    def _encoder_layer(self, x: Tensor, prefix: str) -> tuple[Tensor, Backward]:
        weights, shape = self.weights, self.shape
        y, attention_backward = self_attention(x, weights, f"{prefix}.self_attn", shape.heads, causal=False)
        y, mask_attention = self._with_dropout(y)
        x, first_norm_backward = norm(y.add_(x), weights, f"{prefix}.self_attn_layer_norm")
        y, inner_backward = feed_forward(x, weights, prefix, shape.activation)
        y, mask_inner = self._with_dropout(y)
        x, last_norm_backward = norm(y.add_(x), weights, f"{prefix}.final_layer_norm")

        def backward(dx: Tensor, collector: GradientCollector) -> Tensor:
            dx = last_norm_backward(dx, collector)
            dx = first_norm_backward(inner_backward(mask_inner(dx), collector).add_(dx), collector)
            return attention_backward(mask_attention(dx), collector).add_(dx)

        return x, backward

    def _decoder_layer(
        self, x: Tensor, encoder_states: Tensor, prefix: str
    ) -> tuple[Tensor, Tensor, Callable[[Tensor, GradientCollector], tuple[Tensor, Tensor]]]:
        weights, shape = self.weights, self.shape
        y, attention_backward = self_attention(x, weights, f"{prefix}.self_attn", shape.heads, causal=True)
        y, mask_attention = self._with_dropout(y)
        x, first_norm_backward = norm(y.add_(x), weights, f"{prefix}.self_attn_layer_norm")
        y, attention, cross_backward = cross_attention(
            x, encoder_states, weights, f"{prefix}.encoder_attn", shape.heads
        )
        y, mask_cross = self._with_dropout(y)
        x, second_norm_backward = norm(y.add_(x), weights, f"{prefix}.encoder_attn_layer_norm")
        y, inner_backward = feed_forward(x, weights, prefix, shape.activation)
        y, mask_inner = self._with_dropout(y)
        x, last_norm_backward = norm(y.add_(x), weights, f"{prefix}.final_layer_norm")

        def backward(dx: Tensor, collector: GradientCollector) -> tuple[Tensor, Tensor]:
            dx = last_norm_backward(dx, collector)
            dx = second_norm_backward(inner_backward(mask_inner(dx), collector).add_(dx), collector)
            d_query, d_source = cross_backward(mask_cross(dx), collector)
            dx = first_norm_backward(d_query.add_(dx), collector)
            return attention_backward(mask_attention(dx), collector).add_(dx), d_source

        return x, attention, backward

    def _with_dropout(self, y: Tensor) -> tuple[Tensor, MaskFunction]:
        """Return the tensor after dropout, and the function that applies the same mask in the backward pass."""
        return (y, identity) if self.dropout is None else self.dropout(y)

    def logits(self, states: Tensor, extra_bias: Tensor | None = None) -> Tensor:
        bias = self.output_bias(extra_bias)
        return self._with_offsets(torch.addmm(bias, states, self.weights[OUTPUT].t()), states)

    def read_logits(self, states: Tensor, extra_bias: Tensor | None = None) -> Tensor:
        """Return the logits of a given target, in the precision of reading: no token is chosen by them."""
        logits = self.weights.multiply(self.output_bias(extra_bias), states, self._output)
        return self.weights.rows[OUTPUT].add_logits(logits, states) if OUTPUT in self.weights.rows else logits

    @property
    def _output(self) -> str:
        return self.weights.canonical_name(OUTPUT)

    def output_bias(self, extra_bias: Tensor | None) -> Tensor:
        bias = self.weights[LOGITS_BIAS]
        return bias if extra_bias is None else bias + extra_bias

    def _with_offsets(self, logits: Tensor, states: Tensor) -> Tensor:
        """Add what is not in the output matrix yet: pending updates, and a user's own rows."""
        weights = self.weights
        logits = weights.correct_output(logits, states, weights.canonical_name(OUTPUT))
        return weights.rows[OUTPUT].add_logits(logits, states) if OUTPUT in weights.rows else logits

    def best_token(self, states: Tensor, bias: Tensor) -> int:
        """Return the most probable token after one state; `bias` is the whole output bias."""
        screen = self.weights.output_screen()
        best = None if screen is None else screen.best(states[0], bias)
        if best is None:
            logits = torch.addmm(bias, states, self.weights[OUTPUT].t())
            best = int(self._with_offsets(logits, states)[0].numpy().argmax())
        return best

    def states_gradient(self, error: Tensor) -> Tensor:
        """Return the gradient with respect to the decoder states, from that with respect to the logits."""
        weights = self.weights
        gradient = weights.multiply_back(error, self._output)
        rows = weights.rows.get(OUTPUT)
        return gradient if rows is None or not len(rows) else gradient.addmm_(error[:, rows.ids], rows.values)

    def embedding_rows(self, name: str, ids: Tensor) -> Tensor:
        """Return rows of an embedding table, with pending updates and a user's offsets added."""
        weights = self.weights
        rows = weights[name][ids]
        if (table := weights.canonical_name(name)) in weights.pending:  # only if it is tied to the output matrix
            left, right = weights.pending[table]
            rows = rows - left[:, ids].t() @ right
        return rows + weights.rows[name].gather(ids) if name in weights.rows else rows

    @cached_property
    def positions(self) -> Tensor:
        return _sinusoids(self.shape.positions, self.shape.width)

    def _embed(self, name: str, ids: Tensor) -> Tensor:
        return self.embedding_rows(name, ids) * self.shape.scale + self.positions[: len(ids)]

    def _embed_backward(self, name: str, ids: Tensor, dx: Tensor, collector: GradientCollector) -> None:
        collector.add_rows(self.weights.canonical_name(name), ids, dx * self.shape.scale, self.shape.padding)


@lru_cache(maxsize=4)
def _sinusoids(positions: int, width: int) -> Tensor:
    """Return Marian's position embeddings: sines in the first half of the vector, cosines in the second."""
    steps = torch.arange(0, width, 2, dtype=torch.float64)
    angles = torch.arange(positions, dtype=torch.float64)[:, None] / torch.pow(10000.0, steps / width)
    return torch.cat([angles.sin(), angles.cos()], dim=1).float()
