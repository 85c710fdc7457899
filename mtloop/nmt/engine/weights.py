"""A model's tensors: read once, shared by all learners, and copied only where a method writes.

The query, key and value matrices of one attention layer are stored in one block of memory. So the forward pass
multiplies once where Hugging Face multiplies three times. Under their own names they are views of that block.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor

from mtloop.core.errors import InputError
from mtloop.core.json_files import parse_json
from mtloop.nmt.engine.output_screen import OutputScreen, OutputScreens
from mtloop.nmt.engine.precision import ReducedBlocks, RoundedMatrix, reduced_product
from mtloop.nmt.engine.sparse_rows import SparseRows

SOURCE, TARGET, OUTPUT = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight"
SHARED, LOGITS_BIAS = "model.shared.weight", "final_logits_bias"
EMBEDDINGS = (SOURCE, TARGET, OUTPUT)
_SELF, _CROSS = ("q_proj", "k_proj", "v_proj"), ("k_proj", "v_proj")


@dataclass(frozen=True)
class Shape:
    """The sizes of a model, from its config.json."""

    width: int
    heads: int
    encoder_layers: int
    decoder_layers: int
    activation: str
    scale: float
    positions: int
    start: int
    padding: int

    @classmethod
    def read(cls, folder: Path) -> Shape:
        try:
            config = parse_json((folder / "config.json").read_bytes())
            return cls(
                width=config["d_model"],
                heads=config["encoder_attention_heads"],
                encoder_layers=config["encoder_layers"],
                decoder_layers=config["decoder_layers"],
                activation=config.get("activation_function", "gelu"),
                scale=config["d_model"] ** 0.5 if config.get("scale_embedding") else 1.0,
                positions=config.get("max_position_embeddings", 512),
                start=config["decoder_start_token_id"],
                padding=config["pad_token_id"],
            )
        except FileNotFoundError:
            raise InputError("holds no Marian model: there is no config.json", path=folder) from None
        except (OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError) as error:
            raise InputError(
                f"not the configuration of a Marian model: {error}", path=folder / "config.json"
            ) from error


class Weights(Mapping[str, Tensor]):
    """Tensors by Hugging Face's names; `block` returns the fused tensors by the name of their attention layer."""

    def __init__(
        self,
        blocks: Mapping[str, Tensor],
        parts: Mapping[str, tuple[str, int, int]],
        rows: Mapping[str, SparseRows] | None = None,
        screens: OutputScreens | None = None,
        reduced: ReducedBlocks | None = None,
    ) -> None:
        """`rows` are offsets that are added to the embedding tables wherever these are read.

        `screens` are shared by weights with the same output matrix. Pairs are read with the `reduced` blocks of the
        base, except for those that were copied.
        """
        self._blocks, self._parts, self.rows = dict(blocks), parts, rows or {}
        self._screens, self._reduced = screens or OutputScreens(), reduced
        self.pending: dict[str, tuple[Tensor, Tensor]] = {}

    def __getitem__(self, name: str) -> Tensor:
        if name in self._parts:
            block, start, stop = self._parts[name]
            return self._blocks[block][start:stop]
        return self._blocks[name]

    def __iter__(self) -> Iterator[str]:
        fused = {block for block, _, _ in self._parts.values()}
        yield from self._parts
        yield from (name for name in self._blocks if name not in fused)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def block(self, name: str) -> Tensor:
        return self._blocks[name]

    def block_of(self, name: str) -> str:
        return self._parts[name][0] if name in self._parts else name

    def members(self, block: str) -> list[tuple[str, int, int]]:
        """Return the tensors in a block, each with its first row and the row after its last."""
        return self._members.get(block) or [(block, 0, len(self._blocks[block]))]

    def multiply(self, bias: Tensor, x: Tensor, block: str) -> Tensor:
        """Return x W^T + bias, with pending updates, to read a pair."""
        matrix = self._blocks[block]
        reduced = self._reduced.of(block, matrix, len(x)) if self._reduced else None
        y = torch.addmm(bias, x, matrix.t()) if reduced is None else reduced_product(x, reduced.t()).add_(bias)
        return self.correct_output(y, x, block)

    def rounded(self, block: str) -> RoundedMatrix | None:
        """Return a frozen block in int8, if that is how it decodes."""
        return self._reduced.rounded(block, self._blocks[block]) if self._reduced else None

    def multiply_back(self, dy: Tensor, block: str) -> Tensor:
        """Return dY W of the backward pass, with pending updates."""
        matrix = self._blocks[block]
        reduced = self._reduced.of(block, matrix, len(dy)) if self._reduced else None
        return self.correct_gradient(dy @ matrix if reduced is None else reduced_product(dy, reduced), dy, block)

    def add_pending(self, block: str, left: Tensor, right: Tensor) -> None:
        """Store the update block -= left^T right until `apply_pending`.

        Until then, `correct_output` and `correct_gradient` add its effect to each product.
        """
        if block in self.pending:
            left, right = (torch.cat(sides) for sides in zip(self.pending[block], (left, right), strict=True))
        self.pending[block] = left, right

    def apply_pending(self) -> None:
        """Apply the pending updates: one pass over each matrix, for any number of updates."""
        for block, (left, right) in self.pending.items():
            self._blocks[block].addmm_(left.t(), right, alpha=-1)
        self.pending.clear()

    def correct_output(self, y: Tensor, x: Tensor, block: str) -> Tensor:
        """Add the effect of the pending updates to y = x W^T, in place."""
        if block in self.pending:
            left, right = self.pending[block]
            y.addmm_(x @ right.t(), left, alpha=-1)
        return y

    def correct_gradient(self, dx: Tensor, dy: Tensor, block: str) -> Tensor:
        """Add the effect of the pending updates to dx = dY W of the backward pass, in place."""
        if block in self.pending:
            left, right = self.pending[block]
            dx.addmm_(dy @ left.t(), right, alpha=-1)
        return dx

    @cached_property
    def _members(self) -> dict[str, list[tuple[str, int, int]]]:
        members: dict[str, list[tuple[str, int, int]]] = {}
        for name, (block, start, stop) in self._parts.items():
            members.setdefault(block, []).append((name, start, stop))
        return members

    def copy(self, names: Collection[str]) -> Weights:
        """Return weights with own copies of the named tensors; the other tensors stay shared."""
        copied = {self._parts[name][0] if name in self._parts else name for name in names}
        blocks = {name: block.clone() if name in copied else block for name, block in self._blocks.items()}
        for one, other in ((SOURCE, TARGET), (TARGET, OUTPUT)):
            if self._blocks[one] is self._blocks[other]:  # tied matrices stay tied
                blocks[other] = blocks[one]
        is_shared = blocks[OUTPUT] is self._blocks[OUTPUT]
        return Weights(blocks, self._parts, self.rows, self._screens if is_shared else None, self._reduced)

    def with_rows(self, rows: Mapping[str, SparseRows]) -> Weights:
        """Return the same weights with offsets for some rows of the embedding tables."""
        return Weights(self._blocks, self._parts, rows, self._screens, self._reduced)

    @cached_property
    def in_bfloat16(self) -> Weights:
        """The same weights, which read pairs in bfloat16. Learners of one base share them."""
        return Weights(self._blocks, self._parts, self.rows, self._screens, ReducedBlocks(self._blocks))

    @cached_property
    def in_int8(self) -> Weights:
        """The same weights, which read pairs in bfloat16 and decode in int8."""
        return Weights(self._blocks, self._parts, self.rows, self._screens, ReducedBlocks(self._blocks, True))

    def output_screen(self) -> OutputScreen | None:
        """Return the output matrix in int8; None if it is not worth making, or does not make the logits alone."""
        if OUTPUT in self.rows or self.canonical_name(OUTPUT) in self.pending:
            return None
        return self._screens.of(self._blocks[OUTPUT])

    def canonical_name(self, name: str) -> str:
        """Return the name under which updates of an embedding table are stored.

        Tied tables share the first of their names in EMBEDDINGS.
        """
        return next(first for first in (*EMBEDDINGS, name) if self._blocks[first] is self._blocks[name])

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all values; it identifies the base model of a delta."""
        digest = hashlib.blake2b(digest_size=16)
        for name in sorted(self):
            digest.update(name.encode())
            digest.update(self[name].detach().contiguous().view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()


def load_weights(folder: Path) -> Weights:
    """Read model.safetensors, or its shards, as float32."""
    tensors = {name: tensor.float() for path in _weight_files(folder) for name, tensor in _read(path).items()}
    named = _add_tied_names(tensors, folder)
    try:
        return fuse(named)
    except (LookupError, RuntimeError, TypeError) as error:
        raise InputError(f"holds no complete Marian model: {error}", path=folder) from error


def fuse(tensors: Mapping[str, Tensor]) -> Weights:
    """Concatenate the projection matrices of each attention layer."""
    blocks: dict[str, Tensor] = {}
    parts: dict[str, tuple[str, int, int]] = {}
    for attention in sorted({name.rpartition(".q_proj.")[0] for name in tensors if name.endswith(".q_proj.weight")}):
        members = _CROSS if attention.endswith("encoder_attn") else _SELF
        for kind in ("weight", "bias"):
            names = [f"{attention}.{member}.{kind}" for member in members]
            block = f"{attention}.fused.{kind}"
            blocks[block] = long_side_first(torch.cat([tensors[name] for name in names]))
            height = len(tensors[names[0]])
            parts |= {name: (block, i * height, (i + 1) * height) for i, name in enumerate(names)}
    rest = {name: tensor for name, tensor in tensors.items() if name not in parts}
    return Weights(blocks | _with_fast_layout(rest), parts)


def long_side_first(tensor: Tensor) -> Tensor:
    """Return the same matrix, contiguous along its longer side: a product with one vector then reads twice as fast."""
    tall = tensor.dim() == 2 and tensor.shape[0] > tensor.shape[1]
    return tensor.t().contiguous().t() if tall else tensor


def copy_with_layout(values: Tensor, like: Tensor) -> Tensor:
    """Return a copy of `values` in the memory layout of `like`: in another layout, sums differ in the last bits."""
    return torch.empty_like(like).copy_(values)


def _with_fast_layout(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Store matrices by their longer side and embedding tables by rows.

    A table that is tied to the output matrix stays one tensor, stored like a matrix.
    """
    tables = {id(tensors[name]) for name in (SOURCE, TARGET)} - {id(tensors[OUTPUT])}
    done: dict[int, Tensor] = {}
    for tensor in tensors.values():
        done.setdefault(id(tensor), tensor if id(tensor) in tables else long_side_first(tensor))
    return {name: done[id(tensor)] for name, tensor in tensors.items()}


def _add_tied_names(tensors: dict[str, Tensor], folder: Path) -> dict[str, Tensor]:
    """Give every embedding matrix an entry under its own name. Tied matrices still share one tensor."""
    shared = tensors.pop(SHARED, None)
    for name in (SOURCE, TARGET):
        if name not in tensors and shared is not None:
            tensors[name] = shared
    tensors.setdefault(OUTPUT, tensors.get(TARGET, torch.empty(0)))
    if SOURCE not in tensors or TARGET not in tensors:
        raise InputError("holds no Marian model: the embeddings are missing", path=folder)
    tensors[LOGITS_BIAS] = tensors.get(LOGITS_BIAS, torch.zeros(len(tensors[OUTPUT]))).flatten()
    return {name: tensor for name, tensor in tensors.items() if not name.endswith("embed_positions.weight")}


def _weight_files(folder: Path) -> list[Path]:
    whole = folder / "model.safetensors"
    shards = sorted(folder.glob("model-*-of-*.safetensors"))
    if whole.is_file():
        return [whole]
    if shards:
        return shards
    if list(folder.glob("*.bin")):
        raise InputError(f"has no safetensors; convert it once: mtloop model convert {folder} OUT", path=folder)
    raise InputError("holds no model.safetensors", path=folder)


def _read(path: Path) -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except (SafetensorError, OSError, ValueError, LookupError) as error:
        raise InputError(f"not a safetensors file: {error}", path=path) from error
