"""Batches: pairs of like lengths together, as many as fit into so many tokens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from mtloop.nmt.training.sentencepiece_model import PAD
from mtloop.nmt.training.token_corpus import TokenCorpus
from mtloop.nmt.training.token_rows import TokenRows

MULTIPLE = 8  # lengths are padded to a multiple of this: few shapes, and what matrix units like


@dataclass(frozen=True)
class PaddedBatch:
    """Padded ids, a row a sentence."""

    source: torch.Tensor
    target: torch.Tensor

    @property
    def tokens(self) -> int:
        """Padding included."""
        return self.source.numel() + self.target.numel()


class Batches:
    """A corpus on a device, and the batches of each epoch; the same seed gives the same batches."""

    def __init__(self, corpus: TokenCorpus, *, tokens: int, seed: int, device: torch.device) -> None:
        self.tokens, self.seed, self.device = tokens, seed, device
        self._source, self._target = (_Side(rows, device) for rows in (corpus.source, corpus.target))
        self._widths = [_padded(rows.lengths) for rows in (corpus.source, corpus.target)]

    def epoch(self, number: int, skip: int = 0) -> Iterator[PaddedBatch]:
        """The batches of an epoch, without the first `skip`."""
        rng = np.random.default_rng((self.seed, number))
        order = self._order(rng)
        blocks = self._blocks(order)
        rows = torch.from_numpy(order).to(self.device)
        for index in rng.permutation(len(blocks))[skip:]:
            start, stop, source, target = blocks[index]
            chosen = rows[start:stop]
            yield PaddedBatch(self._source.take(chosen, source), self._target.take(chosen, target))

    def count(self) -> int:
        """Batches in an epoch."""
        return len(self._blocks(self._order(np.random.default_rng(self.seed))))

    def _blocks(self, order: npt.NDArray[np.int64]) -> list[tuple[int, int, int, int]]:
        source, target = (widths[order] for widths in self._widths)
        return list(cut(source, target, self.tokens))

    def _order(self, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """By source width; within it up and down by target width in turn, so that neighbours are alike; else random."""
        order = rng.permutation(len(self._widths[0]))
        source, target = (widths[order] // MULTIPLE for widths in self._widths)
        most = int(target.max()) + 1
        turned = np.where(source % 2, most - target, target)
        keys = source * (most + 1) + turned
        return order[np.argsort(keys.astype(np.min_scalar_type(keys.max())), kind="stable")]  # small integers sort fast


class _Side:
    """One side's rows on a device, where they are padded."""

    def __init__(self, rows: TokenRows, device: torch.device) -> None:
        self._flat, self._starts, self._lengths = (
            torch.from_numpy(array).to(device) for array in (rows.flat, rows.starts, rows.lengths)
        )

    def take(self, chosen: torch.Tensor, width: int) -> torch.Tensor:
        columns = torch.arange(width, device=chosen.device)
        inside = columns < self._lengths[chosen, None]
        places = torch.where(inside, self._starts[chosen, None] + columns, 0)
        return torch.where(inside, self._flat[places].long(), PAD)


def cut(
    source: npt.NDArray[np.int64], target: npt.NDArray[np.int64], tokens: int
) -> Iterator[tuple[int, int, int, int]]:
    """Cut sorted pairs into blocks (start, stop, source width, target width) of at most so many tokens.

    >>> widths = np.array([8, 8, 8, 16, 16])
    >>> list(cut(widths, widths, tokens=64))
    [(0, 3, 8, 8), (3, 5, 16, 16)]
    """
    start = 0
    while start < len(source):
        window = slice(start, start + 1 + tokens // (2 * MULTIPLE))
        widest = [np.maximum.accumulate(widths[window]) for widths in (source, target)]
        areas = sum(widest) * np.arange(1, len(widest[0]) + 1)
        size = max(1, int(np.searchsorted(areas, tokens, side="right")))
        size += start + size + 1 == len(source)  # no last batch of one: a compiled model would compile again for it
        yield start, start + size, int(widest[0][size - 1]), int(widest[1][size - 1])
        start += size


def _padded(lengths: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    return -(-lengths.astype(np.int64) // MULTIPLE) * MULTIPLE
