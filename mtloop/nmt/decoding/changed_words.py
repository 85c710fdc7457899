"""Which words of a source are others than those of a lesson, and which tokens of the lesson depend on them.

After the lesson "Enable the option." the memory must not vote for "Aktivieren" in "Disable the option.". Attention does
not show this: in the lesson, "Aktivieren" may attend to "option". So the base model reads the lesson again without the
changed words. A token that becomes much less probable depends on them. It does not vote if it is also less probable
with the new source, and if it depends less on the word that it attends to.

Words that the new source leaves out count like replaced ones. Words that it adds have no counterpart in the lesson, so
nothing is read for them; `base_translations` sees whether the whole translation is taken over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Levenshtein

from mtloop.nmt.decoding.memory import StoredSegment
from mtloop.nmt.decoding.source_words import SourceWords
from mtloop.nmt.engine.batch_reading import token_log_probabilities
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.vocabulary import SPACE, Vocabulary

MAX_CHANGED_SHARE = 1 / 3  # a source with more changed words is another sentence; one changed word is always allowed
MIN_DROP = 1.0  # nats: a token that loses more without a word depends on the word
MAX_ADDED_WORDS = 2  # as in "do not": that many may be added or left out, however short the sentence is
MAX_LESSONS = 3  # of one source; the most similar ones are read
Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Change:
    """The changed words: their positions in the lesson (`lost`) and in the new source (`gained`)."""

    lost: frozenset[int]
    gained: frozenset[int]

    @property
    def is_substitution(self) -> bool:
        return bool(self.lost) and bool(self.gained)

    @property
    def is_readable(self) -> bool:
        """Whether the lesson has words that the source lacks: then it is read without them."""
        return bool(self.lost)


def change_between(lesson: Sequence[str], source: Sequence[str]) -> Change | None:
    """Return how a source differs from a lesson; None if it does not, or if too many words differ.

    Case and punctuation marks do not count.

    >>> change_between(["Log", "in"], ["Log", "out"])
    Change(lost=frozenset({1}), gained=frozenset({1}))
    >>> change_between(["Log", "in"], ["log", "in", "!"]) is None
    True
    >>> change_between(["Do", "not", "share"], ["Share"])
    Change(lost=frozenset({0, 1}), gained=frozenset())
    """
    old, new = _places(lesson), _places(source)
    lost, gained = set[int](), set[int]()
    for edit in Levenshtein.opcodes([lesson[i].lower() for i in old], [source[i].lower() for i in new]):
        if edit.tag != "equal":
            lost.update(old[edit.src_start : edit.src_end])
            gained.update(new[edit.dest_start : edit.dest_end])
    if not (lost or gained) or _are_others(lost, gained, old, new):
        return None
    return Change(frozenset(lost), frozenset(gained))


def _are_others(lost: set[int], gained: set[int], old: Sequence[int], new: Sequence[int]) -> bool:
    """Return whether so many words differ that these are two sentences with little in common."""
    if not (lost and gained) and len(lost | gained) <= MAX_ADDED_WORDS and min(len(old), len(new)):
        return False
    return _too_many(lost, old) or _too_many(gained, new)


def _places(words: Sequence[str]) -> list[int]:
    """Return the positions of the words that are not punctuation marks."""
    return [place for place, word in enumerate(words) if _is_word(word)]


def _is_word(text: str) -> bool:
    return any(map(str.isalnum, text))


def _too_many(changed: Iterable[int], places: Sequence[int]) -> bool:
    return len(set(changed)) > max(1, int(len(places) * MAX_CHANGED_SHARE))


@dataclass(frozen=True, eq=False)
class SilentWords:
    """The tokens of a lesson that do not vote, and why: these words of the translation need these words of the source.

    Both sets are empty if no word was found to depend on the change, and the flags are a guess.
    """

    flags: Flags
    lost: frozenset[str] = frozenset()
    silenced: frozenset[str] = frozenset()


@dataclass
class ChangedWords:
    """Finds the tokens of lessons that must not vote in the translation of one source."""

    base: Marian
    source: Sequence[int]
    words: SourceWords

    def silent(self, lessons: Iterable[StoredSegment]) -> list[Flags | None]:
        """Return for each lesson, the most similar first, which of its tokens do not vote; None if all do.

        A few lessons are read. What is found in one holds for the others: after "Log in", the word "Anmelden" of
        "Please log in" does not vote in "Log out" either.
        """
        texts = [_SourceText.of(one.source, self.base) for one in lessons]
        changes = [change_between(text.words.texts[:-1], self.words.texts[:-1]) for text in texts]
        findings: dict[int, SilentWords] = {}
        for number, (one, change) in enumerate(zip(lessons, changes, strict=True)):
            if len(findings) < MAX_LESSONS and change is not None and change.is_readable and len(one.tokens):
                findings[number] = self._read(one, texts[number], change)
        return [self._joined(one, texts[at], findings, at) for at, one in enumerate(lessons)]

    def _read(self, one: StoredSegment, text: _SourceText, change: Change) -> SilentWords:
        target, lesson = one.tokens.tolist(), text.words
        reading = _Reading(self.base, text.ids, lesson, target)
        drops = np.minimum(*reading.drops([_without(text.ids, lesson, change.lost), self.source]))
        suspects: Flags = drops > MIN_DROP
        own = reading.own_drops({word for word, flag in zip(one.words, suspects, strict=True) if flag}, change.lost)
        kept = [word in own and own[word][token] >= drops[token] for token, word in enumerate(one.words)]
        silent = suspects & ~np.array(kept)
        groups = word_numbers(target, self.base.target)
        if not silent.any():  # a replaced word must leave a trace; one that was left out may have none ("the")
            guess: Flags = drops == drops[:-1].max(initial=0.0)
            return SilentWords(_any_of_group(guess & change.is_substitution, groups))
        flags = _any_of_group(silent, groups)
        lost = frozenset(lesson.texts[place].casefold() for place in change.lost)
        return SilentWords(flags, lost, self._words_of(target, groups, flags))

    def _joined(
        self, one: StoredSegment, text: _SourceText, findings: Mapping[int, SilentWords], number: int
    ) -> Flags | None:
        """Return the silent tokens of a lesson: by its own finding, and by those of other lessons."""
        others = [found for at, found in findings.items() if at != number and found.lost and found.lost <= text.folded]
        flags = findings[number].flags.copy() if number in findings else np.zeros(len(one.tokens), np.bool_)
        if others and len(one.tokens):
            target = one.tokens.tolist()
            groups = word_numbers(target, self.base.target)
            silenced = frozenset[str]().union(*(found.silenced for found in others))
            for group in np.unique(groups):
                if self._word(target, groups == group) in silenced:
                    flags |= groups == group
        return flags if flags.any() else None

    def _words_of(self, target: Sequence[int], groups: npt.NDArray[np.int64], flags: Flags) -> frozenset[str]:
        found = {self._word(target, groups == group) for group in np.unique(groups[flags])}
        return frozenset(word for word in found if _is_word(word))

    def _word(self, target: Sequence[int], places: Flags) -> str:
        """Return a word of the translation without its case and punctuation marks."""
        text = self.base.target.decode([token for token, flag in zip(target, places, strict=True) if flag])
        return "".join(filter(str.isalnum, text)).casefold()


@dataclass(frozen=True, eq=False)
class _SourceText:
    """The source of a lesson: its pieces and words."""

    ids: list[int]
    words: SourceWords
    folded: frozenset[str]

    @classmethod
    def of(cls, text: str, base: Marian) -> _SourceText:
        ids = base.source.encode(text)
        words = SourceWords.of(ids, base.source)
        return cls(ids, words, frozenset(word.casefold() for word in words.texts[:-1]))


@dataclass
class _Reading:
    """Reads the target of a lesson with changed sources."""

    base: Marian
    ids: Sequence[int]
    lesson: SourceWords
    target: Sequence[int]
    _own: Numbers | None = field(default=None, init=False)

    def drops(self, sources: Sequence[Sequence[int]]) -> list[Numbers]:
        """Return for each source how much less probable each token is than with the lesson's own source.

        All tokens of a word get the largest value of the word: a part of a word without the rest is no word.
        """
        new = [*sources] if self._own is not None else [self.ids, *sources]
        found = list(token_log_probabilities(self.base, new, self.target).numpy())
        if self._own is None:
            self._own = found.pop(0)
        groups = word_numbers(self.target, self.base.target)
        return [_largest_of_group(self._own - one, groups) for one in found]

    def own_drops(self, attended: Iterable[str], lost: Iterable[int]) -> dict[str, Numbers]:
        """Return for attended words that are not lost how much less probable each token is without them."""
        places: dict[str, set[int]] = {}
        for place, text in enumerate(self.lesson.texts[:-1]):
            places.setdefault(text.lower(), set()).add(place)
        kept = sorted(
            word for word in set(attended) & places.keys() if places[word].isdisjoint(lost) and _is_word(word)
        )
        without = [_without(self.ids, self.lesson, places[word]) for word in kept]
        return dict(zip(kept, self.drops(without), strict=True)) if kept else {}


def word_numbers(ids: Sequence[int], vocabulary: Vocabulary) -> npt.NDArray[np.int64]:
    """Return for each piece the number of its word; the end of the sentence is a word of its own."""
    starts = [vocabulary.pieces[one].startswith(SPACE) or one == vocabulary.end for one in ids]
    return np.cumsum(starts)


def _largest_of_group(values: Numbers, groups: npt.NDArray[np.int64]) -> Numbers:
    largest = np.full(int(groups.max()) + 1, -np.inf, np.float32)
    np.maximum.at(largest, groups, values)
    return largest[groups]


def _any_of_group(flags: Flags, groups: npt.NDArray[np.int64]) -> Flags:
    return np.isin(groups, groups[flags])


def _without(ids: Sequence[int], words: SourceWords, places: Iterable[int]) -> list[int]:
    left_out = set(places)
    return [one for one, word in zip(ids, words.word_of_piece.tolist(), strict=True) if word not in left_out]
