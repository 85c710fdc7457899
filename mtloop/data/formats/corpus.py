"""Pairs read from a file, and what a reader is: a function from a request to pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias, overload

from mtloop.core.errors import InputError
from mtloop.core.types import Fields, Segment, Truth

Pair: TypeAlias = tuple[Segment, Truth]


@dataclass(frozen=True, slots=True)
class Corpus(Sequence[Pair]):
    """The pairs of a file in order, and how many of its units were left out, by reason.

    A corpus is a stream: `for segment, truth in corpus`, `len(corpus)`, `corpus[0]`, `corpus[:100]`.

    >>> corpus = Corpus((), {"fuzzy": 2, "untranslated": 5})
    >>> print(corpus)
    0 pairs, 7 skipped (2 fuzzy, 5 untranslated)
    """

    items: tuple[Pair, ...]
    skipped: Mapping[str, int] = field(default_factory=dict)
    rows: tuple[int, ...] = ()
    """The position of each pair in the file, counted from 1, units left out included."""

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Pair]:
        return iter(self.items)

    @overload
    def __getitem__(self, index: int) -> Pair: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Pair, ...]: ...

    def __getitem__(self, index: int | slice) -> Pair | tuple[Pair, ...]:
        return self.items[index]

    def __str__(self) -> str:
        held = "1 pair" if len(self) == 1 else f"{len(self)} pairs"
        return f"{held}, {told}" if (told := tell(self.skipped)) else held


@dataclass(frozen=True, slots=True)
class Request:
    """What a reader is asked for. It counts what it leaves out in `skipped`, by reason, and notes what it keeps."""

    path: Path
    columns: Mapping[str, str] = field(default_factory=dict)
    source_lang: str | None = None
    target_lang: str | None = None
    skipped: Counter[str] = field(default_factory=Counter)
    rows: list[int] = field(default_factory=list)


class Reader(Protocol):
    """Yields the pairs that a file holds, in order; whatever is wrong with the file is an `InputError`."""

    def __call__(self, request: Request, /) -> Iterator[Pair]: ...


@dataclass(frozen=True, slots=True)
class Unit:
    """A translation unit as a file has it, before anyone asked whether it is fit to be a pair."""

    source: str
    target: str
    context: Fields = field(default_factory=dict)
    unfit: str = ""
    id: str = ""


def fit(units: Iterable[Unit], request: Request) -> Iterator[Pair]:
    """The units that make a pair; the others are counted by what they lack.

    An id is the unit's place in the file, skipped ones included, unless the unit brings its own: it stays the
    same whatever is skipped, and is the line number in line-based files.
    """
    found = False
    for number, unit in enumerate(units, start=1):
        if reason := unit.unfit or _lack(unit):
            request.skipped[reason] += 1
            continue
        found = True
        request.rows.append(number)
        yield Segment(unit.id or str(number), unit.source, unit.context), Truth((unit.target,))
    if not found:
        raise InputError(_no_pairs(request.skipped), path=request.path)


def tell(skipped: Mapping[str, int]) -> str:
    """What was skipped, in words; empty when nothing was."""
    reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(skipped.items()))
    return f"{sum(skipped.values())} skipped ({reasons})" if reasons else ""


def _lack(unit: Unit) -> str:
    if not unit.source.strip():
        return "empty source"
    return "" if unit.target.strip() else "untranslated"


def _no_pairs(skipped: Mapping[str, int]) -> str:
    told = tell(skipped) or "it has no units at all"
    return f"no translated pair in it: {told}; expected at least one unit with a source and a target"
