"""Batches of sentence pairs with similar lengths, limited by a number of tokens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from mtloop.nmt.training.sentencepiece_model import PAD
from mtloop.nmt.training.token_corpus import TokenCorpus
from mtloop.nmt.training.token_rows import TokenRows

LENGTH_MULTIPLE = 8  # padded lengths are multiples of this: fewer shapes, and efficient for tensor cores


@dataclass(frozen=True)
class PaddedBatch:
    """Padded token ids, one row per sentence."""

    source: torch.Tensor
    target: torch.Tensor

    @property
    def tokens(self) -> int:
        """The number of tokens on both sides, padding included."""
        return self.source.numel() + self.target.numel()


class Batches:
    """A corpus on a device, split into batches for each epoch; the same seed gives the same batches."""

    def __init__(self, corpus: TokenCorpus, *, tokens: int, seed: int, device: torch.device) -> None:
        self.tokens, self.seed, self.device = tokens, seed, device
        self._source, self._target = (_DeviceRows(rows, device) for rows in (corpus.source, corpus.target))
        self._widths = [_padded_lengths(rows.lengths) for rows in (corpus.source, corpus.target)]

    def epoch(self, number: int, skip: int = 0) -> Iterator[PaddedBatch]:
        """Yield the batches of an epoch, without the first `skip` batches."""
        rng = np.random.default_rng((self.seed, number))
        order = self._order(rng)
        bounds = self._bounds(order)
        rows = torch.from_numpy(order).to(self.device)
        for index in rng.permutation(len(bounds))[skip:]:
            start, stop, source_width, target_width = bounds[index]
            chosen = rows[start:stop]
            yield PaddedBatch(self._source.take(chosen, source_width), self._target.take(chosen, target_width))

    def count(self) -> int:
        """Return the number of batches in an epoch."""
        return len(self._bounds(self._order(np.random.default_rng(self.seed))))

    def _bounds(self, order: npt.NDArray[np.int64]) -> list[tuple[int, int, int, int]]:
        source, target = (widths[order] for widths in self._widths)
        return list(split_into_batches(source, target, self.tokens))

    def _order(self, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Return a random order sorted by source width, then by target width.

        The target widths rise and fall in turn, so that neighbours have similar widths.
        """
        order = rng.permutation(len(self._widths[0]))
        source, target = (widths[order] // LENGTH_MULTIPLE for widths in self._widths)
        limit = int(target.max()) + 1
        alternating = np.where(source % 2, limit - target, target)
        keys = source * (limit + 1) + alternating
        return order[np.argsort(keys.astype(np.min_scalar_type(keys.max())), kind="stable")]  # small integers sort fast


class _DeviceRows:
    """The token rows of one side, on a device."""

    def __init__(self, rows: TokenRows, device: torch.device) -> None:
        self._flat, self._starts, self._lengths = (
            torch.from_numpy(array).to(device) for array in (rows.flat, rows.starts, rows.lengths)
        )

    def take(self, chosen: torch.Tensor, width: int) -> torch.Tensor:
        """Return the chosen rows, padded to `width`."""
        columns = torch.arange(width, device=chosen.device)
        inside = columns < self._lengths[chosen, None]
        indices = torch.where(inside, self._starts[chosen, None] + columns, 0)
        return torch.where(inside, self._flat[indices].long(), PAD)


def split_into_batches(
    source: npt.NDArray[np.int64], target: npt.NDArray[np.int64], tokens: int
) -> Iterator[tuple[int, int, int, int]]:
    """Split sorted pairs into batches of at most `tokens`; yield (start, stop, source width, target width).

    >>> widths = np.array([8, 8, 8, 16, 16])
    >>> list(split_into_batches(widths, widths, tokens=64))
    [(0, 3, 8, 8), (3, 5, 16, 16)]
    """
    start = 0
    while start < len(source):
        window = slice(start, start + 1 + tokens // (2 * LENGTH_MULTIPLE))
        widest = [np.maximum.accumulate(widths[window]) for widths in (source, target)]
        areas = sum(widest) * np.arange(1, len(widest[0]) + 1)
        size = max(1, int(np.searchsorted(areas, tokens, side="right")))
        size += start + size + 1 == len(source)  # no last batch of size 1: it would trigger a new compilation
        yield start, start + size, int(widest[0][size - 1]), int(widest[1][size - 1])
        start += size


def _padded_lengths(lengths: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    return -(-lengths.astype(np.int64) // LENGTH_MULTIPLE) * LENGTH_MULTIPLE
