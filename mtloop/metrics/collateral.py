"""Harm by learning: what a lesson does to segments whose source is almost that of the lesson.

A learner that was taught "Log in" may translate "Log out" better than before, or worse, or take over the lesson's
translation. This is counted on segments whose source differs by one or two words from an earlier one, the *lesson*, and
against the output of a system that does not learn, the *baseline*.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from rapidfuzz.distance import Levenshtein

from mtloop.core.errors import InputError
from mtloop.core.types import Step
from mtloop.metrics.base import Array, Ratio, references
from mtloop.metrics.curves import BlockWords
from mtloop.metrics.quality import TER
from mtloop.metrics.text_caches import forget_texts
from mtloop.text.tokenisers import Tokeniser

MAX_CHANGED_WORDS = 2
MIN_TER_CHANGE = 15.0  # points of TER; smaller differences are often a matter of taste
_WORD = re.compile(r"\w+(?:[-'’]\w+)*|[^\w\s]")


@dataclass(frozen=True)
class Neighbour:
    """A segment and its lesson, the most similar earlier segment: their positions in the stream."""

    segment: int
    lesson: int


def words_of(text: str) -> list[str]:
    """Return words and punctuation marks in lower case.

    >>> words_of("Don't log out, John!")
    ["don't", 'log', 'out', ',', 'john', '!']
    """
    return _WORD.findall(text.lower())


def neighbours(
    sources: Sequence[str], max_changed: int = MAX_CHANGED_WORDS, tokeniser: Tokeniser | None = None
) -> list[Neighbour]:
    """Return the segments whose source differs by 1 to `max_changed` words from an earlier one that shares a word.

    Of several such lessons, the one with the fewest changes counts, then the latest. Case is ignored. A segment with an
    exact repeat before it is left out: its translation is known. `tokeniser` finds the words of text without spaces.

    >>> [(one.segment, one.lesson) for one in neighbours(["Log in", "Save all files.", "Log out", "log in"])]
    [(2, 0)]
    """
    return list(_neighbours(tuple(sources), max_changed, tokeniser))


@lru_cache(maxsize=4)  # the systems of an evaluation have the same sources
def _neighbours(sources: tuple[str, ...], max_changed: int, tokeniser: Tokeniser | None) -> tuple[Neighbour, ...]:
    index, seen, found = _SourceIndex(max_changed), set[tuple[str, ...]](), []
    for number, source in enumerate(sources):
        words = tuple((tokeniser or words_of)(source.lower()))
        if words not in seen and (lesson := index.nearest(words)) is not None:
            found.append(Neighbour(number, lesson))
        seen.add(words)
        index.add(number, words)
    return tuple(found)


def forget_neighbours() -> None:
    """Forget the sources that were compared last, and the texts that were cut into words: they were deleted."""
    _neighbours.cache_clear()
    forget_texts()


class _SourceIndex:
    """Sources by words and length. At most `max_changed` words differ, so one of the rarest few words is shared."""

    def __init__(self, max_changed: int) -> None:
        self._max_changed = max_changed
        self._words: dict[int, tuple[str, ...]] = {}
        self._numbers: defaultdict[tuple[str, int], list[int]] = defaultdict(list)

    def add(self, number: int, words: tuple[str, ...]) -> None:
        self._words[number] = words
        for word in set(words):
            self._numbers[word, len(words)].append(number)

    def nearest(self, words: tuple[str, ...]) -> int | None:
        lengths = range(len(words) - self._max_changed, len(words) + self._max_changed + 1)
        lists = {word: [self._numbers.get((word, length), []) for length in lengths] for word in set(words)}
        rare = sorted(lists, key=lambda word: sum(map(len, lists[word])))[: self._max_changed + 1]
        found = {number for word in rare for numbers in lists[word] for number in numbers}
        close = [(distance, -number) for number in found if (distance := self._distance(number, words))]
        return -min(close)[1] if close else None

    def _distance(self, number: int, words: tuple[str, ...]) -> int:
        """Return the number of changed words; 0 if there is none or too many."""
        distance = Levenshtein.distance(self._words[number], words, score_cutoff=self._max_changed)
        return distance if distance <= self._max_changed else 0


class Collateral(Ratio):
    """A share of the segments with a lesson (see `neighbours`). Columns: counted, segments with a lesson."""

    def __init__(self, baseline: Sequence[Step], tokeniser: Tokeniser | None = None) -> None:
        """`baseline` are the steps of a system that does not learn, over the same stream.

        `tokeniser` finds the words of a source without spaces.
        """
        self.baseline, self.tokeniser = baseline, tokeniser

    @property
    def signature(self) -> str:
        return f"changed:1-{MAX_CHANGED_WORDS}w{BlockWords(self.tokeniser).signature}"

    def rows(self, steps: Sequence[Step]) -> Array:
        found = np.zeros((len(steps), 2))
        for one, is_counted in self.cases(steps).items():
            found[one.segment] = is_counted, 1
        return found

    def cases(self, steps: Sequence[Step]) -> dict[Neighbour, bool]:
        """Return the segments with a lesson, and whether they are counted."""
        pairs = self.neighbours(steps)
        return dict(zip(pairs, self._are_counted(steps, pairs), strict=True))

    def neighbours(self, steps: Sequence[Step]) -> list[Neighbour]:
        """Return the segments with a lesson. Raise InputError if the baseline has seen another stream."""
        _check_stream(steps, self.baseline)
        sources = [step.proposal.segment.source for step in steps]
        return neighbours(sources, MAX_CHANGED_WORDS, self.tokeniser)

    @abstractmethod
    def _are_counted(self, steps: Sequence[Step], pairs: Sequence[Neighbour]) -> Iterable[bool]: ...


class NearTER(Collateral):
    """The share of segments whose TER is better, or worse, than the baseline's by more than `MIN_TER_CHANGE` points."""

    def __init__(self, baseline: Sequence[Step], ter: TER, *, worse: bool, tokeniser: Tokeniser | None = None) -> None:
        super().__init__(baseline, tokeniser)
        self.name, self.higher_is_better = ("near-worse", False) if worse else ("near-better", True)
        self._ter, self._sign = ter, 1 if worse else -1

    @property
    def signature(self) -> str:
        return f"{super().signature}|by:{MIN_TER_CHANGE:g}|{self._ter.signature}"

    def ter_changes(self, steps: Sequence[Step]) -> dict[Neighbour, float]:
        """Return the segments with a lesson, and their TER minus the baseline's."""
        pairs = self.neighbours(steps)
        return dict(zip(pairs, self._changes(steps, pairs), strict=True))

    def _are_counted(self, steps: Sequence[Step], pairs: Sequence[Neighbour]) -> Iterable[bool]:
        return (self._sign * change > MIN_TER_CHANGE for change in self._changes(steps, pairs))

    def _changes(self, steps: Sequence[Step], pairs: Sequence[Neighbour]) -> list[float]:
        if not pairs:
            return []
        ours, theirs = (self._ter_of([each[one.segment] for one in pairs]) for each in (steps, self.baseline))
        changes: list[float] = (ours - theirs).tolist()
        return changes

    def _ter_of(self, steps: Sequence[Step]) -> Array:
        return self._ter.aggregate(self._ter.rows(steps))


class Flips(Collateral):
    """The share of segments that get the lesson's translation, where neither the reference nor the baseline has it.

    Case and spaces are ignored. Of several references, each counts.
    """

    name = "flips"
    higher_is_better = False

    def _are_counted(self, steps: Sequence[Step], pairs: Sequence[Neighbour]) -> Iterator[bool]:
        targets = [[words_of(text) for text in texts] for texts in references(steps)]
        for one in pairs:
            ours, theirs = (words_of(each[one.segment].proposal.text) for each in (steps, self.baseline))
            yield ours in targets[one.lesson] and ours not in targets[one.segment] and ours != theirs


class LostChanges(Collateral):
    """The share of segments whose changed words left no trace in the output, while they did in the baseline's.

    See `has_no_trace`. Of several references, the words of all count.
    """

    name = "lost-changes"
    higher_is_better = False

    def _are_counted(self, steps: Sequence[Step], pairs: Sequence[Neighbour]) -> Iterator[bool]:
        targets = [{word for text in texts for word in words_of(text)} for texts in references(steps)]
        for one in pairs:
            ours, theirs = (set(words_of(each[one.segment].proposal.text)) for each in (steps, self.baseline))
            lesson, own = targets[one.lesson], targets[one.segment]
            yield has_no_trace(ours, lesson, own) and not has_no_trace(theirs, lesson, own)


def has_no_trace(output: Set[str], lesson: Set[str], own: Set[str]) -> bool:
    """Return whether an output says what only the lesson says, and nothing of what only its own reference says.

    All are sets of words. If the lesson has no word of its own, as before a negation, what is missing counts alone.

    >>> has_no_trace({"5", "dateien"}, {"5", "dateien"}, {"6", "dateien"})
    True
    >>> has_no_trace({"sechs", "dateien"}, {"5", "dateien"}, {"6", "dateien"})
    False
    >>> has_no_trace({"datei", "löschen"}, {"datei", "löschen"}, {"datei", "nicht", "löschen"})
    True
    """
    of_own, of_lesson = own - lesson, lesson - own
    return bool(of_own) and of_own.isdisjoint(output) and not (of_lesson and of_lesson.isdisjoint(output))


def takes_over(output: str, lesson_target: str, target: str) -> bool:
    """Return whether an output says what the lesson says, although its own reference says something else.

    It does if it is equal to the lesson's translation, or has a word of it that its own reference lacks.

    >>> takes_over("Anmelden", "Anmelden", "Abmelden"), takes_over("Ausloggen", "Anmelden", "Abmelden")
    (True, False)
    >>> takes_over("Datei löschen", "Datei löschen", "Datei nicht löschen")
    True
    """
    found, lesson, own = (words_of(text) for text in (output, lesson_target, target))
    return lesson != own and (found == lesson or not (set(lesson) - set(own)).isdisjoint(found))


def _check_stream(steps: Sequence[Step], baseline: Sequence[Step]) -> None:
    """Raise InputError if the baseline has seen other segments. It may have seen more of them."""
    if len(baseline) < len(steps):
        raise InputError(f"the baseline has {len(baseline)} segments, the system {len(steps)}")
    for step, other in zip(steps, baseline, strict=False):
        mine, theirs = step.proposal.segment.id, other.proposal.segment.id
        if mine != theirs:
            raise InputError(f"step {step.index} has segment {mine!r}, but the baseline's step has segment {theirs!r}")
