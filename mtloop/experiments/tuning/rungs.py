"""Successive halving (Jamieson and Talwalkar, 2016): many trials on few rows, the best of them on more."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True)
class Rung:
    """A number of trials that all run on the first `rows` rows."""

    trials: int
    rows: int


def rungs(trials: int, rows: int, factor: int = 2) -> list[Rung]:
    """The rungs of a search. From each to the next, one trial in `factor` continues on `factor` times as many rows.

    The last rung has all rows.

    >>> rungs(16, 4000)
    [Rung(trials=16, rows=500), Rung(trials=8, rows=1000), Rung(trials=4, rows=2000), Rung(trials=2, rows=4000)]
    """
    counts = [trials]
    while counts[-1] > factor:
        counts.append(ceil(counts[-1] / factor))
    last = len(counts) - 1
    return [Rung(count, ceil(rows / factor ** (last - i))) for i, count in enumerate(counts)]
