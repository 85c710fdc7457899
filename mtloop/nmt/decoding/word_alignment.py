"""Which source word each word of a translation comes from, by attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
