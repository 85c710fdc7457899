"""The layers of a Transformer on one segment, each with its backward pass.

Every layer returns its output and a function for the backward pass. That function maps the gradient of the output to
the gradient of the input, and adds the gradients of the parameters to a `GradientCollector`. The backward passes are
written by hand: on 25 positions the bookkeeping of a general autograd costs as much as the matrix products.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import torch
from torch import Tensor
from torch.nn import functional as F

from mtloop.nmt.engine.gradients import GradientCollector
from mtloop.nmt.engine.weights import Weights

Backward = Callable[[Tensor, GradientCollector], Tensor]
EPSILON = 1e-5

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "swish": F.silu,
    "silu": F.silu,
    "relu": F.relu,
    "gelu": F.gelu,
}
_ACTIVATION_GRADIENTS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "swish": torch.ops.aten.silu_backward,
    "silu": torch.ops.aten.silu_backward,
    "relu": lambda dy, x: dy * (x > 0),
    "gelu": torch.ops.aten.gelu_backward,
}


def linear(x: Tensor, weights: Weights, prefix: str) -> tuple[Tensor, Backward]:
    """y = x W^T + b. The backward pass stores dY and X instead of multiplying them."""
    block, bias = f"{prefix}.weight", f"{prefix}.bias"
    y = weights.multiply(weights.block(bias), x, block)

    def backward(dy: Tensor, collector: GradientCollector) -> Tensor:
        collector.add_product(weights, block, dy, x)
        collector.set_bias(weights, bias, dy)
        return weights.multiply_back(dy, block)

    return y, backward


def norm(x: Tensor, weights: Weights, prefix: str) -> tuple[Tensor, Backward]:
    """Layer normalisation."""
    names = f"{prefix}.weight", f"{prefix}.bias"
    scale, shift = weights[names[0]], weights[names[1]]
    shape = [x.shape[-1]]
    y, mean, inverse_deviation = torch.native_layer_norm(x, shape, scale, shift, EPSILON)

    def backward(dy: Tensor, collector: GradientCollector) -> Tensor:
        needed = [True, *(name in collector.scope for name in names)]
        layer_norm_backward = torch.ops.aten.native_layer_norm_backward
        dx, *parameters = layer_norm_backward(dy, x, shape, mean, inverse_deviation, scale, shift, needed)
        for name, gradient in zip(names, parameters, strict=True):
            if name in collector.scope:
                collector.get(name).dense = gradient
        return dx  # type: ignore[no-any-return]

    return y, backward


def feed_forward(x: Tensor, weights: Weights, prefix: str, activation: str) -> tuple[Tensor, Backward]:
    inner, first_backward = linear(x, weights, f"{prefix}.fc1")
    y, second_backward = linear(ACTIVATIONS[activation](inner), weights, f"{prefix}.fc2")

    def backward(dy: Tensor, collector: GradientCollector) -> Tensor:
        d_inner = _ACTIVATION_GRADIENTS[activation](second_backward(dy, collector), inner)
        return first_backward(d_inner, collector)

    return y, backward


def self_attention(x: Tensor, weights: Weights, prefix: str, heads: int, causal: bool) -> tuple[Tensor, Backward]:
    fused, projection_backward = linear(x, weights, f"{prefix}.fused")
    query, key, value = fused.chunk(3, dim=1)
    mixed, _, mixture_backward = _attend(query, key, value, heads, causal)
    y, output_backward = linear(mixed, weights, f"{prefix}.out_proj")

    def backward(dy: Tensor, collector: GradientCollector) -> Tensor:
        return projection_backward(torch.cat(mixture_backward(output_backward(dy, collector)), dim=1), collector)

    return y, backward


def cross_attention(
    x: Tensor, encoder_states: Tensor, weights: Weights, prefix: str, heads: int
) -> tuple[Tensor, Tensor, Callable[[Tensor, GradientCollector], tuple[Tensor, Tensor]]]:
    """Return the output, the attention weights (heads, length, source length), and the backward pass.

    The backward pass returns two gradients: of x and of the encoder states.
    """
    query, query_backward = linear(x, weights, f"{prefix}.q_proj")
    fused, source_backward = linear(encoder_states, weights, f"{prefix}.fused")
    key, value = fused.chunk(2, dim=1)
    mixed, attention, mixture_backward = _attend(query, key, value, heads, causal=False)
    y, output_backward = linear(mixed, weights, f"{prefix}.out_proj")

    def backward(dy: Tensor, collector: GradientCollector) -> tuple[Tensor, Tensor]:
        d_query, d_key, d_value = mixture_backward(output_backward(dy, collector))
        return query_backward(d_query, collector), source_backward(torch.cat([d_key, d_value], dim=1), collector)

    return y, attention, backward


def split_heads(x: Tensor, heads: int) -> Tensor:
    """(length, width) to (heads, length, width of a head)."""
    return x.view(len(x), heads, -1).transpose(0, 1)


def _attend(
    query: Tensor, key: Tensor, value: Tensor, heads: int, causal: bool
) -> tuple[Tensor, Tensor, Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]]:
    queries, keys, values = (split_heads(part, heads) for part in (query, key, value))
    scale = queries.shape[-1] ** -0.5
    scores = torch.bmm(queries, keys.transpose(1, 2)).mul_(scale)
    attention = (scores.add_(_causal_mask(len(query))) if causal else scores).softmax(-1)
    mixed = _merge_heads(torch.bmm(attention, values))

    def backward(dy: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        d_mixed = split_heads(dy, heads)
        d_attention = torch.bmm(d_mixed, values.transpose(1, 2)).mul_(attention)
        d_scores = d_attention.sub_(attention * d_attention.sum(-1, keepdim=True)).mul_(scale)
        d_values = torch.bmm(attention.transpose(1, 2), d_mixed)
        d_keys = torch.bmm(d_scores.transpose(1, 2), queries)
        return _merge_heads(torch.bmm(d_scores, keys)), _merge_heads(d_keys), _merge_heads(d_values)

    return mixed, attention, backward


def _merge_heads(x: Tensor) -> Tensor:
    return x.transpose(0, 1).reshape(x.shape[1], -1)


@lru_cache(maxsize=64)
def _causal_mask(length: int) -> Tensor:
    """Minus infinity at every later position, 0 elsewhere: (length, length)."""
    return torch.full((length, length), float("-inf")).triu(1)
