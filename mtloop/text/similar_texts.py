"""Find the texts that share rare words with another text, by an index of words."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

MAX_TEXTS_PER_WORD = 64  # a word in more texts is not rare and says little
_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"  # Thai, Lao, Japanese, Chinese: no spaces
_WORD = re.compile(rf"[{_UNSPACED}]{{1,2}}|[^\W_{_UNSPACED}]+")


class SimilarTexts:
    """Texts, indexed by their words.

    The similarity of a text is the share of the words that it has in common with the query, weighted by their rarity
    among the texts.

    >>> texts = SimilarTexts(["Open the tray.", "Close the paper tray.", "Print a page."])
    >>> texts.most_similar("The paper tray is empty.", 2)[0][0]
    1
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts_by_word: dict[str, list[int]] = {}
        self._size = 0
        for number, text in enumerate(texts):
            self._size = number + 1
            for word in words_of(text):
                self._texts_by_word.setdefault(word, []).append(number)

    def most_similar(self, text: str, count: int) -> list[tuple[int, float]]:
        """Return the numbers of the most similar texts, the most similar first; of equally similar ones the later."""
        scores: dict[int, float] = {}
        total = 0.0
        for word in words_of(text):
            found = self._texts_by_word.get(word, ())
            weight = math.log(1 + self._size / max(1, len(found)))
            total += weight
            if len(found) <= MAX_TEXTS_PER_WORD:
                _add(scores, found, weight)
        nearest = sorted(scores, key=lambda number: (-scores[number], -number))[:count]
        return [(number, scores[number] / total) for number in nearest]


def _add(scores: dict[int, float], numbers: Sequence[int], weight: float) -> None:
    for number in numbers:
        scores[number] = scores.get(number, 0.0) + weight


def words_of(text: str) -> dict[str, None]:
    """Return the distinct words in lower case, in order. A script without spaces gives pairs of characters.

    >>> list(words_of("Open the Tray, open 印刷紙!"))
    ['open', 'the', 'tray', '印刷', '紙']
    """
    return dict.fromkeys(_WORD.findall(text.lower()))
