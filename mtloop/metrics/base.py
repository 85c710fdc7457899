"""A metric is statistics per segment plus an aggregation of their sums.

From that follow, for every metric and at a cost of O(n): the corpus score, the score of every prefix of the
stream, block-wise scores, bootstrap intervals and paired tests. Nothing is ever scored twice.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mtloop.core.errors import InputError
from mtloop.core.types import Score, Step

Array: TypeAlias = NDArray[np.float64]


class Additive(ABC):
    """A metric whose segment statistics add up."""

    name: str
    higher_is_better: bool = True
    best: float = 100  # what a perfect system scores, where higher is better

    @property
    @abstractmethod
    def signature(self) -> str:
        """All that changes the number, in sacreBLEU's `key:value|key:value` form."""

    @abstractmethod
    def rows(self, steps: Sequence[Step]) -> Array:
        """One row of statistics a step, in the order of the stream: shape (steps, columns)."""

    @abstractmethod
    def aggregate(self, sums: Array) -> Array:
        """The scores of many summed rows: shape (m, columns) to (m,). NaN says 0/0."""

    def score(self, steps: Sequence[Step]) -> Score:
        """The score of the whole stream."""
        return self.score_rows(self.rows(steps))

    def score_rows(self, rows: Array) -> Score:
        """The score of rows computed before."""
        sums = rows.sum(axis=0)
        numerator, denominator = self.fraction(sums)
        return Score(self.name, float(self.aggregate(sums[None])[0]), self.signature, numerator, denominator)

    def fraction(self, sums: Array) -> tuple[float | None, float | None]:
        """The two counts behind the score, where it is a plain ratio."""
        return None, None


class Ratio(Additive):
    """100 times the sum of the first column over the sum of the second; 0/0 stays undefined."""

    def aggregate(self, sums: Array) -> Array:
        return divide(100 * sums[:, 0], sums[:, 1])

    def fraction(self, sums: Array) -> tuple[float | None, float | None]:
        return float(sums[0]), float(sums[1])


def divide(numerator: Array, denominator: Array) -> Array:
    """Elementwise, with NaN where there is nothing to divide by."""
    defined = denominator != 0
    return np.divide(numerator, denominator, out=np.full_like(numerator, math.nan), where=defined)


def hypotheses(steps: Sequence[Step]) -> list[str]:
    return [step.proposal.text for step in steps]


def references(steps: Sequence[Step]) -> list[tuple[str, ...]]:
    """The references of every step; a step without one cannot be scored against anything."""
    found = [step.references for step in steps]
    for step, texts in zip(steps, found, strict=True):
        if not texts:
            segment = step.proposal.segment.id
            raise InputError(f"segment {segment!r} has neither a reference nor a post-edit; give one with --ref")
    return found
