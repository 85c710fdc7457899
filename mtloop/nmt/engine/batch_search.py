"""Greedy search for many sources at once: the tokens of `greedy` one by one, up to rounding.

One decoder step of one source is a product of vectors with matrices, and most of its time is spent on reading the
matrices. Here the sources of a batch share each reading. Sources are padded to the longest of their batch, and rows
that are finished are removed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn import functional as F

from mtloop.nmt.engine.layers import ACTIVATIONS
from mtloop.nmt.engine.marian import ATTENTION_LAYERS, Marian
from mtloop.nmt.engine.search import INITIAL_CAPACITY, Affine, LengthLimits, LogitsProcessor, SearchState, decoding
from mtloop.nmt.engine.weights import SOURCE, TARGET, Weights

MAX_OPEN_SHARE = 0.9  # rows are removed when at most this share of them is open: removing copies the rest


@dataclass(frozen=True)
class Norm:
    """The two tensors of a layer normalisation."""

    scale: Tensor
    shift: Tensor

    @classmethod
    def of(cls, weights: Weights, prefix: str) -> Norm:
        return cls(weights[f"{prefix}_layer_norm.weight"], weights[f"{prefix}_layer_norm.bias"])

    def __call__(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, self.scale.shape, self.scale, self.shift)


class FeedForward:
    """The last part of a layer: two linear layers, the residual connection and the normalisation."""

    def __init__(
        self,
        model: Marian,
        prefix: str,
        layer: Callable[[Weights, str], Callable[[Tensor], Tensor]] = Affine.of,
    ) -> None:
        self.fc1, self.fc2 = (layer(model.weights, f"{prefix}.{part}") for part in ("fc1", "fc2"))
        self.norm, self.activation = Norm.of(model.weights, f"{prefix}.final"), ACTIVATIONS[model.shape.activation]

    def __call__(self, x: Tensor) -> Tensor:
        return self.norm(x + self.fc2(self.activation(self.fc1(x))))


@dataclass(frozen=True, eq=False)
class EncodedBatch:
    """Encoded sources, padded to the longest one.

    `states` are the encoder states (sources, length, width). `mask` is minus infinity at the padding and 0 elsewhere:
    (sources, 1, 1, length).
    """

    sources: Sequence[Sequence[int]]
    states: Tensor
    mask: Tensor


@torch.no_grad()
def encode_batch(model: Marian, sources: Sequence[Sequence[int]]) -> EncodedBatch:
    """Run the encoder on several sources."""
    length = max(map(len, sources))
    ids = torch.tensor([[*source, *[model.shape.padding] * (length - len(source))] for source in sources])
    lengths = torch.tensor([len(source) for source in sources])
    mask = torch.zeros(len(sources), 1, 1, length)
    mask.masked_fill_((torch.arange(length) >= lengths[:, None])[:, None, None], float("-inf"))
    rows = model.embedding_rows(SOURCE, ids.flatten()).view(len(sources), length, -1)
    x = (rows * model.shape.scale + model.positions[:length]).view(ids.numel(), -1)
    for layer in range(model.shape.encoder_layers):
        x = _encoder_layer(model, f"model.encoder.layers.{layer}", x, mask)
    return EncodedBatch(sources, x.view(len(sources), length, -1), mask)


def _encoder_layer(model: Marian, prefix: str, x: Tensor, mask: Tensor) -> Tensor:
    sources, heads = len(mask), model.shape.heads
    fused = Affine.of(model.weights, f"{prefix}.self_attn.fused")(x)
    query, key, value = fused.view(sources, -1, 3, heads, model.shape.width // heads).permute(2, 0, 3, 1, 4)
    mixed = F.scaled_dot_product_attention(query, key, value, mask)
    attended = Affine.of(model.weights, f"{prefix}.self_attn.out_proj")(mixed.transpose(1, 2).reshape(x.shape))
    return FeedForward(model, prefix)(Norm.of(model.weights, f"{prefix}.self_attn")(x + attended))


class BatchDecoderLayer:
    """One decoder layer on many sources, one row each: its tensors, and the keys and values of sources and tokens."""

    def __init__(self, model: Marian, prefix: str, encoded: EncodedBatch) -> None:
        weights, self.heads = model.weights, model.shape.heads
        self.self_projection, self.self_output = (
            decoding(weights, f"{prefix}.self_attn.{part}") for part in ("fused", "out_proj")
        )
        self.cross_query, self.cross_output = (
            decoding(weights, f"{prefix}.encoder_attn.{part}") for part in ("q_proj", "out_proj")
        )
        self.self_norm, self.cross_norm = (Norm.of(weights, f"{prefix}.{part}_attn") for part in ("self", "encoder"))
        self.feed_forward = FeedForward(model, prefix, decoding)
        rows, length, width = encoded.states.shape
        fused = Affine.of(weights, f"{prefix}.encoder_attn.fused")(encoded.states.view(-1, width))
        key, value = fused.view(rows, length, 2, self.heads, -1).permute(2, 0, 3, 1, 4)
        self.source_keys, self.source_values = key.transpose(2, 3).contiguous(), value.contiguous()
        size = (rows, self.heads, INITIAL_CAPACITY, width // self.heads)
        self.keys, self.values = torch.empty(size), torch.empty(size)
        self.mask, self.scale = encoded.mask, size[-1] ** -0.5
        self.attention = torch.empty(0)  # on the sources: (rows, heads, 1, length)

    def __call__(self, x: Tensor, length: int) -> Tensor:
        x = self.self_norm(x + self._self_attention(x, length))
        x = self.cross_norm(x + self._cross_attention(x))
        return self.feed_forward(x)

    def keep(self, rows: Tensor, length: int) -> None:
        """Remove all other rows; `length` is that of the longest remaining source."""
        self.keys, self.values = self.keys[rows], self.values[rows]
        self.source_keys, self.mask = self.source_keys[rows, :, :, :length], self.mask[rows, :, :, :length]
        self.source_values = self.source_values[rows, :, :length]

    def _self_attention(self, x: Tensor, length: int) -> Tensor:
        query, key, value = self.self_projection(x).view(len(x), 3, self.heads, 1, -1).unbind(1)
        if length == self.keys.shape[2]:
            self.keys, self.values = (torch.cat([past, past], dim=2) for past in (self.keys, self.values))
        self.keys[:, :, length : length + 1] = key
        self.values[:, :, length : length + 1] = value
        keys, values = self.keys[:, :, : length + 1], self.values[:, :, : length + 1]
        mixed = ((query * self.scale) @ keys.transpose(2, 3)).softmax(-1) @ values
        return self.self_output(mixed.view(len(x), -1))

    def _cross_attention(self, x: Tensor) -> Tensor:
        query = self.cross_query(x).view(len(x), self.heads, 1, -1)
        self.attention = ((query * self.scale) @ self.source_keys + self.mask).softmax(-1)
        return self.cross_output((self.attention @ self.source_values).view(len(x), -1))


class BatchDecoder:
    """Decodes many sources step by step, one hypothesis each."""

    def __init__(self, model: Marian, encoded: EncodedBatch, extra_bias: Tensor | None = None) -> None:
        self.model, self.length, self._extra_bias = model, 0, extra_bias
        prefixes = (f"model.decoder.layers.{i}" for i in range(model.shape.decoder_layers))
        self._layers = [BatchDecoderLayer(model, prefix, encoded) for prefix in prefixes]

    def step(self, last: Tensor) -> tuple[Tensor, Tensor]:
        """Return the last decoder states (rows, width) and the logits (rows, vocabulary) after these last tokens."""
        x = self.model.embedding_rows(TARGET, last) * self.model.shape.scale + self.model.positions[self.length]
        for layer in self._layers:
            x = layer(x, self.length)
        self.length += 1
        return x, self.model.logits(x, self._extra_bias)

    @property
    def attention(self) -> Tensor:
        """The attention on the sources in the last step, averaged over the last layers: (rows, source length)."""
        by_head = torch.cat([layer.attention for layer in self._layers[-ATTENTION_LAYERS:]], dim=1)
        return by_head.mean((1, 2))

    def keep(self, rows: Sequence[int], length: int) -> None:
        """Remove all other rows; `length` is that of the longest remaining source."""
        for layer in self._layers:
            layer.keep(torch.tensor(rows), length)


@torch.no_grad()
def greedy_batch(
    model: Marian,
    sources: Sequence[Sequence[int]],
    limits: LengthLimits,
    extra_bias: Tensor | None = None,
    processors: Sequence[Sequence[LogitsProcessor]] = (),
) -> list[tuple[int, ...]]:
    """Return the greedy translation of every source, as ids.

    `processors` are the logits processors of each source; each is called for its own source only.
    """
    if not sources:
        return []
    rows = [
        SearchRow(len(source), limits.max_length(len(source), model.shape.positions), given)
        for source, given in zip(sources, processors or [()] * len(sources), strict=True)
    ]
    search = BatchGreedySearch(BatchDecoder(model, encode_batch(model, sources), extra_bias), limits, rows)
    while search.step():
        pass
    return [tuple(row.tokens) for row in rows]


@dataclass(eq=False)
class SearchRow:
    """One source of a batch: its length, and its translation so far."""

    source_length: int
    max_length: int
    processors: Sequence[LogitsProcessor]
    tokens: list[int] = field(default_factory=list)
    is_open: bool = True

    def process(self, decoder_state: Tensor, attention: Tensor, logits: Tensor) -> None:
        """Change the logits of the next token in place; all three tensors have one row."""
        state, changed = SearchState(decoder_state, attention[:, : self.source_length], [self.tokens]), logits
        for processor in self.processors:
            changed = processor(state, changed)
        if changed is not logits:
            logits.copy_(changed)


class BatchGreedySearch:
    """Generates the next token of all open rows at once."""

    def __init__(self, decoder: BatchDecoder, limits: LengthLimits, rows: Sequence[SearchRow]) -> None:
        self._decoder, self._limits, self._rows = decoder, limits, list(rows)
        self._last = torch.full((len(rows),), decoder.model.shape.start)

    def step(self) -> bool:
        """Add one token to every open row; return whether any row is still open."""
        states, logits = self._decoder.step(self._last)
        if any(row.processors for row in self._rows):
            self._process(states, logits)
        logits[:, self._decoder.model.target.pad] = float("-inf")
        self._last = logits.argmax(-1)
        for row, token in zip(self._rows, self._last.tolist(), strict=True):
            if row.is_open:
                self._append(row, token)
        still_open = [number for number, row in enumerate(self._rows) if row.is_open]
        if 0 < len(still_open) <= MAX_OPEN_SHARE * len(self._rows):
            self._keep(still_open)
        return bool(still_open)

    def _process(self, states: Tensor, logits: Tensor) -> None:
        parts = states.split(1), self._decoder.attention.split(1), logits.split(1)
        for row, *tensors in zip(self._rows, *parts, strict=True):
            if row.is_open and row.processors:
                row.process(*tensors)

    def _append(self, row: SearchRow, token: int) -> None:
        end = self._decoder.model.target.end
        row.tokens.append(end if self._limits.is_looping(row.tokens) else token)
        row.is_open = row.tokens[-1] != end and len(row.tokens) < row.max_length

    def _keep(self, numbers: Sequence[int]) -> None:
        self._rows, self._last = [self._rows[number] for number in numbers], self._last[numbers]
        self._decoder.keep(numbers, max(row.source_length for row in self._rows))
