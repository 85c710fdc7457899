"""How immediately a system learns: recall of words at their first, second, (k+1)-th appearance (2019)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Protocol

import numpy as np

from mtloop.core.types import Step
from mtloop.metrics.base import Array, Ratio, references
from mtloop.text.units import Units


class Seen(Protocol):
    """Words known before, as a set or as a set of hashes."""

    def __contains__(self, word: object, /) -> bool: ...

    def __len__(self) -> int: ...


class Recall(Ratio):
    """R_k: of the words whose (k+1)-th reference of the stream this is, how many did the hypothesis have?

    R0 is zero-shot (never seen before), R1 one-shot (seen exactly once); several ks are summed: R0+1.
    Words are types: one that stands twice in a reference counts once there. Of several references the first
    counts, being the post-edit. A segment without such words is 0/0 and changes nothing.
    Columns: found, wanted.
    """

    def __init__(self, units: Units, ks: Collection[int] = (0,), seen: Seen | None = None) -> None:
        """`seen` (say, the words of the training data) leaves only truly novel words to be counted."""
        self.units, self.ks, self.seen = units, frozenset(ks), seen
        self.name = recall_name(self.ks)

    @property
    def signature(self) -> str:
        ks = "+".join(map(str, sorted(self.ks)))
        novel = "all" if self.seen is None else f"novel[{len(self.seen)}]"
        return f"k:{ks}|{self.units.signature}|words:{novel}"

    def rows(self, steps: Sequence[Step]) -> Array:
        follow = self.follow()
        return np.array([follow(step) for step in steps], dtype=float).reshape(-1, 2)

    def follow(self) -> Callable[[Step], tuple[int, int]]:
        """The rows of a stream as it comes: call the result with one step after the other."""
        appearances: Counter[str] = Counter()

        def row(step: Step) -> tuple[int, int]:
            [(target, *_)] = references([step])
            words = self._words(target)
            due = {word for word in words if appearances[word] in self.ks}
            appearances.update(words)
            return (len(due & self.units(step.proposal.text)) if due else 0), len(due)

        return row

    def _words(self, text: str) -> frozenset[str]:
        words = self.units(text)
        return words if self.seen is None else frozenset(word for word in words if word not in self.seen)


def recall_name(ks: Collection[int]) -> str:
    """r0, r1, r2, ...; digits from zero on r01, r012; else with a plus.

    >>> recall_name({0}), recall_name({0, 1}), recall_name({12}), recall_name({1, 2}), recall_name({0, 12})
    ('r0', 'r01', 'r12', 'r1+2', 'r0+12')
    """
    ordered = sorted(ks)
    return "r" + ("" if ordered[0] == 0 and ordered[-1] < 10 else "+").join(map(str, ordered))


def parse_recall(name: str) -> frozenset[int] | None:
    """The ks that a name asks for, or None if it names no recall.

    >>> sorted(parse_recall("r01")), sorted(parse_recall("r12")), sorted(parse_recall("r1+2")), parse_recall("rr")
    ([0, 1], [12], [1, 2], None)
    """
    if not re.fullmatch(r"r(0\d*|[1-9]\d*(\+[1-9]\d*)*|0(\+[1-9]\d*)+)", name):
        return None
    if name.startswith("r0") and "+" not in name:
        return frozenset(map(int, name[1:]))
    return frozenset(int(k) for k in name[1:].split("+"))
