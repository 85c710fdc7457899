"""Scores along the stream, from cumulative or block-wise sums of rows: O(n) for every metric."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mtloop.core.blocks import split_by_words
from mtloop.core.types import Step
from mtloop.metrics.base import Additive, Array
from mtloop.text.tokenisers import Tokeniser


def cumulative(metric: Additive, rows: Array) -> Array:
    """Return the score of every prefix: point i is the score of the first i+1 segments, NaN while it is 0/0."""
    return metric.aggregate(np.cumsum(rows, axis=0))


def difference(metric: Additive, rows: Array, baseline: Array) -> Array:
    """Return the cumulative score minus the baseline's at every segment (Figure 2 of the 2019 paper)."""
    return cumulative(metric, rows) - cumulative(metric, baseline)


@dataclass(frozen=True)
class BlockWords:
    """The tokenisers that count the words of a block; None: words are separated by spaces."""

    source: Tokeniser | None = None
    reference: Tokeniser | None = None

    @property
    def signature(self) -> str:
        """The tokenisers that are not spaces, such as "[source:ja-mecab-0.996-IPA]"; empty if there are none."""
        named = {"source": self.source, "reference": self.reference}
        parts = [f"{side}:{tokeniser.signature}" for side, tokeniser in named.items() if tokeniser]
        return f"[{','.join(parts)}]" if parts else ""

    def of_stream(self, steps: Sequence[Step]) -> BlockWords:
        """Return only the tokeniser of the side that is counted: the source, or else the reference."""
        return replace(self, reference=None) if has_source(steps) else replace(self, source=None)

    def text(self, steps: Sequence[Step]) -> Callable[[Step], str]:
        """Return the function that gives the text of a step, with spaces: the source, or else the reference."""
        if has_source(steps):
            return lambda step: _spaced(step.proposal.segment.source, self.source)
        return lambda step: _spaced(_reference(step), self.reference)


def block_ends(steps: Sequence[Step], words: int, counting: BlockWords | None = None) -> NDArray[np.intp]:
    """Return the end (exclusive) of each block of about `words` source words; a tail under half a block joins the last.

    A stream without source text (only hypotheses and references) is split by reference words.
    """
    text = (counting or BlockWords()).text(steps)
    blocks = list(split_by_words(steps, words, text))
    if len(blocks) > 1 and sum(len(text(step).split()) for step in blocks[-1]) < words / 2:
        blocks[-2:] = [blocks[-2] + blocks[-1]]
    return np.cumsum([len(block) for block in blocks], dtype=np.intp)


def has_source(steps: Sequence[Step]) -> bool:
    """Return whether any step has source text."""
    return any(step.proposal.segment.source for step in steps)


def count_blocks_without_model(steps: Sequence[Step], ends: NDArray[np.intp]) -> int:
    """Return the number of leading blocks up to the last proposal made without a model (`memo["model"] == "none"`)."""
    copied = [index for index, step in enumerate(steps) if step.proposal.memo.get("model") == "none"]
    return int(np.searchsorted(ends, copied[-1], side="right")) + 1 if copied else 0


def _spaced(text: str, tokeniser: Tokeniser | None) -> str:
    return text if tokeniser is None else " ".join(tokeniser(text))


def _reference(step: Step) -> str:
    return step.references[0] if step.references else ""


def block_sums(rows: Array, ends: NDArray[np.intp]) -> Array:
    """Return the sum of the rows of each block: shape (blocks, columns)."""
    return np.add.reduceat(rows, np.concatenate([[0], ends[:-1]]), axis=0)


def blockwise(metric: Additive, rows: Array, ends: NDArray[np.intp]) -> Array:
    """Return the score of each block alone (2012: shows over- and underfitting)."""
    return metric.aggregate(block_sums(rows, ends))


def incremental(metric: Additive, rows: Array, ends: NDArray[np.intp]) -> Array:
    """Return the score of all blocks so far, at the end of each block (2012: the quality the user got until then)."""
    return metric.aggregate(np.cumsum(block_sums(rows, ends), axis=0))
