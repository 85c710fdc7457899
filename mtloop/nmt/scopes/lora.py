"""Low-rank offsets: every attention and feed-forward matrix learns through two thin matrices (Hu et al., 2022).

W = W_base + B A. A is random at first and B is zero, so the model starts as the base. The entries of A have variance
1 / rank. Then A^T A is the identity on average, and the first step of B changes W on average as a step of W itself
would; so a learning rate means the same here as for `full`. Query, key and value have the same input, are stored in one
block of memory and share one A.

The gradient of a matrix is dY^T X over a few positions. Those of B and A follow from the thin factors alone:
dB = dY^T (X A^T) and dA = (B^T dY^T) X. During a lesson, B A stays separate from the base: two thin products per
matrix. Commit adds B A to the base in one pass. It always starts from the base, so a loaded delta gives exactly the
same model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from mtloop.core.errors import InputError
from mtloop.nmt.engine.gradients import Gradient
from mtloop.nmt.engine.lesson import Lesson
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.weights import LOGITS_BIAS, Weights
from mtloop.nmt.scopes.dense import hidden_names
from mtloop.nmt.scopes.scope import GradientClipping, step_size

DEFAULT_RANK = 32  # a lower rank disturbs unrelated inputs more: their images under A overlap by about 1 / sqrt(rank)


@dataclass(frozen=True, eq=False)
class LowRankPair:
    """The offset B A of one block. It is immutable: a step makes a new pair, and a rollback takes the old one."""

    b: Tensor
    a: Tensor

    @property
    def size(self) -> int:
        return self.b.numel() + self.a.numel()

    @property
    def fits(self) -> bool:
        """Whether the shapes of B and A fit for a product."""
        return self.b.dim() == self.a.dim() == 2 and self.b.shape[1] == self.a.shape[0]

    def gradients(self, error: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return dB and dA for the gradient error^T inputs of the matrix, without computing that product."""
        return error.t() @ (inputs @ self.a.t()), (error @ self.b).t() @ inputs


class Lora:
    """Low-rank offsets to a shared model, small enough to store one set per user."""

    def __init__(
        self,
        base: Marian,
        learning_rate: float = 5e-3,
        bias_learning_rate: float = 0.0,
        rank: int = 0,
        seed: int = 1,
        parameter_budget: int = 2_000_000,
        gradient_clipping: GradientClipping = "clip",
    ) -> None:
        """`rank` 0 takes 32, or the largest rank within `parameter_budget` if that is smaller.

        `bias_learning_rate` above 0 adds an extra output bias; it counts towards the budget.
        """
        self.base, self.learning_rate, self.bias_learning_rate = base, learning_rate, bias_learning_rate
        self.seed, self.parameter_budget, self.gradient_clipping = seed, parameter_budget, gradient_clipping
        self.names = matrices(base.weights)
        self._blocks = sorted({base.weights.block_of(name) for name in self.names})
        self.rank = self._choose_rank(rank)
        self._separate = base.with_weights(base.weights.copy([]))
        self._composed: Marian | None = None
        self.pairs_ = dict(self._initial_pairs())
        self.extra_bias = self._initial_bias()
        self._before: tuple[dict[str, LowRankPair], Tensor | None] | None = None

    @property
    def model(self) -> Marian:
        """During a lesson, the base with separate offsets; otherwise the composed matrices, which translate faster."""
        return self._separate if self._before is not None else self._composed or self.base

    @property
    def parameters(self) -> int:
        return sum(pair.size for pair in self.pairs_.values()) + (
            0 if self.extra_bias is None else len(self.extra_bias)
        )

    @torch.no_grad()
    def update(self, lesson: Lesson) -> None:
        pairs = self._updated_pairs(lesson.gradients(), lesson.learning_rate_scale)
        bias = self._updated_bias(lesson.error, lesson.learning_rate_scale)
        if self._before is None:
            self._before = self.pairs_, self.extra_bias
        self.pairs_, self.extra_bias = pairs, bias
        self._separate.weights.pending = {block: (-pair.b.t(), pair.a) for block, pair in pairs.items()}

    @torch.no_grad()
    def gradients(self, lesson: Lesson) -> dict[str, Gradient]:
        found: dict[str, Gradient] = {}
        gradients = lesson.gradients()
        for block in self._blocks:
            db, da = self.pairs_[block].gradients(*self._product(block, gradients))
            found |= {f"b/{block}": Gradient(dense=db), f"a/{block}": Gradient(dense=da)}
        return found | ({} if self.extra_bias is None else {"bias": Gradient(dense=lesson.error.sum(0))})

    @torch.no_grad()
    def apply_steps(self, steps: Mapping[str, Gradient]) -> None:
        dense = {name: step.dense for name, step in steps.items() if step.dense is not None}
        for block, old in self.pairs_.items():
            self.pairs_[block] = LowRankPair(old.b - dense[f"b/{block}"], old.a - dense[f"a/{block}"])
        if self.extra_bias is not None:
            self.extra_bias = self.extra_bias - dense["bias"]
        self._compose()

    def commit(self) -> None:
        if self._before is not None:
            self._before = None
            self._compose()

    def rollback(self) -> None:
        if self._before is not None:
            self.pairs_, self.extra_bias = self._before
            self._before = None

    def tensors(self) -> dict[str, Tensor]:
        found = {} if self.extra_bias is None else {"bias": self.extra_bias}
        for block, pair in self.pairs_.items():
            found |= {f"b/{block}": pair.b, f"a/{block}": pair.a}
        return found

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore a delta; the rank becomes that of the delta."""
        pairs = dict(self._read(tensors))
        self.pairs_, self._before = pairs, None
        self.rank = pairs[self._blocks[0]].a.shape[0]
        self.extra_bias = tensors["bias"].clone() if "bias" in tensors else self._initial_bias()
        self._compose()

    def _initial_pairs(self) -> Iterator[tuple[str, LowRankPair]]:
        """Yield a random A, the same for the same seed, and a zero B for each block."""
        random = torch.Generator().manual_seed(self.seed)
        for block in self._blocks:
            height, width = self.base.weights.block(block).shape
            a = torch.randn(self.rank, width, generator=random) / self.rank**0.5
            yield block, LowRankPair(torch.zeros(height, self.rank), a)

    def _initial_bias(self) -> Tensor | None:
        return torch.zeros(len(self.base.weights[LOGITS_BIAS])) if self.bias_learning_rate else None

    def _updated_pairs(self, gradients: Mapping[str, Gradient], scale: float) -> dict[str, LowRankPair]:
        """Return every pair after one step; the gradients of A and B are clipped separately."""
        steps = {block: self.pairs_[block].gradients(*self._product(block, gradients)) for block in self._blocks}
        norms = torch.stack(torch._foreach_norm([tensor for step in steps.values() for tensor in step])).tolist()
        rates = [step_size(norm, self.learning_rate * scale, self.gradient_clipping) for norm in norms]
        updated = {}
        for (block, (db, da)), rate_b, rate_a in zip(steps.items(), rates[::2], rates[1::2], strict=True):
            old = self.pairs_[block]
            updated[block] = LowRankPair(old.b.sub(db, alpha=rate_b), old.a.sub(da, alpha=rate_a))
        return updated

    def _updated_bias(self, error: Tensor, scale: float) -> Tensor | None:
        if self.extra_bias is None:
            return None
        gradient = error.sum(0)
        rate = step_size(float(gradient.norm()), self.bias_learning_rate * scale, self.gradient_clipping)
        return self.extra_bias - gradient * rate

    def _product(self, block: str, gradients: Mapping[str, Gradient]) -> tuple[Tensor, Tensor]:
        """Return the error and the input of a block; all its members have the same input."""
        parts = [gradients[name].products[0] for name, _, _ in self.base.weights.members(block)]
        return torch.cat([error for error, _ in parts], dim=1) if len(parts) > 1 else parts[0][0], parts[0][1]

    @torch.no_grad()
    def _compose(self) -> None:
        """Write base + B A to own copies of the matrices; all other tensors stay shared."""
        self._composed = self._composed or self.base.with_weights(self.base.weights.copy(self._blocks))
        for block, pair in self.pairs_.items():
            self._composed.weights.block(block).copy_(self.base.weights.block(block)).addmm_(pair.b, pair.a)

    def _read(self, tensors: Mapping[str, Tensor]) -> Iterator[tuple[str, LowRankPair]]:
        for block in self._blocks:
            if f"a/{block}" not in tensors or f"b/{block}" not in tensors:
                raise InputError(f"this delta holds no offset of {block!r}; it was learned by another method")
            pair = LowRankPair(tensors[f"b/{block}"].clone(), tensors[f"a/{block}"].clone())
            if not pair.fits or (len(pair.b), pair.a.shape[1]) != tuple(self.base.weights.block(block).shape):
                raise InputError(f"this delta's offset of {block!r} does not fit the matrix")
            yield block, pair

    def _choose_rank(self, rank: int) -> int:
        bias = len(self.base.weights[LOGITS_BIAS]) if self.bias_learning_rate else 0
        each = sum(sum(self.base.weights.block(block).shape) for block in self._blocks)
        max_rank = (self.parameter_budget - bias) // each
        chosen = rank or min(DEFAULT_RANK, max_rank)
        if not 1 <= chosen <= max_rank:
            budget = f"the parameter_budget of {self.parameter_budget:,} allows rank {max(max_rank, 0)}"
            raise InputError(
                f"rank {rank}: each rank takes {each:,} parameters, and {budget}; "
                "give a smaller rank or a larger budget"
            )
        return chosen


def matrices(weights: Weights) -> frozenset[str]:
    """Return the names of all attention and feed-forward matrices: the 2-D tensors outside the embeddings."""
    return frozenset(name for name in hidden_names(weights) if weights[name].dim() == 2)
