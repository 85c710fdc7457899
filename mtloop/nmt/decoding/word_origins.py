"""Which corrections the words of a translation come from, by the votes of the memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mtloop.nmt.engine.vocabulary import SPACE

MIN_SHARE = 0.5  # of a token's probability that comes from the memory


@dataclass(frozen=True)
class Vote:
    """The share of a token's probability that comes from the memory, and the state with the strongest vote for it."""

    share: float
    state: int


@dataclass(frozen=True)
class WordOrigin:
    """A word of a translation, and the lesson that it comes from (counted from 0)."""

    word: str
    lesson: int


def word_origins(
    ids: Sequence[int], pieces: Sequence[str], votes: Sequence[Mapping[int, Vote]], lessons_of_states: Sequence[int]
) -> list[WordOrigin]:
    """Return the words that come from the memory: those with a piece that it decided.

    `votes` has for each step the votes by token.
    """
    found = []
    for word in _words(ids, pieces):
        lessons = [
            lessons_of_states[vote.state]
            for step, token in word
            if step < len(votes) and (vote := votes[step].get(token)) is not None and vote.share >= MIN_SHARE
        ]
        if lessons:
            text = "".join(pieces[token] for _, token in word).replace(SPACE, "")
            found.append(WordOrigin(text, max(set(lessons), key=lessons.count)))
    return found


def _words(ids: Sequence[int], pieces: Sequence[str]) -> Iterator[list[tuple[int, int]]]:
    """Yield the steps and tokens of each word."""
    word: list[tuple[int, int]] = []
    for step, token in enumerate(ids):
        if pieces[token].startswith(SPACE) and word:
            yield word
            word = []
        word.append((step, token))
    if word:
        yield word
