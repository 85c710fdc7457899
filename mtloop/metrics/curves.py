"""A score as it moves along the stream. All of them are sums of rows: O(n), whatever the metric."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mtloop.core.blocks import by_words
from mtloop.core.types import Step
from mtloop.metrics.base import Additive, Array


def cumulative(metric: Additive, rows: Array) -> Array:
    """The score of every prefix: point i is what the first i+1 segments score. NaN until there is something."""
    return metric.aggregate(np.cumsum(rows, axis=0))


def difference(metric: Additive, rows: Array, baseline: Array) -> Array:
    """Cumulative score less the baseline's at every segment (Figure 2 of the 2019 paper)."""
    return cumulative(metric, rows) - cumulative(metric, baseline)


def blocks(steps: Sequence[Step], words: int) -> NDArray[np.intp]:
    """Where each block of about `words` source words ends (exclusive). A tail under half a block joins the last.

    A stream without any source text (nothing but hypotheses and references) is cut by its references.
    """
    text = _source if any(step.proposal.segment.source for step in steps) else _reference
    cut = list(by_words(steps, words, text))
    if len(cut) > 1 and sum(len(text(step).split()) for step in cut[-1]) < words / 2:
        cut[-2:] = [cut[-2] + cut[-1]]
    return np.cumsum([len(block) for block in cut], dtype=np.intp)


def without_model(steps: Sequence[Step], ends: NDArray[np.intp]) -> int:
    """How many blocks at the beginning hold a proposal made before the system had any model (its memo says so)."""
    copied = [index for index, step in enumerate(steps) if step.proposal.memo.get("model") == "none"]
    return int(np.searchsorted(ends, copied[-1], side="right")) + 1 if copied else 0


def _source(step: Step) -> str:
    return step.proposal.segment.source


def _reference(step: Step) -> str:
    return step.references[0] if step.references else ""


def block_sums(rows: Array, ends: NDArray[np.intp]) -> Array:
    """The rows of each block, summed: shape (blocks, columns)."""
    return np.add.reduceat(rows, np.concatenate([[0], ends[:-1]]), axis=0)


def blockwise(metric: Additive, rows: Array, ends: NDArray[np.intp]) -> Array:
    """The score of each block alone (2012: exposes over- and underfitting)."""
    return metric.aggregate(block_sums(rows, ends))


def incremental(metric: Additive, rows: Array, ends: NDArray[np.intp]) -> Array:
    """The score of all blocks so far, at the end of each (2012: what the user has had of the system)."""
    return metric.aggregate(np.cumsum(block_sums(rows, ends), axis=0))
