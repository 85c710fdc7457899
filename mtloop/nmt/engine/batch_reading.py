"""Read one target with several sources at once: how probable each of its tokens is with each source."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from mtloop.nmt.engine.batch_search import EncodedBatch, FeedForward, Norm, encode_batch
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.search import Affine
from mtloop.nmt.engine.weights import TARGET


@torch.no_grad()
def token_log_probabilities(model: Marian, sources: Sequence[Sequence[int]], target: Sequence[int]) -> Tensor:
    """Return the log-probability of each token of a target, with each of the sources: (sources, tokens)."""
    encoded = encode_batch(model, sources)
    ids = torch.tensor([model.shape.start, *target[:-1]])
    x = model.embedding_rows(TARGET, ids) * model.shape.scale + model.positions[: len(target)]
    x = x.repeat(len(sources), 1)
    for layer in range(model.shape.decoder_layers):
        x = _decoder_layer(model, f"model.decoder.layers.{layer}", x, encoded)
    found = model.read_logits(x).log_softmax(-1).view(len(sources), len(target), -1)
    return found[:, torch.arange(len(target)), torch.tensor(target)]


def _decoder_layer(model: Marian, prefix: str, x: Tensor, encoded: EncodedBatch) -> Tensor:
    x = Norm.of(model.weights, f"{prefix}.self_attn")(x + _self_attention(model, f"{prefix}.self_attn", x, encoded))
    x = Norm.of(model.weights, f"{prefix}.encoder_attn")(x + _attention(model, f"{prefix}.encoder_attn", x, encoded))
    return FeedForward(model, prefix)(x)


def _self_attention(model: Marian, prefix: str, x: Tensor, encoded: EncodedBatch) -> Tensor:
    query, key, value = _heads(model, f"{prefix}.fused", x, len(encoded.sources), 3)
    mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    return Affine.of(model.weights, f"{prefix}.out_proj")(mixed.transpose(1, 2).reshape(x.shape))


def _attention(model: Marian, prefix: str, x: Tensor, encoded: EncodedBatch) -> Tensor:
    """Return the attention on the sources."""
    (query,) = _heads(model, f"{prefix}.q_proj", x, len(encoded.sources), 1)
    states = encoded.states.view(-1, model.shape.width)
    key, value = _heads(model, f"{prefix}.fused", states, len(encoded.sources), 2)
    mixed = F.scaled_dot_product_attention(query, key, value, encoded.mask)
    return Affine.of(model.weights, f"{prefix}.out_proj")(mixed.transpose(1, 2).reshape(x.shape))


def _heads(model: Marian, prefix: str, x: Tensor, sources: int, parts: int) -> tuple[Tensor, ...]:
    """Return the parts of a projection, each divided into heads: (sources, heads, length, width of a head)."""
    heads = model.shape.heads
    projected = Affine.of(model.weights, prefix)(x).view(sources, -1, parts, heads, model.shape.width // heads)
    return projected.permute(2, 0, 3, 1, 4).unbind(0)
