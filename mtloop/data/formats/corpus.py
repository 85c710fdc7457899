"""The pairs read from a file, and the interface of a reader: a function from a request to pairs."""

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
    """The pairs of a file in order, and the number of skipped units by reason.

    A corpus is a stream: `for segment, truth in corpus`, `len(corpus)`, `corpus[0]`, `corpus[:100]`.

    >>> corpus = Corpus((), {"fuzzy": 2, "untranslated": 5})
    >>> print(corpus)
    0 pairs, 7 skipped (2 fuzzy, 5 untranslated)
    """

    items: tuple[Pair, ...]
    skipped: Mapping[str, int] = field(default_factory=dict)
    rows: tuple[int, ...] = ()
    """The position of each pair in the file, counted from 1. Skipped units count too."""

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
        pairs = "1 pair" if len(self) == 1 else f"{len(self)} pairs"
        return f"{pairs}, {skipped}" if (skipped := describe_skipped(self.skipped)) else pairs


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """The input of a reader. The reader counts skipped units in `skipped`, by reason, and lists kept rows in `rows`."""

    path: Path
    columns: Mapping[str, str] = field(default_factory=dict)
    source_lang: str | None = None
    target_lang: str | None = None
    skipped: Counter[str] = field(default_factory=Counter)
    rows: list[int] = field(default_factory=list)


class Reader(Protocol):
    """Yield the pairs of a file in order. Raise InputError for any problem with the file."""

    def __call__(self, request: ReadRequest, /) -> Iterator[Pair]: ...


@dataclass(frozen=True, slots=True)
class TranslationUnit:
    """A translation unit of a file. `skip_reason` is the reason why it cannot become a pair (empty: it can)."""

    source: str
    target: str
    context: Fields = field(default_factory=dict)
    skip_reason: str = ""
    id: str = ""


def to_pairs(units: Iterable[TranslationUnit], request: ReadRequest) -> Iterator[Pair]:
    """Yield a pair for each usable unit. Count the other units in `request.skipped`, by reason.

    The id of a segment is the id of its unit, or else the unit's position in the file. Skipped units count too, so an
    id does not depend on the skipped units.
    """
    found = False
    for number, unit in enumerate(units, start=1):
        if reason := unit.skip_reason or _missing_text(unit):
            request.skipped[reason] += 1
            continue
        found = True
        request.rows.append(number)
        yield Segment(unit.id or str(number), unit.source, unit.context), Truth((unit.target,))
    if not found:
        raise InputError(_no_pairs(request.skipped), path=request.path)


def describe_skipped(skipped: Mapping[str, int]) -> str:
    """Return a text with the number of skipped units by reason, empty if there are none."""
    reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(skipped.items()))
    return f"{sum(skipped.values())} skipped ({reasons})" if reasons else ""


def _missing_text(unit: TranslationUnit) -> str:
    if not unit.source.strip():
        return "empty source"
    return "" if unit.target.strip() else "untranslated"


def _no_pairs(skipped: Mapping[str, int]) -> str:
    details = describe_skipped(skipped) or "the file has no units"
    return f"no translated pair found: {details}; expected at least one unit with a source and a target"
