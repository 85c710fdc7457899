"""Check that the weights of a model fit its configuration, before anything is computed with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mtloop.core.errors import InputError
from mtloop.nmt.engine.weights import LOGITS_BIAS, OUTPUT, SOURCE, TARGET, Shape, Weights

MAX_POSITIONS = 1 << 16  # a table of this length is made; models have 512


def check_shape(shape: Shape, path: Path) -> None:
    """Raise InputError if the sizes in a configuration cannot be those of a model."""
    sizes = (shape.width, shape.heads, shape.encoder_layers, shape.decoder_layers, shape.positions)
    if not all(type(size) is int and size > 0 for size in sizes):
        raise InputError("sizes of a model are whole numbers above 0", path=path)
    if shape.width % shape.heads or shape.width % 2:
        raise InputError(f"a width of {shape.width} cannot have {shape.heads} attention heads", path=path)
    if shape.positions > MAX_POSITIONS:
        raise InputError(f"max_position_embeddings is {shape.positions}; expected at most {MAX_POSITIONS}", path=path)
    if not all(type(token) is int and token >= 0 for token in (shape.start, shape.padding)):
        raise InputError("ids of subwords are whole numbers", path=path)


def check_weights(shape: Shape, weights: Weights, largest: tuple[int, int], folder: Path) -> None:
    """Raise InputError if a tensor is missing or has other sizes; `largest` are the largest ids of the vocabularies."""
    for name, expected in _expected(shape, weights):
        if name not in weights:
            raise InputError(f"holds no complete Marian model: there is no tensor {name}", path=folder)
        if tuple(weights[name].shape) != expected:
            sizes = f"{list(weights[name].shape)}, not {list(expected)}"
            raise InputError(f"the weights do not fit the configuration: {name} has the sizes {sizes}", path=folder)
    largest = largest[0], max(largest[1], shape.start, shape.padding)
    for name, id in zip((SOURCE, TARGET), largest, strict=True):
        if id >= len(weights[name]):
            message = f"the vocabulary has the id {id}, but the model has {len(weights[name])} embeddings"
            raise InputError(message, path=folder)


def _expected(shape: Shape, weights: Weights) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the names and the sizes of the tensors of a model, as far as the configuration decides them."""
    words = len(weights[TARGET])
    yield from ((SOURCE, (len(weights[SOURCE]), shape.width)), (TARGET, (words, shape.width)))
    yield from ((OUTPUT, (words, shape.width)), (LOGITS_BIAS, (words,)))
    for layer in range(shape.encoder_layers):
        yield from _layer(f"model.encoder.layers.{layer}", ("self_attn",), shape.width, weights)
    for layer in range(shape.decoder_layers):
        yield from _layer(f"model.decoder.layers.{layer}", ("self_attn", "encoder_attn"), shape.width, weights)


def _layer(
    name: str, attentions: tuple[str, ...], width: int, weights: Weights
) -> Iterator[tuple[str, tuple[int, ...]]]:
    for attention in attentions:
        for projection in ("q_proj", "k_proj", "v_proj", "out_proj"):
            yield f"{name}.{attention}.{projection}.weight", (width, width)
            yield f"{name}.{attention}.{projection}.bias", (width,)
        yield from ((f"{name}.{attention}_layer_norm.{kind}", (width,)) for kind in ("weight", "bias"))
    inner = len(weights[f"{name}.fc1.weight"]) if f"{name}.fc1.weight" in weights else 0
    yield from ((f"{name}.fc1.weight", (inner, width)), (f"{name}.fc1.bias", (inner,)))
    yield from ((f"{name}.fc2.weight", (width, inner)), (f"{name}.fc2.bias", (width,)))
    yield from ((f"{name}.final_layer_norm.{kind}", (width,)) for kind in ("weight", "bias"))
