"""What a translator has to do: keystrokes and mouse actions, words to wait for, post-editing, and when it pays off."""

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
PIECE = 200  # words; hardly a sentence is as long


@dataclass(frozen=True)
class Interaction:
    """What it took to get a text of so many characters out of an interactive system."""

    keystrokes: int
    mouse: int
    characters: int

    def to_json(self) -> dict[str, JSON]:
        """As it stands in a proposal's `memo["interaction"]`."""
        return asdict(self)


@dataclass(frozen=True)
class WordPredictionCounts:
    """How many of a text's words an interactive system had right when it was their turn."""

    words_right: int
    words: int

    def to_json(self) -> dict[str, JSON]:
        """As it stands in a proposal's `memo["interaction"]`, beside an `Interaction`."""
        return asdict(self)


def simulate(complete: Completer, reference: str) -> Interaction:
    """The effort of a user who wants the reference, has `complete(prefix)` suggested, and types what is wrong.

    The rules of Barrachina et al. (2009). The user looks for the first character at which the suggestion departs
    from the reference, moves there, types the right one, and the system completes the text up to there anew. A
    typed character is a keystroke; so is cutting off a suggestion that runs on past the reference. A movement is
    a mouse action unless the cursor is there already, as it is behind the last typed character and, at first, at
    the beginning. Accepting the text is one mouse action more. A suggestion that does not begin with the prefix
    is no suggestion. Every round settles at least one character, so there are at most len(reference) + 1.

    >>> simulate(lambda prefix: prefix or "the hause", "the house")
    Interaction(keystrokes=4, mouse=2, characters=9)
    """
    keystrokes, mouse, cursor = 0, 1, 0
    while (wrong := _departure(_suggestion(complete, reference[:cursor]), reference, cursor)) is not None:
        mouse += wrong > cursor
        keystrokes += 1
        if wrong == len(reference):
            break
        cursor = wrong + 1
    return Interaction(keystrokes, mouse, len(reference))


def predict_words(complete: Completer, reference: str) -> WordPredictionCounts:
    """Ask for each word of the reference (whitespace between words), given exactly what stands before it.

    >>> predict_words(lambda prefix: prefix + "the house", "the green house")
    Prediction(words_right=1, words=3)
    """
    spans = _word_spans(reference)
    suggested = (_suggestion(complete, reference[:start])[start:] for start, _ in spans)
    right = sum(text.split()[:1] == [reference[a:b]] for text, (a, b) in zip(suggested, spans, strict=True))
    return WordPredictionCounts(right, len(spans))


class StaticCompleter:
    """Completes a prefix from one fixed translation: what post-editing it with an interactive editor would be like.

    It goes on behind that part of the translation which is nearest to the prefix, by word edit distance; a last
    word that is still being typed is like any word that begins so, and is finished like that. Of equally near
    parts it takes one that can finish the word, then the longest. Time grows with the product of both lengths
    in words.

    >>> StaticCompleter("the dog bites the person")("the big do")
    'the big dog bites the person'
    """

    def __init__(self, hypothesis: str) -> None:
        self.hypothesis = hypothesis
        self._spans = _word_spans(hypothesis)
        self._known = [hypothesis[start:end] for start, end in self._spans]
        self._finished = ""
        self._words: list[str] = []
        self._distances = list(range(len(self._known) + 1))

    def __call__(self, prefix: str) -> str:
        finished, unfinished = _split_last_word(prefix)
        distances = self._row(finished)
        if not unfinished:
            return prefix + self._rest(_last_smallest(distances))
        replacing = _next_row(distances, unfinished, self._known)
        meant = self._beginning(distances, unfinished)
        if meant is not None and distances[meant] <= min(replacing):
            return prefix + self._rest(meant)[len(unfinished) :]
        rest = self._rest(_last_smallest(replacing))
        return f"{prefix} {rest}" if rest else prefix

    def _beginning(self, distances: Sequence[int], letters: str) -> int | None:
        """The word that begins so behind the nearest part of the translation; None if there is no such word."""
        words = [i for i, word in enumerate(self._known) if word.startswith(letters)]
        return min(words, key=lambda i: (distances[i], -i), default=None)

    def _row(self, finished: str) -> list[int]:
        """The distance of finished words to the first 0, 1, 2, ... words of the translation; prefixes mostly grow."""
        if finished == self._finished:
            return self._distances
        words = finished.split()
        if words[: len(self._words)] != self._words:
            self._words, self._distances = [], list(range(len(self._known) + 1))
        for word in words[len(self._words) :]:
            self._distances = _next_row(self._distances, word, self._known)
        self._finished, self._words = finished, words
        return self._distances

    def _rest(self, used: int) -> str:
        return self.hypothesis[self._spans[used][0] :] if used < len(self._spans) else ""


class _Prefixes(Ratio):
    """A ratio of what was recorded with the proposal or, where nothing was, of a simulation with fixed output.

    Of several references the first counts. A simulated text of more than 200 words is taken, and accepted, in
    pieces of 200 words, to bound the time. Columns: numerator, denominator, recorded, simulated.
    """

    @property
    def signature(self) -> str:
        """Which prefixes there were is known only of a score; see `score_rows`."""
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
        ((target, *_),) = references([step])
        pieces = _pieces(step.proposal.text, target)
        done, whole = zip(*(self._simulated(StaticCompleter(said), wanted) for said, wanted in pieces), strict=True)
        return sum(done), sum(whole), 0, 1

    @abstractmethod
    def _signature(self, prefixes: str) -> str: ...

    @abstractmethod
    def _recorded(self, memo: Fields, step: Step) -> tuple[float, float] | None: ...

    @abstractmethod
    def _simulated(self, complete: Completer, target: str) -> tuple[float, float]: ...


class KSMR(_Prefixes):
    """Keystroke and mouse-action ratio: what the user does (see `simulate`) for 100 characters of the reference.

    `memo["interaction"]` holds "keystrokes" and "mouse", and "characters" if not those of the reference.
    """

    name = "ksmr"
    higher_is_better = False

    def _signature(self, prefixes: str) -> str:
        return f"prefixes:{prefixes}|unit:character|mouse:moves+1"

    def _recorded(self, memo: Fields, step: Step) -> tuple[float, float] | None:
        if "keystrokes" not in memo or "mouse" not in memo:
            return None
        effort = _count(memo["keystrokes"], step) + _count(memo["mouse"], step)
        if "characters" in memo:
            return effort, _count(memo["characters"], step)
        ((target, *_),) = references([step])
        return effort, len(target)

    def _simulated(self, complete: Completer, target: str) -> tuple[float, float]:
        done = simulate(complete, target)
        return done.keystrokes + done.mouse, done.characters


class WordPrediction(_Prefixes):
    """Word-prediction accuracy: the share of reference words that are suggested when all before them is given.

    `memo["interaction"]` holds "words_right" and "words".
    """

    name = "wpa"

    def _signature(self, prefixes: str) -> str:
        return f"prefixes:{prefixes}|unit:word|tok:whitespace|case:mixed"

    def _recorded(self, memo: Fields, step: Step) -> tuple[float, float] | None:
        if "words_right" not in memo or "words" not in memo:
            return None
        return _count(memo["words_right"], step), _count(memo["words"], step)

    def _simulated(self, complete: Completer, target: str) -> tuple[float, float]:
        done = predict_words(complete, target)
        return done.words_right, done.words


class HTER(TER):
    """TER against the post-edit that was really made of the proposal, never against an independent reference.

    A step without a post-edit is 0/0 and changes nothing. Columns: edits, length of the post-edit.
    """

    name = "hter"

    @property
    def signature(self) -> str:
        return f"refs:post-edit|{super().signature}"

    def rows(self, steps: Sequence[Step]) -> Array:
        return np.array([self._post_edited(step) for step in steps], dtype=float).reshape(-1, 2)

    def aggregate(self, sums: Array) -> Array:
        return np.where(sums.any(axis=1), super().aggregate(sums), np.nan)

    def _post_edited(self, step: Step) -> tuple[float, float]:
        if not isinstance(step.feedback, PostEdit):
            return 0.0, 0.0
        return self._row(step.proposal.text, [step.feedback.text])


def crossover(ours: Array, theirs: Array, higher_is_better: bool = True) -> int | None:
    """The first point of two cumulative curves from which ours is strictly better to the end; None if there is none.

    Points at which either is undefined (NaN) say nothing for or against.

    >>> crossover(np.array([5, 3, 6, 7.0]), np.array([4, 4, 4, 4.0]))
    2
    """
    if len(ours) != len(theirs):
        raise InputError(f"curves of {len(ours)} and {len(theirs)} points; expected two of the same stream")
    lead = ours - theirs if higher_is_better else theirs - ours
    behind = np.flatnonzero(lead <= 0)
    ahead = np.flatnonzero(lead > 0)
    lasting = ahead[ahead > behind[-1]] if behind.size else ahead
    return int(lasting[0]) if lasting.size else None


def _suggestion(complete: Completer, prefix: str) -> str:
    """What the system suggests; nothing beyond the prefix if it does not honour it."""
    text = complete(prefix)
    return text if text.startswith(prefix) else prefix


def _departure(suggestion: str, reference: str, start: int) -> int | None:
    """The first place from `start` on where the two differ; None when they are equal."""
    if suggestion == reference:
        return None
    shorter = min(len(suggestion), len(reference))
    return next((i for i in range(start, shorter) if suggestion[i] != reference[i]), shorter)


def _word_spans(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\S+", text)]


def _split_last_word(prefix: str) -> tuple[str, str]:
    """The finished words, and the one that is still being typed; empty behind a space."""
    if not prefix or prefix[-1].isspace():
        return prefix, ""
    *finished, unfinished = prefix.rsplit(maxsplit=1)
    return "".join(finished), unfinished


def _pieces(hypothesis: str, target: str) -> Iterator[tuple[str, str]]:
    """Both texts cut behind every so many words, into as many pieces as the target has."""
    number = max(1, math.ceil(len(_word_spans(target)) / PIECE))
    return zip(_cut(hypothesis, number), _cut(target, number), strict=True)


def _cut(text: str, pieces: int) -> list[str]:
    starts = [start for start, _ in _word_spans(text)[PIECE::PIECE]][: pieces - 1]
    edges = [0, *starts, *[len(text)] * (pieces - len(starts))]
    return [text[start:end] for start, end in pairwise(edges)]


def _next_row(row: Sequence[int], word: str, known: Sequence[str]) -> list[int]:
    """One more word in the table of edit distances to the first 0, 1, 2, ... known words."""
    new = [row[0] + 1]
    for j, other in enumerate(known):
        new.append(min(row[j] + (word != other), row[j + 1] + 1, new[j] + 1))
    return new


def _last_smallest(distances: Sequence[int]) -> int:
    return min(range(len(distances)), key=lambda i: (distances[i], -i))


def _count(value: JSON, step: Step) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        segment = step.proposal.segment.id
        raise InputError(f"segment {segment!r} recorded {value!r} in its interaction; expected a count")
    return value
