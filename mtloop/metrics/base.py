"""A metric is a row of statistics per segment plus an aggregation of summed rows.

This gives every metric, in O(n): the corpus score, the score of every prefix of the stream, block-wise scores,
bootstrap intervals and paired tests. No segment is scored twice.
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
    """An additive metric: statistics per segment, and an aggregation of their sums."""

    name: str
    higher_is_better: bool = True
    best_score: float = 100  # the score of a perfect system; used only where higher is better
    digits: int = 2  # decimals in tables

    @property
    @abstractmethod
    def signature(self) -> str:
        """Every setting that changes the score, in sacreBLEU's `key:value|key:value` form."""

    @abstractmethod
    def rows(self, steps: Sequence[Step]) -> Array:
        """Return one row of statistics per step, in the order of the stream: shape (steps, columns)."""

    @abstractmethod
    def aggregate(self, sums: Array) -> Array:
        """Return the scores of m summed rows: shape (m, columns) to (m,). NaN means 0/0."""

    def score(self, steps: Sequence[Step]) -> Score:
        """Return the score of the whole stream."""
        return self.score_rows(self.rows(steps))

    def score_rows(self, rows: Array) -> Score:
        """Return the score of precomputed rows."""
        sums = rows.sum(axis=0)
        value, fraction = float(self.aggregate(sums[None])[0]), self.fraction(sums)
        return Score(self.name, value, self.signature, *fraction, digits=self.digits)

    def fraction(self, sums: Array) -> tuple[float | None, float | None]:
        """Return numerator and denominator of the score; (None, None) if it is not a plain ratio."""
        return None, None


class Ratio(Additive):
    """100 times the sum of the first column, divided by the sum of the second; NaN if the second is 0."""

    def aggregate(self, sums: Array) -> Array:
        return divide(100 * sums[:, 0], sums[:, 1])

    def fraction(self, sums: Array) -> tuple[float | None, float | None]:
        return float(sums[0]), float(sums[1])


def divide(numerator: Array, denominator: Array) -> Array:
    """Divide elementwise; NaN where the denominator is 0."""
    defined = denominator != 0
    return np.divide(numerator, denominator, out=np.full_like(numerator, math.nan), where=defined)


def hypotheses(steps: Sequence[Step]) -> list[str]:
    return [step.proposal.text for step in steps]


def references(steps: Sequence[Step]) -> list[tuple[str, ...]]:
    """Return the references of every step; raise InputError if a step has none."""
    all_references = [step.references for step in steps]
    for step, texts in zip(steps, all_references, strict=True):
        if not texts:
            segment = step.proposal.segment.id
            raise InputError(f"segment {segment!r} has neither a reference nor a post-edit; give one with --ref")
    return all_references


def has_several_references(steps: Sequence[Step]) -> bool:
    """Return whether any step has more than one reference."""
    return any(len(step.references) > 1 for step in steps)


def first_reference(of_several: bool) -> str:
    """Return the part of a signature that says: only the first of several references counts."""
    return "refs:first|" if of_several else ""
