"""The pairs read from a file, and the interface of a reader: a function from a request to pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias, overload

from mtloop.core.errors import InputError
from mtloop.core.types import Fields, Segment, Truth
from mtloop.data.languages import LanguageChoice, common_tag
from mtloop.text.messages import join_names

Pair: TypeAlias = tuple[Segment, Truth]

IN_OTHER_LANGUAGES, IN_OTHER_VARIETY = "in other languages", "in another variety"
LANGUAGE_REASONS = frozenset({IN_OTHER_LANGUAGES, IN_OTHER_VARIETY})


@dataclass(frozen=True, slots=True)
class Corpus(Sequence[Pair]):
    """The pairs of a file in order, the number of skipped units by reason, and the languages of the texts.

    A corpus is a stream: `for segment, truth in corpus`, `len(corpus)`, `corpus[0]`, `corpus[:100]`. The languages are
    those that the file declares, else the requested ones, else "".

    >>> corpus = Corpus((), {"fuzzy": 2, "untranslated": 5})
    >>> print(corpus)
    0 pairs, 7 skipped (2 fuzzy, 5 untranslated)
    """

    items: tuple[Pair, ...]
    skipped: Mapping[str, int] = field(default_factory=dict)
    rows: tuple[int, ...] = ()
    """The position of each pair in the file, counted from 1. Skipped units count too."""
    path: Path | None = None
    source_lang: str = ""
    target_lang: str = ""
    notes: tuple[str, ...] = ()
    """What else the user should know about the reading."""

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
        return describe_reading(len(self), self.skipped)

    @property
    def skipped_message(self) -> str:
        """A line for the user about skipped units, with the file name; empty if there are none."""
        return skipped_message(self.path, len(self), self.skipped)

    @property
    def messages(self) -> list[str]:
        """All lines for the user, with the file name: about skipped units, and the notes."""
        return reading_messages(self.path, len(self), self.skipped, self.notes)


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """The input of a reader. The reader counts skipped units in `skipped`, by reason, and lists kept rows in `rows`.

    `languages` collects the tags of the pairs, `other_languages` those of units that were skipped for their language,
    `notes` what else the user should know.

    With `keeps_elements`, a text with inline elements stays a fragment of XML, and its context has the format "xml".
    Only the reader of TMX does so.
    """

    path: Path
    columns: Mapping[str, str] = field(default_factory=dict)
    source_lang: str | None = None
    target_lang: str | None = None
    skipped: Counter[str] = field(default_factory=Counter)
    rows: list[int] = field(default_factory=list)
    languages: set[tuple[str, str]] = field(default_factory=set)
    other_languages: dict[str, None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    keeps_elements: bool = False

    def read_languages(self) -> tuple[str, str]:
        """The languages of the pairs so far: those of the file, else the requested ones, else ""."""
        sources, targets = zip(*self.languages, strict=True) if self.languages else ((), ())
        return common_tag(sources) or self.source_lang or "", common_tag(targets) or self.target_lang or ""


class Reader(Protocol):
    """Yield the pairs of a file in order. Raise InputError for any problem with the file."""

    def __call__(self, request: ReadRequest, /) -> Iterator[Pair]: ...


@dataclass(frozen=True, slots=True)
class TranslationUnit:
    """A translation unit of a file. `skip_reason` is the reason why it cannot become a pair (empty: it can).

    `languages` are the tags of source and target ("": unknown); of a unit in other languages, all its tags.
    """

    source: str
    target: str
    context: Fields = field(default_factory=dict)
    skip_reason: str = ""
    id: str = ""
    languages: tuple[str, ...] = ("", "")


def to_pairs(units: Iterable[TranslationUnit], request: ReadRequest) -> Iterator[Pair]:
    """Yield a pair for each usable unit. Count the other units in `request.skipped`, by reason.

    The id of a segment is the id of its unit, or else the unit's position in the file. Skipped units count too, so an
    id does not depend on the skipped units.
    """
    found = False
    for number, unit in enumerate(units, start=1):
        if reason := unit.skip_reason or _missing_text(unit):
            request.skipped[reason] += 1
            if reason in LANGUAGE_REASONS:
                request.other_languages.update(dict.fromkeys(filter(None, unit.languages)))
            continue
        found = True
        request.rows.append(number)
        request.languages.add((unit.languages[0], unit.languages[1]))
        yield Segment(unit.id or str(number), unit.source, unit.context), Truth((unit.target,))
    if not found:
        raise InputError(_no_pairs(request), path=request.path)


def describe_skipped(skipped: Mapping[str, int]) -> str:
    """Return a text with the number of skipped units by reason, empty if there are none."""
    reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(skipped.items()))
    return f"{sum(skipped.values())} skipped ({reasons})" if reasons else ""


def describe_reading(pairs: int, skipped: Mapping[str, int]) -> str:
    """Return a text with the numbers of pairs and of skipped units."""
    text = "1 pair" if pairs == 1 else f"{pairs} pairs"
    return f"{text}, {described}" if (described := describe_skipped(skipped)) else text


def skipped_message(path: Path | None, pairs: int, skipped: Mapping[str, int]) -> str:
    """Return a line for the user about skipped units, with the file name; empty if there are none.

    >>> skipped_message(Path("de.po"), 310, {"untranslated": 49})
    'de.po: 310 pairs, 49 skipped (49 untranslated)'
    """
    return f"{path}: {describe_reading(pairs, skipped)}" if skipped else ""


def reading_messages(path: Path | None, pairs: int, skipped: Mapping[str, int], notes: Iterable[str]) -> list[str]:
    """Return the lines for the user about skipped units, and the notes, each with the file name."""
    return [*filter(None, [skipped_message(path, pairs, skipped)]), *(f"{path}: {note}" for note in notes)]


def _missing_text(unit: TranslationUnit) -> str:
    if not unit.source.strip():
        return "empty source"
    return "" if unit.target.strip() else "untranslated"


def _no_pairs(request: ReadRequest) -> str:
    details = describe_skipped(request.skipped) or "the file has no units"
    if request.other_languages:
        found = f"the file has: {join_names(request.other_languages)}"
        return f"no translated pair found: {details}; {found}; choose with {_missing_languages(request)}"
    return f"no translated pair found: {details}; expected at least one unit with a source and a target"


def _missing_languages(request: ReadRequest) -> str:
    """Return the options with a language that no text has; both options if every requested language is there."""
    wanted = {"--source-lang": request.source_lang, "--target-lang": request.target_lang}
    missing = [
        option
        for option, tag in wanted.items()
        if tag and not any(map(LanguageChoice(tag).matches, request.other_languages))
    ]
    return ", ".join(missing or wanted)
