"""Which translated units are learned before a file is filled in: those most similar to the units to be filled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mtloop.core.types import Segment
from mtloop.data.formats.filling import FileUnit
from mtloop.text.pair_filter import PairFilter
from mtloop.text.similar_texts import SimilarTexts
from mtloop.text.text_unit import TextUnit

VOTES = 4  # at least; each unit to be filled votes for so many lessons
_COPIES = PairFilter(min_copied_words=2)


@dataclass(frozen=True)
class TranslatedUnit:
    """A unit that is translated already: a lesson."""

    segment: Segment
    target: str

    @classmethod
    def of(cls, unit: FileUnit) -> TranslatedUnit:
        return cls(segment_of(unit), unit.target)

    @property
    def key(self) -> tuple[str, str]:
        return self.segment.source, self.target

    @property
    def is_copy(self) -> bool:
        """Whether the target is a copy of the source with two or more lower-case words besides what is protected.

        It is not translated yet: such files begin as a copy of the file in the source language. Names and short labels
        may be the same in both languages.
        """
        if self.segment.source.split() != self.target.split():
            return False
        words = " ".join(TextUnit.of(self.segment.source, str(self.segment.context.get("syntax", ""))).parts)
        return _COPIES(words, words) == "copied"


def segment_of(unit: FileUnit) -> Segment:
    """Return the segment that a learner gets for a unit."""
    return Segment(unit.id, unit.source, {**unit.context, "syntax": unit.syntax})


def choose_lessons(units: Iterable[TranslatedUnit], sources: Iterable[str], limit: int) -> list[TranslatedUnit]:
    """Return at most `limit` lessons, in the order of `units`, which is from the oldest to the newest.

    Of equal units the newest is kept. Each source votes for the units most similar to it, and the units with the most
    votes are learned. If they are fewer than the limit, the newest of the others are learned too.
    """
    newest = _without_older(list(units))
    if len(newest) <= limit:
        return newest
    votes = _votes(newest, list(dict.fromkeys(sources)), limit)
    chosen = sorted(range(len(newest)), key=lambda number: (votes.get(number, 0.0), number), reverse=True)[:limit]
    return [newest[number] for number in sorted(chosen)]


def _without_older(units: Sequence[TranslatedUnit]) -> list[TranslatedUnit]:
    """Return the units without those that occur again later."""
    last = {unit.key: number for number, unit in enumerate(units)}
    return [units[number] for number in sorted(last.values())]


def _votes(units: Sequence[TranslatedUnit], sources: Sequence[str], limit: int) -> dict[int, float]:
    """Return the votes for each unit: the sum of its similarities to the sources, divided by its rank for each."""
    index = SimilarTexts(unit.segment.source for unit in units)
    count = max(VOTES, 2 * limit // max(1, len(sources)))
    votes: dict[int, float] = {}
    for source in sources:
        for rank, (number, similarity) in enumerate(index.most_similar(source, count), start=1):
            votes[number] = votes.get(number, 0.0) + similarity / rank
    return votes
