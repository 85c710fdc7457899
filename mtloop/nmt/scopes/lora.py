"""Low-rank offsets: every matrix of attention and feed-forward learns through two thin ones (Hu et al., 2022).

W = W_base + B A. A begins random and B at zero, so the model begins as the base. A's entries have variance 1 / rank:
then A^T A is the identity on average, so that a first step of B moves W on average by what a step of W itself would,
and a rate means here what it means for `full`. Query, key and value read the same input, lie in one block of memory
and share one A.

A matrix's gradient is dY^T X over a few positions; those of B and A follow from the thin sides alone:
dB = dY^T (X A^T) and dA = (B^T dY^T) X. Within a lesson the base is read with B A beside it, two thin products a
matrix; when the lesson is over, one pass composes the matrices that translate. They are always composed from the base,
so a delta that is loaded gives the very same model.
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
from mtloop.nmt.scopes.scope import Clip, step_size

USUAL = 32  # fewer disturb unrelated inputs more: what A makes of two of them agrees by chance, by 1 / sqrt(rank)


@dataclass(frozen=True, eq=False)
class Pair:
    """The offset of one block: B A. Never written to: a step makes a new one, so that the old one is the way back."""

    b: Tensor
    a: Tensor

    @property
    def size(self) -> int:
        return self.b.numel() + self.a.numel()

    @property
    def fits(self) -> bool:
        """Whether the two can be multiplied."""
        return self.b.dim() == self.a.dim() == 2 and self.b.shape[1] == self.a.shape[0]

    def gradients(self, error: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """dB and dA of a matrix whose gradient is error^T inputs, which is never written out."""
        return error.t() @ (inputs @ self.a.t()), (error @ self.b).t() @ inputs


class Lora:
    """Pairs of thin matrices over a shared model, few enough to store one set a user."""

    def __init__(
        self,
        base: Marian,
        rate: float = 5e-3,
        bias_rate: float = 0.0,
        rank: int = 0,
        seed: int = 1,
        budget: int = 2_000_000,
        clip: Clip = "clip",
    ) -> None:
        """`rank` 0 is 32, or as many as the budget holds where that is fewer.

        `bias_rate` above zero lets a second output bias learn too; it counts towards the budget.
        """
        self.base, self.rate, self.bias_rate = base, rate, bias_rate
        self.seed, self.budget, self.clip = seed, budget, clip
        self.names = matrices(base.weights)
        self._blocks = sorted({base.weights.block_of(name) for name in self.names})
        self.rank = self._affordable(rank)
        self._beside = base.with_weights(base.weights.copy([]))
        self._own: Marian | None = None
        self.pairs_ = dict(self._begin())
        self.extra_bias = self._no_bias()
        self._before: tuple[dict[str, Pair], Tensor | None] | None = None

    @property
    def model(self) -> Marian:
        """While a lesson lasts, the base with the offsets beside it; else composed, as translating needs it."""
        return self._beside if self._before is not None else self._own or self.base

    @property
    def parameters(self) -> int:
        return sum(pair.size for pair in self.pairs_.values()) + (
            0 if self.extra_bias is None else len(self.extra_bias)
        )

    @torch.no_grad()
    def update(self, lesson: Lesson) -> None:
        pairs = self._moved(lesson.gradients(), lesson.pace)
        bias = self._moved_bias(lesson.error, lesson.pace)
        if self._before is None:
            self._before = self.pairs_, self.extra_bias
        self.pairs_, self.extra_bias = pairs, bias
        self._beside.weights.pending = {block: (-pair.b.t(), pair.a) for block, pair in pairs.items()}

    @torch.no_grad()
    def wishes(self, lesson: Lesson) -> dict[str, Gradient]:
        found: dict[str, Gradient] = {}
        gradients = lesson.gradients()
        for block in self._blocks:
            db, da = self.pairs_[block].gradients(*self._product(block, gradients))
            found |= {f"b/{block}": Gradient(dense=db), f"a/{block}": Gradient(dense=da)}
        return found | ({} if self.extra_bias is None else {"bias": Gradient(dense=lesson.error.sum(0))})

    @torch.no_grad()
    def move(self, steps: Mapping[str, Gradient]) -> None:
        moved = {name: step.dense for name, step in steps.items() if step.dense is not None}
        for block, old in self.pairs_.items():
            self.pairs_[block] = Pair(old.b - moved[f"b/{block}"], old.a - moved[f"a/{block}"])
        if self.extra_bias is not None:
            self.extra_bias = self.extra_bias - moved["bias"]
        self._compose()

    def settle(self) -> None:
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
        """The rank is that of the delta, whatever a new model would begin with."""
        pairs = dict(self._read(tensors))
        self.pairs_, self._before = pairs, None
        self.rank = pairs[self._blocks[0]].a.shape[0]
        self.extra_bias = tensors["bias"].clone() if "bias" in tensors else self._no_bias()
        self._compose()

    def _begin(self) -> Iterator[tuple[str, Pair]]:
        """A at random, the same for the same seed; B zero."""
        random = torch.Generator().manual_seed(self.seed)
        for block in self._blocks:
            height, width = self.base.weights.block(block).shape
            a = torch.randn(self.rank, width, generator=random) / self.rank**0.5
            yield block, Pair(torch.zeros(height, self.rank), a)

    def _no_bias(self) -> Tensor | None:
        return torch.zeros(len(self.base.weights[LOGITS_BIAS])) if self.bias_rate else None

    def _moved(self, gradients: Mapping[str, Gradient], pace: float) -> dict[str, Pair]:
        """Every pair one step on, each of its two matrices clipped by itself."""
        moves = {block: self.pairs_[block].gradients(*self._product(block, gradients)) for block in self._blocks}
        norms = torch.stack(torch._foreach_norm([tensor for move in moves.values() for tensor in move])).tolist()
        rates = [step_size(norm, self.rate * pace, self.clip) for norm in norms]
        moved = {}
        for (block, (db, da)), rate_b, rate_a in zip(moves.items(), rates[::2], rates[1::2], strict=True):
            old = self.pairs_[block]
            moved[block] = Pair(old.b.sub(db, alpha=rate_b), old.a.sub(da, alpha=rate_a))
        return moved

    def _moved_bias(self, error: Tensor, pace: float) -> Tensor | None:
        if self.extra_bias is None:
            return None
        gradient = error.sum(0)
        return self.extra_bias - gradient * step_size(float(gradient.norm()), self.bias_rate * pace, self.clip)

    def _product(self, block: str, gradients: Mapping[str, Gradient]) -> tuple[Tensor, Tensor]:
        """A block's error and input; its members read the same input."""
        parts = [gradients[name].products[0] for name, _, _ in self.base.weights.members(block)]
        return torch.cat([error for error, _ in parts], dim=1) if len(parts) > 1 else parts[0][0], parts[0][1]

    @torch.no_grad()
    def _compose(self) -> None:
        """The matrices with their offsets in memory of their own; the rest stays shared."""
        self._own = self._own or self.base.with_weights(self.base.weights.copy(self._blocks))
        for block, pair in self.pairs_.items():
            self._own.weights.block(block).copy_(self.base.weights.block(block)).addmm_(pair.b, pair.a)

    def _read(self, tensors: Mapping[str, Tensor]) -> Iterator[tuple[str, Pair]]:
        for block in self._blocks:
            if f"a/{block}" not in tensors or f"b/{block}" not in tensors:
                raise InputError(f"this delta holds no offset of {block!r}; was it learned by another method?")
            pair = Pair(tensors[f"b/{block}"].clone(), tensors[f"a/{block}"].clone())
            if not pair.fits or (len(pair.b), pair.a.shape[1]) != tuple(self.base.weights.block(block).shape):
                raise InputError(f"this delta's offset of {block!r} does not fit the matrix")
            yield block, pair

    def _affordable(self, rank: int) -> int:
        bias = len(self.base.weights[LOGITS_BIAS]) if self.bias_rate else 0
        each = sum(sum(self.base.weights.block(block).shape) for block in self._blocks)
        most = (self.budget - bias) // each
        wanted = rank or min(USUAL, most)
        if not 1 <= wanted <= most:
            room = f"a rank takes {each:,} parameters here, and the budget of {self.budget:,} holds {max(most, 0)}"
            raise InputError(f"rank {rank}: {room}; give a smaller one, or a larger budget")
        return wanted


def matrices(weights: Weights) -> frozenset[str]:
    """The matrices of attention and feed-forward: all that is two-dimensional outside the embeddings."""
    return frozenset(name for name in hidden_names(weights) if weights[name].dim() == 2)
