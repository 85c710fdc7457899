"""Recall of words at their first, second, (k+1)-th appearance: does one correction suffice? (2019)"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Protocol

import numpy as np

from mtloop.core.types import Step
from mtloop.metrics.base import Array, Ratio, first_reference, has_several_references, references
from mtloop.text.units import Units


class WordSet(Protocol):
    """A set of words, or of word hashes."""

    def __contains__(self, word: object, /) -> bool: ...

    def __len__(self) -> int: ...


class Recall(Ratio):
    """R_k: the share of words that the hypothesis contains, among reference words that occur for the (k+1)-th time.

    R0 is zero-shot (never seen before), R1 is one-shot (seen exactly once). Several ks are summed: R0+1.
    Words are types: a word that occurs twice in a reference counts once there. Only the first reference counts,
    because it is the post-edit. A segment without such words is 0/0 and does not change the score.
    Columns: words found, words counted.
    """

    def __init__(self, units: Units, ks: Collection[int] = (0,), seen: WordSet | None = None) -> None:
        """Words in `seen` (for example, those of the training data) are not counted; None counts all words."""
        self.units, self.ks, self.seen = units, frozenset(ks), seen
        self.name = recall_name(self.ks)
        self._first_of_several = False

    @property
    def signature(self) -> str:
        ks = "+".join(map(str, sorted(self.ks)))
        novel = "all" if self.seen is None else f"novel[{len(self.seen)}]"
        return f"{first_reference(self._first_of_several)}k:{ks}|{self.units.signature}|words:{novel}"

    def rows(self, steps: Sequence[Step]) -> Array:
        self._first_of_several = has_several_references(steps)
        count_row = self.make_row_counter()
        return np.array([count_row(step) for step in steps], dtype=float).reshape(-1, 2)

    def make_row_counter(self) -> Callable[[Step], tuple[int, int]]:
        """Return a function that computes the row of a step; call it for every step, in the order of the stream."""
        appearances: Counter[str] = Counter()

        def count_row(step: Step) -> tuple[int, int]:
            [(target, *_)] = references([step])
            words = self._words(target)
            counted = {word for word in words if appearances[word] in self.ks}
            appearances.update(words)
            return (len(counted & self.units(step.proposal.text)) if counted else 0), len(counted)

        return count_row

    def _words(self, text: str) -> frozenset[str]:
        words = self.units(text)
        return words if self.seen is None else frozenset(word for word in words if word not in self.seen)


def recall_name(ks: Collection[int]) -> str:
    """Return the metric's name: one k as r0, r1, r2, ...; several single digits from 0 as r01, r012; others as r1+2.

    >>> recall_name({0}), recall_name({0, 1}), recall_name({12}), recall_name({1, 2}), recall_name({0, 12})
    ('r0', 'r01', 'r12', 'r1+2', 'r0+12')
    """
    ordered = sorted(ks)
    return "r" + ("" if ordered[0] == 0 and ordered[-1] < 10 else "+").join(map(str, ordered))


def parse_recall(name: str) -> frozenset[int] | None:
    """Return the ks in a metric's name, or None if the name is not a recall metric.

    >>> sorted(parse_recall("r01")), sorted(parse_recall("r12")), sorted(parse_recall("r1+2")), parse_recall("rr")
    ([0, 1], [12], [1, 2], None)
    """
    if not re.fullmatch(r"r(0\d*|[1-9]\d*(\+[1-9]\d*)*|0(\+[1-9]\d*)+)", name):
        return None
    if name.startswith("r0") and "+" not in name:
        return frozenset(map(int, name[1:]))
    return frozenset(int(k) for k in name[1:].split("+"))
