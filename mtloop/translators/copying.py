"""Names that stay as they are: a small push, while decoding, for source words that translators leave alone.

`ActionScript`, `useCodepage` or `H.264` are the same in every language, but a model that never met them spells them
from pieces and goes astray. What is copied is learned: for each shape of word (and for each word, once it was met),
how often it stood unchanged in what the translators confirmed. So a product's name is kept after one correction, and
a capitalised button label is not, where the translators translate it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from torch import Tensor

from mtloop.translators.marian.search import Moment
from mtloop.translators.words import Words

WORD = re.compile(r"\w[\w.\-/:@]*\w|\w")
PRIOR: Mapping[str, tuple[float, float]] = {  # shape: kept, changed, before anything was seen
    "digit": (1.0, 1.5),
    "caps": (1.5, 1.0),
    "camel": (3.0, 1.0),
    "dotted": (2.0, 1.0),
    "capital": (1.0, 4.0),
    "plain": (0.0, 20.0),
}
FAITH = 1.5  # how many sightings of a word its shape is worth


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


@dataclass
class Copying:
    """Learns which words are kept, and pushes towards them."""

    start: float = 4.0
    go_on: float = 6.0
    kept_: Counter[str] = field(default_factory=Counter)
    seen_: Counter[str] = field(default_factory=Counter)

    def learn(self, source: str, target: str) -> None:
        present = set(WORD.findall(target))
        for word, form in _shapes(source):
            for key in (f"={word}", form):
                self.seen_[key] += 1
                self.kept_[key] += word in present

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

    def of(self, words: Words, spell: Callable[[str], Sequence[int]]) -> Push | None:
        """The push for one sentence, or none."""
        kept = [
            (number, tuple(spell(text)))
            for number, text in enumerate(words.texts)
            if WORD.fullmatch(text) and self.rate(text, shape(text, number == 0)) > 0.5
        ]
        return Push(words, kept, self.start, self.go_on) if kept else None


@dataclass(frozen=True)
class Push:
    """Words to keep, each with its number in the source and its spelling in pieces.

    A word is begun when the decoder looks at it, and is carried on once begun.
    """

    words: Words
    kept: Sequence[tuple[int, tuple[int, ...]]]
    start: float
    go_on: float

    def __call__(self, moment: Moment, logits: Tensor) -> Tensor:
        shares = self.words.shares(moment.attention).tolist()
        for row, ids in enumerate(moment.written):
            for piece, push in self._next(ids, shares[row]).items():
                logits[row, piece] += push
        return logits

    def _next(self, ids: Sequence[int], shares: Sequence[float]) -> dict[int, float]:
        pushes: dict[int, float] = {}
        for number, word in self.kept:
            matched = _matched(ids, word)
            push = self.go_on if matched else self.start * shares[number]
            pushes[word[matched]] = max(pushes.get(word[matched], 0.0), push)
        return pushes


def _matched(ids: Sequence[int], word: tuple[int, ...]) -> int:
    """How many pieces of the word, not all of them, were just written."""
    return next((n for n in range(len(word) - 1, 0, -1) if tuple(ids[-n:]) == word[:n]), 0)


def _shapes(source: str) -> Iterable[tuple[str, str]]:
    return ((word, shape(word, i == 0)) for i, word in enumerate(WORD.findall(source)))
