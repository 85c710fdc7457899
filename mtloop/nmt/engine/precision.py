"""Frozen matrices in fewer bits: bfloat16 to read pairs, and int8 to decode.

Reading takes half the bytes, and a third of the time where the processor has bfloat16. Decoding gains little from it,
and logits in bfloat16 would be equal where they are not. With `int8`, the hidden layers decode in int8: a quarter of
the bytes. What learns stays in float32: most updates are smaller than a step of bfloat16.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

Precision = Literal["auto", "float32", "bfloat16", "int8"]
LARGEST = 127  # of an int8
MIN_SIZE = 100_000  # numbers in a matrix: a smaller one is multiplied as fast in float32
MIN_ROWS = 4  # with fewer rows bfloat16 is no faster


def fastest_precision() -> Literal["float32", "bfloat16"]:
    """Return the precision that is fastest on this processor."""
    capabilities: dict[str, object] = getattr(torch.cpu, "get_capabilities", dict)()
    return "bfloat16" if capabilities.get("avx512_bf16") or capabilities.get("amx_bf16") else "float32"


class ReducedBlocks:
    """The blocks of a base model in bfloat16 and int8, each made when it is first needed and shared by all learners."""

    def __init__(self, blocks: Mapping[str, Tensor], decodes_in_int8: bool = False) -> None:
        self._blocks, self._reduced = dict(blocks), dict[str, Tensor]()
        self._rounded: dict[str, RoundedMatrix] = {}
        self._decodes_in_int8 = decodes_in_int8

    def of(self, name: str, block: Tensor, rows: int) -> Tensor | None:
        """Return a block in bfloat16; None if it is no longer that of the base, or for a few rows."""
        if rows < MIN_ROWS or self._blocks.get(name) is not block:
            return None
        if name not in self._reduced:
            self._reduced[name] = block.to(torch.bfloat16)
        return self._reduced[name]

    def rounded(self, name: str, block: Tensor) -> RoundedMatrix | None:
        """Return a block in int8 for decoding; None if it is not that of the base, or if decoding is in float32."""
        if not self._decodes_in_int8 or self._blocks.get(name) is not block or block.numel() < MIN_SIZE:
            return None
        if name not in self._rounded:
            self._rounded[name] = RoundedMatrix.of(block)
        return self._rounded[name]


@dataclass(frozen=True)
class RoundedMatrix:
    """A matrix whose rows are rounded to int8; sums are exact integers, so the number of rows of x changes nothing."""

    columns: Tensor
    scales: Tensor

    @classmethod
    def of(cls, matrix: Tensor) -> RoundedMatrix:
        scales = matrix.abs().amax(1).clamp_min(torch.finfo().tiny).div_(LARGEST)
        return cls((matrix / scales[:, None]).round_().to(torch.int8).contiguous().t(), scales)

    def multiply(self, bias: Tensor, x: Tensor) -> Tensor:
        """Return x W^T + bias; each row of x is rounded to int8, too."""
        scales = x.abs().amax(1, keepdim=True).clamp_min_(torch.finfo().tiny).div_(LARGEST)
        sums = torch._int_mm((x / scales).round_().to(torch.int8), self.columns)
        return torch.addcmul(bias, sums * scales, self.scales)


def reduced_product(x: Tensor, matrix: Tensor) -> Tensor:
    """Return x times a matrix in bfloat16, as float32."""
    return (x.to(torch.bfloat16) @ matrix).float()
