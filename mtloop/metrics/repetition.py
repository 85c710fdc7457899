"""Properties of the source text: its repetition rate and its out-of-vocabulary rate."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from mtloop.core.types import JSON, Score, Step
from mtloop.metrics.base import Array, Ratio, divide

ORDER = 4
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class RunningWords:
    """Splits a source text into its running words with `tokenise`; `tok` is the tokeniser's name in the signature.

    >>> RunningWords(lowercase=True)("Save the  File.")
    ['save', 'the', 'file.']
    """

    tokenise: Callable[[str], list[str]] = str.split
    tok: str = "whitespace"
    lowercase: bool = False

    def __call__(self, text: str) -> list[str]:
        return self.tokenise(self.cased(text))

    def cased(self, text: str) -> str:
        return text.lower() if self.lowercase else text

    @property
    def signature(self) -> str:
        return f"tok:{self.tok}|case:{'lc' if self.lowercase else 'mixed'}"


class RepetitionRate:
    """The share of n-gram types that occur more than once in a window of the source, n = 1 to 4 (geometric mean).

    A window of 1,000 words moves over the text one word at a time. Types are summed over all windows: those that
    occur at least twice in the numerator, all types in the denominator. No n-gram crosses a sentence boundary. A
    shorter text is one window. A text in which no sentence has four words is 0/0.
    """

    name = "rr"

    def __init__(self, words: RunningWords | None = None, window: int = 1000) -> None:
        self.words, self.window = words or RunningWords(), window

    @property
    def signature(self) -> str:
        return f"text:source|{self.words.signature}|window:{self.window}w|order:{ORDER}"

    def score(self, steps: Sequence[Step]) -> Score:
        return self.of_sentences([self.words(step.proposal.segment.source) for step in steps])

    def of_sentences(self, sentences: list[list[str]]) -> Score:
        """Return the rate of a text from its words, a list for each sentence."""
        counts = [_repeated_types(ids, starts, n, self._windows(sentences)) for n, ids, starts in _ngrams(sentences)]
        rates = divide(*np.array(counts, dtype=float).T)
        detail: dict[str, JSON] = {f"rate{n}": None if np.isnan(r) else float(r) for n, r in enumerate(rates, start=1)}
        return Score(self.name, float(100 * np.prod(rates) ** (1 / ORDER)), self.signature, detail=detail)

    def _windows(self, sentences: list[list[str]]) -> Windows:
        words = sum(map(len, sentences))
        return Windows(self.window, max(0, words - self.window))


class OutOfVocabulary(Ratio):
    """The share of the source's running words that are not in a training vocabulary. Columns: unknown, all."""

    name = "oov"
    higher_is_better = False

    def __init__(self, vocabulary: Collection[str], words: RunningWords | None = None) -> None:
        self.words = words or RunningWords()
        self.vocabulary = frozenset(map(self.words.cased, vocabulary))

    @property
    def signature(self) -> str:
        return f"text:source|{self.words.signature}|vocabulary:{len(self.vocabulary)}"

    def rows(self, steps: Sequence[Step]) -> Array:
        return np.array([self._row(step.proposal.segment.source) for step in steps], dtype=float).reshape(-1, 2)

    def _row(self, source: str) -> tuple[int, int]:
        words = self.words(source)
        return sum(word not in self.vocabulary for word in words), len(words)


@dataclass(frozen=True)
class Windows:
    """Windows of `size` words that begin at word 0, 1, ..., `last`."""

    size: int
    last: int

    def count(self, first: Integers, begin: Integers, end: Integers) -> int:
        """Return how many windows begin from `first` to `begin` and reach `end` (exclusive), summed over the arrays."""
        lowest = np.maximum(np.maximum(first, end - self.size), 0)
        return int(np.maximum(np.minimum(begin, self.last) - lowest + 1, 0).sum())


def _repeated_types(ids: Integers, starts: Integers, n: int, windows: Windows) -> tuple[int, int]:
    """Return the types that occur at least twice and all types, summed over windows, without moving a window.

    A type counts once per window, at its first occurrence in it: the window contains this occurrence but not the
    previous one. A type is repeated if the window contains a second occurrence: this one and the previous one, but
    not the one before that.
    """
    ends = starts + n
    before = _previous(ids)
    previous = np.where(before >= 0, starts[before], -1)
    earlier = np.where(before >= 0, previous[before], -1)
    return windows.count(earlier + 1, previous, ends), windows.count(previous + 1, starts, ends)


def _previous(ids: Integers) -> Integers:
    """Return, for each id, the index of its previous occurrence; -1 for the first."""
    order = np.argsort(ids, kind="stable")
    previous = np.full(len(ids), -1)
    same = ids[order[1:]] == ids[order[:-1]]
    previous[order[1:][same]] = order[:-1][same]
    return previous


def _ngrams(sentences: list[list[str]]) -> list[tuple[int, Integers, Integers]]:
    """Return, for n = 1 to 4: n, the type id of each n-gram, and the index of its first word."""
    words = _word_ids(list(chain.from_iterable(sentences)))
    left = np.concatenate([np.arange(len(sentence), 0, -1) for sentence in sentences] or [np.empty(0, int)])
    grams = [(1, words, np.arange(len(words)))]
    for n in range(2, ORDER + 1):
        _, shorter, starts = grams[-1]
        complete = left[starts] >= n
        starts = starts[complete]
        pairs = shorter[complete] * len(words) + words[starts + n - 1]
        grams.append((n, np.unique(pairs, return_inverse=True)[1], starts))
    return grams


def _word_ids(words: list[str]) -> Integers:
    ids: dict[str, int] = {}
    return np.array([ids.setdefault(word, len(ids)) for word in words], dtype=np.int64)
