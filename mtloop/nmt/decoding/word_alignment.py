"""Which source word each word of a translation comes from, by attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mtloop.nmt.decoding.source_words import SourceWords
from mtloop.nmt.engine.marian import Encoded, Marian
from mtloop.text.protected.word_links import Link

FUNCTION_WORD_LENGTH = 3


def align_words(model: Marian, encoded: Encoded, source: str, target: str) -> list[Link]:
    """Return for each word of a translation the source word with the most attention, as places in the two texts.

    A short word that attends mostly to the end of the sentence is a function word without a source: it has no link.
    """
    ids = model.target.encode(target)
    attention = model.decode(encoded, ids).attention
    source_words, target_words = SourceWords.of(encoded.ids, model.source), SourceWords.of(ids, model.target)
    by_word = target_words.membership.t() @ source_words.sum_attention(attention)
    places, targets = _places(source_words.texts, source), _places(target_words.texts, target)
    columns = [column for column, place in enumerate(places) if place and any(map(str.isalnum, source[slice(*place)]))]
    if not columns:
        return []
    best, first = by_word[:, columns].argmax(1).tolist(), by_word.argmax(1).tolist()
    links = []
    for row, place in enumerate(targets):
        origin = places[columns[best[row]]]
        is_function_word = len(target_words.texts[row]) <= FUNCTION_WORD_LENGTH and first[row] not in columns
        if place and origin and not is_function_word:
            links.append((*place, *origin))
    return links


@dataclass(frozen=True)
class AttendedWord:
    """A word of a translation: its place, and the attention on each word of the source with the place of that."""

    start: int
    end: int
    attention: tuple[tuple[int, int, float], ...]

    def attention_on(self, start: int, end: int) -> float:
        """Return the attention on a part of the source."""
        return sum(weight for low, high, weight in self.attention if low < end and start < high)

    @property
    def origin(self) -> tuple[int, int]:
        """The source word with the most attention; (0, 0) without any."""
        return max(self.attention, key=lambda one: one[2], default=(0, 0, 0.0))[:2]


def attended_source(model: Marian, encoded: Encoded, source: str, target: str) -> list[AttendedWord]:
    """Return the words of a translation with their mean attention on the words of the source."""
    ids = model.target.encode(target)
    source_words, target_words = SourceWords.of(encoded.ids, model.source), SourceWords.of(ids, model.target)
    attention = target_words.membership.t() @ source_words.sum_attention(model.decode(encoded, ids).attention)
    rows = (attention / target_words.membership.sum(0)[:, None]).tolist()
    places = [
        place if place and any(map(str.isalnum, source[slice(*place)])) else None
        for place in _places(source_words.texts, source)
    ]
    return [
        AttendedWord(*span, tuple((*place, weight) for place, weight in zip(places, row, strict=True) if place))
        for span, row in zip(_places(target_words.texts, target), rows, strict=True)
        if span
    ]


def _places(words: Sequence[str], text: str) -> list[tuple[int, int] | None]:
    """Return where each word stands in a text, None for one that the vocabulary spells in another way."""
    return list(_find(words, text))


def _find(words: Sequence[str], text: str) -> Iterator[tuple[int, int] | None]:
    position = 0
    for word in words:
        start = text.find(word, position) if word else -1
        if start < 0:
            yield None
            continue
        position = start + len(word)
        yield start, position
