"""Names that stay as they are: a push, while decoding, for source words that translators leave alone.

`ActionScript`, `useCodepage` or `H.264` are the same in every language, but a model that never met them spells them
from pieces and goes astray. What is copied is learned: for each shape of word (and for each word, once it was met),
how often it stood unchanged in what the translators confirmed, alone or in a compound (`XMLSocket-Objekt`). So a
product's name is kept after one correction, and a capitalised button label is not, where the translators translate it.
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
from mtloop.nmt.engine.search import Moment
from mtloop.nmt.engine.vocabulary import SPACE

WORD = re.compile(r"\w[\w.\-/:@]*\w|\w")
AFTER_CODE = re.compile(r" ?(\( ?\)|_)")  # what stands after the name of a function, or inside a name in pieces
BEFORE_CODE = re.compile(r"_ ?$")
MANY = 3  # pieces of a capitalised word that the vocabulary does not know: a name, more often than not
PRIOR: Mapping[str, tuple[float, float]] = {  # shape: kept, changed, before anything was seen
    "digit": (3.0, 1.0),
    "caps": (3.0, 1.0),
    "camel": (3.0, 1.0),
    "dotted": (3.0, 1.0),
    "code": (3.0, 1.0),
    "strange": (1.0, 1.0),
    "capital": (1.0, 4.0),
    "plain": (0.0, 20.0),
}
FAITH = 0.9  # how many sightings of a word its shape is worth
LIKELY = 0.3  # from here on a word gets a push
OPENING = re.compile(rf"{SPACE}?[^\w\s{SPACE}]*[\"„“»«‚'(\[{{<\-/\\_]$")  # a piece after which no space stands
LONGEST = 16  # pieces of a word


def shape(word: str, first: bool = False) -> str:
    """What a word looks like; at the start of a sentence a capital says nothing.

    >>> [shape(word) for word in ("ActionScript", "PDF", "H.264", "a.b", "Flash", "tool")]
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
    """A word that could be kept: its text, its shape, and the numbers of the source words it is made of."""

    text: str
    shape: str
    first: int
    last: int


def candidates(words: SourceWords) -> Iterator[CopyCandidate]:
    """Words of the running text; what the encoder's pieces cut at a mark (`www.example.org`) is one again."""
    text, starts = words.running
    for found in WORD.finditer(text):
        first, last = bisect_right(starts, found.start()) - 1, bisect_left(starts, found.end()) - 1
        form = shape(found.group(), first == 0)
        if form in ("plain", "capital") and _in_code(text, found):
            form = "code"
        elif form == "capital" and int(((words.where >= first) & (words.where <= last)).sum()) >= MANY:
            form = "strange"
        yield CopyCandidate(found.group(), form, first, last)


@dataclass
class Copying:
    """Learns which words are kept, and pushes towards them."""

    start: float = 4.0
    go_on: float = 6.0
    kept_: Counter[str] = field(default_factory=Counter)
    seen_: Counter[str] = field(default_factory=Counter)

    def learn(self, words: SourceWords, target: str) -> None:
        """A word says something of its shape when it is met first; then it speaks for itself."""
        for one in candidates(words):
            key, kept = f"={one.text}", stands_in(one.text, target)
            for name in (key,) if self.seen_[key] else (key, one.shape):
                self.seen_[name] += 1
                self.kept_[name] += kept

    def counts(self) -> dict[str, int]:
        """As a delta holds it."""
        kept = {f"kept/{key}": count for key, count in self.kept_.items() if count}
        return kept | {f"seen/{key}": count for key, count in self.seen_.items()}

    def restore(self, counts: Mapping[str, int]) -> None:
        for name, counter in (("kept/", self.kept_), ("seen/", self.seen_)):
            counter.clear()
            counter.update({key.removeprefix(name): n for key, n in counts.items() if key.startswith(name)})

    def rate(self, word: str, form: str) -> float:
        """How likely a word is kept: as far as is known of it, then of its shape."""
        kept, changed = PRIOR[form]
        of_shape = (self.kept_[form] + kept) / (self.seen_[form] + kept + changed)
        return (self.kept_[f"={word}"] + FAITH * of_shape) / (self.seen_[f"={word}"] + FAITH)

    def of(self, words: SourceWords, spell: Callable[[str], Sequence[int]], pieces: Sequence[str]) -> Push | None:
        """The push for one sentence, or none."""
        kept = [
            Kept(one.text, one.first, one.last, self._push(rate))
            for one in candidates(words)
            if (rate := self.rate(one.text, one.shape)) > LIKELY
        ]
        return Push(words, kept, self.go_on, Speller(spell, pieces)) if kept else None

    def _push(self, rate: float) -> float:
        return max(0.0, self.start + math.log(rate / (1 - rate)))


@dataclass(frozen=True)
class Kept:
    """A word to keep, where it stands in the source, and how hard to push towards it."""

    text: str
    first: int
    last: int
    push: float


class Speller:
    """Which piece comes next when a word is written."""

    def __init__(self, spell: Callable[[str], Sequence[int]], pieces: Sequence[str]) -> None:
        self._spell, self._pieces = spell, pieces
        self._mark = list(spell('"'))
        self._first: dict[str, int | None] = {}

    def opens(self, text: str) -> int | None:
        """The first piece of a word after a space."""
        if f" {text}" not in self._first:
            self._first[f" {text}"] = next(iter(self._spell(text)), None)
        return self._first[f" {text}"]

    def goes_on(self, rest: str) -> int | None:
        """The first piece of what is left of a word, or of a word right after a mark."""
        if rest not in self._first:
            ids, mark = list(self._spell(f'"{rest}')), self._mark
            self._first[rest] = ids[len(mark)] if ids[: len(mark)] == mark and len(ids) > len(mark) else None
        return self._first[rest]

    def begun(self, ids: Sequence[int]) -> list[str]:
        """What may be the beginning of the word being written, from its shortest reading; empty right after a mark."""
        found, tail = [], ""
        for number in reversed(ids[-LONGEST:]):
            piece = self._pieces[number]
            if OPENING.match(piece):
                found.append(tail)
            tail = piece + tail
            if piece.startswith(SPACE):
                return [*found, tail.removeprefix(SPACE)]
        return found


@dataclass(frozen=True)
class Push:
    """Words to keep, pushed piece by piece: begun where the decoder looks at them, and carried on once begun."""

    words: SourceWords
    kept: Sequence[Kept]
    go_on: float
    speller: Speller

    def __call__(self, moment: Moment, logits: Tensor) -> Tensor:
        shares = self.words.shares(moment.attention).tolist()
        for row, ids in enumerate(moment.written):
            for piece, push in self._next(ids, shares[row]).items():
                logits[row, piece] += push
        return logits

    def _next(self, ids: Sequence[int], shares: Sequence[float]) -> dict[int, float]:
        pushes: dict[int, float] = {}
        begun = self.speller.begun(ids)
        for one in self.kept:
            piece, push = self._of(one, begun, sum(shares[one.first : one.last + 1]))
            if piece is not None:
                pushes[piece] = max(pushes.get(piece, 0.0), push)
        return pushes

    def _of(self, one: Kept, begun: Sequence[str], looked_at: float) -> tuple[int | None, float]:
        for text in begun:
            if 1 < len(text) < len(one.text) and one.text.startswith(text):
                return self.speller.goes_on(one.text[len(text) :]), self.go_on
        after_mark = "" in begun
        first = self.speller.goes_on(one.text) if after_mark else self.speller.opens(one.text)
        return first, one.push * looked_at


def _in_code(text: str, found: re.Match[str]) -> bool:
    """Whether a word is the name of a function, or part of a name such as `my_file`."""
    after = AFTER_CODE.match(text, found.end())
    return after is not None or BEFORE_CODE.search(text, max(0, found.start() - 2), found.start()) is not None


def stands_in(word: str, text: str) -> bool:
    """Whether a word stands unchanged in a text, alone or joined to others by a mark.

    >>> stands_in("XMLSocket", "das XMLSocket-Objekt"), stands_in("line", "die Linienlineale")
    (True, False)
    """
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None
