"""The parts of a Transformer on one segment, each with its way back.

Every part gives its output and a function from the output's gradient to the input's, which notes on a tape what the
parameters in between would like to change. Written out by hand: on 25 positions the bookkeeping of a general autograd
costs as much as the products it keeps the books of.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import torch
from torch import Tensor
from torch.nn import functional as F

from mtloop.nmt.engine.gradients import Tape
from mtloop.nmt.engine.weights import Weights

Back = Callable[[Tensor, Tape], Tensor]
EPSILON = 1e-5

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "swish": F.silu,
    "silu": F.silu,
    "relu": F.relu,
    "gelu": F.gelu,
}
_SLOPES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "swish": torch.ops.aten.silu_backward,
    "silu": torch.ops.aten.silu_backward,
    "relu": lambda dy, x: dy * (x > 0),
    "gelu": torch.ops.aten.gelu_backward,
}


def linear(x: Tensor, weights: Weights, prefix: str) -> tuple[Tensor, Back]:
    """y = x W^T + b; on the way back dY and X are noted in place of being multiplied."""
    block, bias = f"{prefix}.weight", f"{prefix}.bias"
    matrix = weights.block(block)
    y = weights.through(torch.addmm(weights.block(bias), x, matrix.t()), x, block)

    def back(dy: Tensor, tape: Tape) -> Tensor:
        tape.product(weights, block, dy, x)
        tape.bias(weights, bias, dy)
        return weights.back(dy @ matrix, dy, block)

    return y, back


def norm(x: Tensor, weights: Weights, prefix: str) -> tuple[Tensor, Back]:
    """Layer normalisation."""
    names = f"{prefix}.weight", f"{prefix}.bias"
    scale, shift = weights[names[0]], weights[names[1]]
    shape = [x.shape[-1]]
    y, mean, spread = torch.native_layer_norm(x, shape, scale, shift, EPSILON)

    def back(dy: Tensor, tape: Tape) -> Tensor:
        wanted = [True, *(name in tape.scope for name in names)]
        backward = torch.ops.aten.native_layer_norm_backward
        dx, *small = backward(dy, x, shape, mean, spread, scale, shift, wanted)
        for name, gradient in zip(names, small, strict=True):
            if name in tape.scope:
                tape.of(name).dense = gradient
        return dx  # type: ignore[no-any-return]

    return y, back


def feed_forward(x: Tensor, weights: Weights, prefix: str, activation: str) -> tuple[Tensor, Back]:
    inner, through_first = linear(x, weights, f"{prefix}.fc1")
    y, through_second = linear(ACTIVATIONS[activation](inner), weights, f"{prefix}.fc2")

    def back(dy: Tensor, tape: Tape) -> Tensor:
        return through_first(_SLOPES[activation](through_second(dy, tape), inner), tape)

    return y, back


def self_attention(x: Tensor, weights: Weights, prefix: str, heads: int, causal: bool) -> tuple[Tensor, Back]:
    fused, through_projection = linear(x, weights, f"{prefix}.fused")
    query, key, value = fused.chunk(3, dim=1)
    mixed, _, through_mixture = _attend(query, key, value, heads, causal)
    y, through_output = linear(mixed, weights, f"{prefix}.out_proj")

    def back(dy: Tensor, tape: Tape) -> Tensor:
        return through_projection(torch.cat(through_mixture(through_output(dy, tape)), dim=1), tape)

    return y, back


def cross_attention(
    x: Tensor, memory: Tensor, weights: Weights, prefix: str, heads: int
) -> tuple[Tensor, Tensor, Callable[[Tensor, Tape], tuple[Tensor, Tensor]]]:
    """Also gives who looked where (heads, length, source); its way back has two gradients, of x and of the source."""
    query, through_query = linear(x, weights, f"{prefix}.q_proj")
    fused, through_source = linear(memory, weights, f"{prefix}.fused")
    key, value = fused.chunk(2, dim=1)
    mixed, shares, through_mixture = _attend(query, key, value, heads, causal=False)
    y, through_output = linear(mixed, weights, f"{prefix}.out_proj")

    def back(dy: Tensor, tape: Tape) -> tuple[Tensor, Tensor]:
        queries, keys, values = through_mixture(through_output(dy, tape))
        return through_query(queries, tape), through_source(torch.cat([keys, values], dim=1), tape)

    return y, shares, back


def split(x: Tensor, heads: int) -> Tensor:
    """(length, width) to (heads, length, width of a head)."""
    return x.view(len(x), heads, -1).transpose(0, 1)


def _attend(
    query: Tensor, key: Tensor, value: Tensor, heads: int, causal: bool
) -> tuple[Tensor, Tensor, Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]]:
    queries, keys, values = (split(part, heads) for part in (query, key, value))
    scale = queries.shape[-1] ** -0.5
    scores = torch.bmm(queries, keys.transpose(1, 2)).mul_(scale)
    shares = (scores.add_(_future(len(query))) if causal else scores).softmax(-1)
    mixed = _join(torch.bmm(shares, values))

    def back(dy: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        wanted = split(dy, heads)
        of_shares = torch.bmm(wanted, values.transpose(1, 2)).mul_(shares)
        of_scores = of_shares.sub_(shares * of_shares.sum(-1, keepdim=True)).mul_(scale)
        of_values = torch.bmm(shares.transpose(1, 2), wanted)
        of_keys = torch.bmm(of_scores.transpose(1, 2), queries)
        return _join(torch.bmm(of_scores, keys)), _join(of_keys), _join(of_values)

    return mixed, shares, back


def _join(x: Tensor) -> Tensor:
    return x.transpose(0, 1).reshape(x.shape[1], -1)


@lru_cache(maxsize=64)
def _future(length: int) -> Tensor:
    """Minus infinity where a position would look ahead."""
    return torch.full((length, length), float("-inf")).triu(1)
