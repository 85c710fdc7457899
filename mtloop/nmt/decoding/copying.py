"""Words that stay unchanged: a bonus, while decoding, for source words that translators copy.

`ActionScript`, `useCodepage` or `H.264` are the same in every language, but a model that never saw them spells them
from subwords and makes errors. The words to copy are learned: for each shape of word (and for each word, after its
first occurrence), how often it occurs unchanged in the confirmed translations, alone or in a compound
(`XMLSocket-Objekt`). So a product's name is copied after one correction, and a capitalised button label is not copied
if the translators translate it.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from torch import Tensor

from mtloop.nmt.decoding.source_words import SourceWords
from mtloop.nmt.engine.search import SearchState
from mtloop.nmt.engine.vocabulary import SPACE

WORD = re.compile(r"\w[\w.\-/:@]*\w|\w")
AFTER_CODE = re.compile(r" ?(\( ?\)|_)")  # after the name of a function, or inside a name split into subwords
BEFORE_CODE = re.compile(r"_ ?$")
MIN_RARE_PIECES = 3  # a capitalised word with this many subwords is rare: usually a name
PRIOR: Mapping[str, tuple[float, float]] = {  # shape: pseudo-counts of copied and of changed words
    "digit": (3.0, 1.0),
    "caps": (3.0, 1.0),
    "camel": (3.0, 1.0),
    "dotted": (3.0, 1.0),
    "code": (3.0, 1.0),
    "strange": (1.0, 1.0),
    "capital": (1.0, 4.0),
    "plain": (0.0, 20.0),
}
SHAPE_WEIGHT = 0.9  # the copy rate of the shape counts as much as this many occurrences of the word itself
MIN_COPY_RATE = 0.3  # a word with a lower copy rate gets no bonus
OPENING = re.compile(rf"{SPACE}?[^\w\s{SPACE}]*[\"„“»«‚'(\[{{<\-/\\_]$")  # a subword that is not followed by a space
MAX_WORD_PIECES = 16


def word_shape(word: str, first: bool = False) -> str:
    """Return the shape of a word; at the start of a sentence (`first`) a capital letter is ignored.

    >>> [word_shape(word) for word in ("ActionScript", "PDF", "H.264", "a.b", "Flash", "tool")]
    ['camel', 'caps', 'digit', 'dotted', 'capital', 'plain']
    """
    if any(c.isdigit() for c in word):
        return "digit"
    if len(word) > 1 and word.isupper():
        return "caps"
    if any(c.isupper() for c in word[1:]):
        return "camel"
    if "." in word or "/" in word or "@" in word or "_" in word:
        return "dotted"
    return "capital" if word[:1].isupper() and not first else "plain"


@dataclass(frozen=True)
class CopyCandidate:
    """A candidate for copying: one or more source words, e.g. `www.example.org`.

    It has a text, a shape, and the indices of its first and last source word.
    """

    text: str
    shape: str
    first: int
    last: int


def candidates(words: SourceWords) -> Iterator[CopyCandidate]:
    """Yield the words of the source text; words that were split at punctuation (`www.example.org`) are joined again."""
    text, starts = words.text_with_offsets
    for found in WORD.finditer(text):
        first, last = bisect_right(starts, found.start()) - 1, bisect_left(starts, found.end()) - 1
        shape = word_shape(found.group(), first == 0)
        if shape in ("plain", "capital") and _in_code(text, found):
            shape = "code"
        elif shape == "capital" and _count_pieces(words, first, last) >= MIN_RARE_PIECES:
            shape = "strange"
        yield CopyCandidate(found.group(), shape, first, last)


def _count_pieces(words: SourceWords, first: int, last: int) -> int:
    return int(((words.word_of_piece >= first) & (words.word_of_piece <= last)).sum())


@dataclass
class CopyModel:
    """Learns which words are copied, and makes the logits processor that adds a bonus for them.

    `copy_start_bonus` is added to the log-odds of copying for the first subword of a word, `copy_continue_bonus` to the
    logit of each further subword.
    """

    copy_start_bonus: float = 4.0
    copy_continue_bonus: float = 6.0
    kept_: Counter[str] = field(default_factory=Counter)
    seen_: Counter[str] = field(default_factory=Counter)

    def learn(self, words: SourceWords, target: str) -> None:
        """Update the counts of each word at every occurrence, and of its shape only at the word's first occurrence."""
        for one in candidates(words):
            key, kept = f"={one.text}", occurs_in(one.text, target)
            for name in (key,) if self.seen_[key] else (key, one.shape):
                self.seen_[name] += 1
                self.kept_[name] += kept

    def counts(self) -> dict[str, int]:
        """Return the counts in the format of a delta."""
        kept = {f"kept/{key}": count for key, count in self.kept_.items() if count}
        return kept | {f"seen/{key}": count for key, count in self.seen_.items()}

    def restore(self, counts: Mapping[str, int]) -> None:
        for name, counter in (("kept/", self.kept_), ("seen/", self.seen_)):
            counter.clear()
            counter.update({key.removeprefix(name): n for key, n in counts.items() if key.startswith(name)})

    def copy_rate(self, word: str, shape: str) -> float:
        """Return the estimated probability that a word is copied, from its own counts and those of its shape."""
        kept, changed = PRIOR[shape]
        shape_rate = (self.kept_[shape] + kept) / (self.seen_[shape] + kept + changed)
        return (self.kept_[f"={word}"] + SHAPE_WEIGHT * shape_rate) / (self.seen_[f"={word}"] + SHAPE_WEIGHT)

    def processor(
        self, words: SourceWords, spell: Callable[[str], Sequence[int]], pieces: Sequence[str]
    ) -> CopyProcessor | None:
        """Return the logits processor for one sentence, or None if it has no word to copy."""
        to_copy = [
            WordToCopy(one.text, one.first, one.last, self._start_bonus(rate))
            for one in candidates(words)
            if (rate := self.copy_rate(one.text, one.shape)) > MIN_COPY_RATE
        ]
        return CopyProcessor(words, to_copy, self.copy_continue_bonus, PieceSpeller(spell, pieces)) if to_copy else None

    def _start_bonus(self, rate: float) -> float:
        return max(0.0, self.copy_start_bonus + math.log(rate / (1 - rate)))


@dataclass(frozen=True)
class WordToCopy:
    """A candidate that gets a bonus: its text, its first and last source word, and the bonus for its first subword."""

    text: str
    first: int
    last: int
    bonus: float


class PieceSpeller:
    """Finds the next subword of a word that is being written."""

    def __init__(self, spell: Callable[[str], Sequence[int]], pieces: Sequence[str]) -> None:
        self._spell, self._pieces = spell, pieces
        self._quote = list(spell('"'))
        self._first: dict[str, int | None] = {}

    def first_piece(self, text: str) -> int | None:
        """Return the first subword of a word after a space."""
        if f" {text}" not in self._first:
            self._first[f" {text}"] = next(iter(self._spell(text)), None)
        return self._first[f" {text}"]

    def next_piece(self, rest: str) -> int | None:
        """Return the first subword of the rest of a word, or of a word directly after a punctuation mark."""
        if rest not in self._first:
            ids, quote = list(self._spell(f'"{rest}')), self._quote
            self._first[rest] = ids[len(quote)] if ids[: len(quote)] == quote and len(ids) > len(quote) else None
        return self._first[rest]

    def partial_words(self, ids: Sequence[int]) -> list[str]:
        """Return the possible beginnings of the word being written, shortest first.

        Contains "" if the last subword is an opening mark (quote, bracket, hyphen) or a space: a new word starts there.
        """
        found, tail = [], ""
        for number in reversed(ids[-MAX_WORD_PIECES:]):
            piece = self._pieces[number]
            if OPENING.match(piece):
                found.append(tail)
            tail = piece + tail
            if piece.startswith(SPACE):
                return [*found, tail.removeprefix(SPACE)]
        return found


@dataclass(frozen=True)
class CopyProcessor:
    """Adds a bonus for the next subword of the words to copy.

    The first subword gets a bonus in proportion to the attention on the word. After two or more characters of the word
    are written, its next subword gets `copy_continue_bonus`.
    """

    words: SourceWords
    to_copy: Sequence[WordToCopy]
    copy_continue_bonus: float
    speller: PieceSpeller

    def __call__(self, state: SearchState, logits: Tensor) -> Tensor:
        attention = self.words.sum_attention(state.attention).tolist()
        for row, ids in enumerate(state.tokens):
            for piece, bonus in self._bonuses(ids, attention[row]).items():
                logits[row, piece] += bonus
        return logits

    def _bonuses(self, ids: Sequence[int], attention: Sequence[float]) -> dict[int, float]:
        bonuses: dict[int, float] = {}
        partial_words = self.speller.partial_words(ids)
        for one in self.to_copy:
            piece, bonus = self._bonus(one, partial_words, sum(attention[one.first : one.last + 1]))
            if piece is not None:
                bonuses[piece] = max(bonuses.get(piece, 0.0), bonus)
        return bonuses

    def _bonus(self, one: WordToCopy, partial_words: Sequence[str], attention: float) -> tuple[int | None, float]:
        for text in partial_words:
            if 1 < len(text) < len(one.text) and one.text.startswith(text):
                return self.speller.next_piece(one.text[len(text) :]), self.copy_continue_bonus
        after_mark = "" in partial_words
        first = self.speller.next_piece(one.text) if after_mark else self.speller.first_piece(one.text)
        return first, one.bonus * attention


def _in_code(text: str, found: re.Match[str]) -> bool:
    """Return whether a word is the name of a function, or part of a name such as `my_file`."""
    after = AFTER_CODE.match(text, found.end())
    return after is not None or BEFORE_CODE.search(text, max(0, found.start() - 2), found.start()) is not None


def occurs_in(word: str, text: str) -> bool:
    """Return whether a word occurs unchanged in a text, alone or joined to other words by punctuation.

    >>> occurs_in("XMLSocket", "das XMLSocket-Objekt"), occurs_in("line", "die Linienlineale")
    (True, False)
    """
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None
