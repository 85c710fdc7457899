"""Effort of a translator: keystrokes and mouse actions, word prediction, post-editing.

`crossover` returns the crossover point of two learning curves.
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from mtloop.core.errors import InputError
from mtloop.core.types import JSON, Fields, PostEdit, Score, Step
from mtloop.metrics.base import Array, Ratio, references
from mtloop.metrics.quality import TER

Completer: TypeAlias = Callable[[str], str]
PIECE_WORDS = 200  # longer texts are simulated in pieces of this many words; few sentences are longer


@dataclass(frozen=True)
class Interaction:
    """The user actions that produced a text of `characters` characters with an interactive system."""

    keystrokes: int
    mouse: int
    characters: int

    def to_json(self) -> dict[str, JSON]:
        """Return the value of a proposal's `memo["interaction"]`."""
        return asdict(self)


@dataclass(frozen=True)
class WordPredictionCounts:
    """How many words of a text an interactive system predicted correctly."""

    words_right: int
    words: int

    def to_json(self) -> dict[str, JSON]:
        """Return fields of a proposal's `memo["interaction"]`, to be merged with those of an `Interaction`."""
        return asdict(self)


def simulate(complete: Completer, reference: str) -> Interaction:
    """Simulate a user who corrects the suggestions of `complete(prefix)` until the text equals the reference.

    The rules are those of Barrachina et al. (2009). The user finds the first character at which the suggestion
    differs from the reference, moves there and types the correct character. The system then completes the text up
    to the cursor again. A typed character is one keystroke; so is deleting the rest of a suggestion that is longer
    than the reference. A movement is one mouse action, unless the cursor is already there: after the last typed
    character or, initially, at the start of the text. Accepting the text is one more mouse action. A suggestion
    that does not begin with the prefix is ignored. Every round fixes at least one character, so there are at most
    len(reference) + 1 rounds.

    >>> simulate(lambda prefix: prefix or "the hause", "the house")
    Interaction(keystrokes=4, mouse=2, characters=9)
    """
    keystrokes, mouse, cursor = 0, 1, 0
    while (wrong := _first_difference(_suggestion(complete, reference[:cursor]), reference, cursor)) is not None:
        mouse += wrong > cursor
        keystrokes += 1
        if wrong == len(reference):
            break
        cursor = wrong + 1
    return Interaction(keystrokes, mouse, len(reference))


def predict_words(complete: Completer, reference: str) -> WordPredictionCounts:
    """Predict each whitespace-separated word of the reference, given exactly the reference text before it.

    >>> predict_words(lambda prefix: prefix + "the house", "the green house")
    WordPredictionCounts(words_right=1, words=3)
    """
    spans = _word_spans(reference)
    suggested = (_suggestion(complete, reference[:start])[start:] for start, _ in spans)
    right = sum(text.split()[:1] == [reference[a:b]] for text, (a, b) in zip(suggested, spans, strict=True))
    return WordPredictionCounts(right, len(spans))


class StaticCompleter:
    """Completes a prefix from one fixed translation; simulates post-editing it in an interactive editor.

    It finds the beginning of the translation with the smallest word edit distance to the prefix and appends the
    words that follow it. An unfinished last word matches every word that begins with its characters and is
    completed to that word. Among equal distances it prefers a beginning that can complete the word, then the
    longest. Time grows with the product of both lengths in words.

    >>> StaticCompleter("the dog bites the person")("the big do")
    'the big dog bites the person'
    """

    def __init__(self, hypothesis: str) -> None:
        self.hypothesis = hypothesis
        self._spans = _word_spans(hypothesis)
        self._hypothesis_words = [hypothesis[start:end] for start, end in self._spans]
        self._finished = ""
        self._words: list[str] = []
        self._distances = list(range(len(self._hypothesis_words) + 1))

    def __call__(self, prefix: str) -> str:
        finished, unfinished = _split_last_word(prefix)
        distances = self._prefix_distances(finished)
        if not unfinished:
            return prefix + self._text_after(_last_argmin(distances))
        as_word = _next_row(distances, unfinished, self._hypothesis_words)
        completed = self._completing_word(distances, unfinished)
        if completed is not None and distances[completed] <= min(as_word):
            return prefix + self._text_after(completed)[len(unfinished) :]
        rest = self._text_after(_last_argmin(as_word))
        return f"{prefix} {rest}" if rest else prefix

    def _completing_word(self, distances: Sequence[int], letters: str) -> int | None:
        """Return the index of the nearest word that begins with `letters`, the last of equals; None if none does."""
        words = [i for i, word in enumerate(self._hypothesis_words) if word.startswith(letters)]
        return min(words, key=lambda i: (distances[i], -i), default=None)

    def _prefix_distances(self, finished: str) -> list[int]:
        """Return the edit distances of the finished words to the first 0, 1, 2, ... words of the translation.

        The last row is kept, because a prefix usually extends the one before.
        """
        if finished == self._finished:
            return self._distances
        words = finished.split()
        if words[: len(self._words)] != self._words:
            self._words, self._distances = [], list(range(len(self._hypothesis_words) + 1))
        for word in words[len(self._words) :]:
            self._distances = _next_row(self._distances, word, self._hypothesis_words)
        self._finished, self._words = finished, words
        return self._distances

    def _text_after(self, words: int) -> str:
        """Return the translation without its first `words` words."""
        return self.hypothesis[self._spans[words][0] :] if words < len(self._spans) else ""


class _PrefixMetric(Ratio):
    """A ratio of counts recorded with the proposal.

    Without recorded counts, it is a ratio of simulated counts (`StaticCompleter` on the proposal).

    Only the first reference counts. A simulated text of more than 200 words is simulated, and accepted, in
    pieces of 200 words, to bound the time. The simulation needs spaces between words: with `spaces=False`, only
    recorded counts are accepted. Columns: numerator, denominator, recorded, simulated.
    """

    def __init__(self, spaces: bool = True) -> None:
        self.spaces = spaces

    @property
    def signature(self) -> str:
        """The signature before scoring. The one of `score_rows` shows if counts were recorded, simulated or both."""
        return self._signature("recorded-else-static")

    def score_rows(self, rows: Array) -> Score:
        recorded, simulated = rows[:, 2].any(), rows[:, 3].any()
        prefixes = "mixed" if recorded and simulated else "recorded" if recorded else "static"
        return replace(super().score_rows(rows), signature=self._signature(prefixes))

    def rows(self, steps: Sequence[Step]) -> Array:
        return np.array([self._row(step) for step in steps], dtype=float).reshape(-1, 4)

    def _row(self, step: Step) -> tuple[float, float, int, int]:
        memo = step.proposal.memo.get("interaction")
        if isinstance(memo, Mapping) and (counts := self._recorded(memo, step)) is not None:
            return *counts, 1, 0
        if not self.spaces:
            problem = f"{self.name} is simulated word by word, and this language has no spaces between words"
            raise InputError(f"{problem}; leave out {self.name}, or record the interactions in the trace")
        ((target, *_),) = references([step])
        pieces = _pieces(step.proposal.text, target)
        simulated = (self._simulated(StaticCompleter(hypothesis), reference) for hypothesis, reference in pieces)
        numerators, denominators = zip(*simulated, strict=True)
        return sum(numerators), sum(denominators), 0, 1

    @abstractmethod
    def _signature(self, prefixes: str) -> str: ...

    @abstractmethod
    def _recorded(self, memo: Fields, step: Step) -> tuple[float, float] | None: ...

    @abstractmethod
    def _simulated(self, complete: Completer, target: str) -> tuple[float, float]: ...


class KSMR(_PrefixMetric):
    """Keystroke and mouse-action ratio: user actions (see `simulate`) per 100 characters of the reference.

    `memo["interaction"]` contains "keystrokes" and "mouse", and "characters" if it differs from the reference's length.
    """

    name = "ksmr"
    higher_is_better = False

    def _signature(self, prefixes: str) -> str:
        return f"prefixes:{prefixes}|unit:character|mouse:moves+1"

    def _recorded(self, memo: Fields, step: Step) -> tuple[float, float] | None:
        if "keystrokes" not in memo or "mouse" not in memo:
            return None
        effort = _checked_count(memo["keystrokes"], step) + _checked_count(memo["mouse"], step)
        if "characters" in memo:
            return effort, _checked_count(memo["characters"], step)
        ((target, *_),) = references([step])
        return effort, len(target)

    def _simulated(self, complete: Completer, target: str) -> tuple[float, float]:
        actions = simulate(complete, target)
        return actions.keystrokes + actions.mouse, actions.characters


class WordPrediction(_PrefixMetric):
    """Word-prediction accuracy: the share of reference words that are suggested, given the reference before them.

    `memo["interaction"]` contains "words_right" and "words".
    """

    name = "wpa"

    def _signature(self, prefixes: str) -> str:
        return f"prefixes:{prefixes}|unit:word|tok:whitespace|case:mixed"

    def _recorded(self, memo: Fields, step: Step) -> tuple[float, float] | None:
        if "words_right" not in memo or "words" not in memo:
            return None
        return _checked_count(memo["words_right"], step), _checked_count(memo["words"], step)

    def _simulated(self, complete: Completer, target: str) -> tuple[float, float]:
        counts = predict_words(complete, target)
        return counts.words_right, counts.words


class HTER(TER):
    """TER against the actual post-edit of the proposal, never against an independent reference.

    A step without a post-edit is 0/0 and does not change the score. Columns: edits, length of the post-edit.
    """

    name = "hter"

    @property
    def signature(self) -> str:
        return f"refs:post-edit|{super().signature}"

    def rows(self, steps: Sequence[Step]) -> Array:
        return np.array([self._post_edit_row(step) for step in steps], dtype=float).reshape(-1, 2)

    def aggregate(self, sums: Array) -> Array:
        return np.where(sums.any(axis=1), super().aggregate(sums), np.nan)

    def _post_edit_row(self, step: Step) -> tuple[float, float]:
        if not isinstance(step.feedback, PostEdit):
            return 0.0, 0.0
        return self._row(step.proposal.text, [step.feedback.text])


def crossover(ours: Array, theirs: Array, higher_is_better: bool = True) -> int | None:
    """Return the first point from which our cumulative curve is strictly better to the end; None if there is none.

    Points at which either curve is undefined (NaN) are ignored.

    >>> crossover(np.array([5, 3, 6, 7.0]), np.array([4, 4, 4, 4.0]))
    2
    """
    if len(ours) != len(theirs):
        raise InputError(f"the curves have {len(ours)} and {len(theirs)} points; expected curves of the same stream")
    lead = ours - theirs if higher_is_better else theirs - ours
    behind = np.flatnonzero(lead <= 0)
    ahead = np.flatnonzero(lead > 0)
    lasting = ahead[ahead > behind[-1]] if behind.size else ahead
    return int(lasting[0]) if lasting.size else None


def _suggestion(complete: Completer, prefix: str) -> str:
    """Return the system's suggestion, or only the prefix if the suggestion does not begin with it."""
    text = complete(prefix)
    return text if text.startswith(prefix) else prefix


def _first_difference(suggestion: str, reference: str, start: int) -> int | None:
    """Return the first position from `start` on where the texts differ; None if they are equal."""
    if suggestion == reference:
        return None
    shorter = min(len(suggestion), len(reference))
    return next((i for i in range(start, shorter) if suggestion[i] != reference[i]), shorter)


def _word_spans(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\S+", text)]


def _split_last_word(prefix: str) -> tuple[str, str]:
    """Return the finished words and the last word, which may be unfinished; it is empty after a space."""
    if not prefix or prefix[-1].isspace():
        return prefix, ""
    *finished, unfinished = prefix.rsplit(maxsplit=1)
    return "".join(finished), unfinished


def _pieces(hypothesis: str, target: str) -> Iterator[tuple[str, str]]:
    """Split both texts after every PIECE_WORDS words, into as many pieces as the target needs."""
    number = max(1, math.ceil(len(_word_spans(target)) / PIECE_WORDS))
    return zip(_split(hypothesis, number), _split(target, number), strict=True)


def _split(text: str, pieces: int) -> list[str]:
    starts = [start for start, _ in _word_spans(text)[PIECE_WORDS::PIECE_WORDS]][: pieces - 1]
    edges = [0, *starts, *[len(text)] * (pieces - len(starts))]
    return [text[start:end] for start, end in pairwise(edges)]


def _next_row(row: Sequence[int], word: str, others: Sequence[str]) -> list[int]:
    """Add a word to the edit-distance table: return its distances to the first 0, 1, 2, ... other words."""
    new = [row[0] + 1]
    for j, other in enumerate(others):
        new.append(min(row[j] + (word != other), row[j + 1] + 1, new[j] + 1))
    return new


def _last_argmin(distances: Sequence[int]) -> int:
    return min(range(len(distances)), key=lambda i: (distances[i], -i))


def _checked_count(value: JSON, step: Step) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        segment = step.proposal.segment.id
        raise InputError(f"the interaction of segment {segment!r} contains {value!r}; expected a count (0, 1, 2, ...)")
    return value
