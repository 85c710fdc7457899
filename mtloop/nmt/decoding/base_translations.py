"""The base model's own translations: does it see a difference between two similar sentences?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from mtloop.nmt.decoding.changed_words import change_between
from mtloop.nmt.decoding.source_words import SourceWords
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.search import LengthLimits, greedy


@dataclass(frozen=True, eq=False)
class BaseTranslations:
    """Translations of the base model, most probable token by token; `split` divides a sentence into pieces."""

    base: Marian
    limits: LengthLimits
    split: Callable[[str], Iterable[str]]

    def translate(self, sentence: str, prefix: str = "") -> str:
        """Return the translation of a sentence that begins with a prefix."""
        pieces = [sentence] if prefix else self.split(sentence)  # a prefix may span several pieces
        found = (
            greedy(self.base, self.base.source.encode(one), self.limits, prefix=prefix, scored=False) for one in pieces
        )
        return " ".join(self.base.target.decode(one.ids) for one in found)

    def takes_over(self, sentence: str, lessons: Sequence[str], prefix: str = "") -> bool:
        """Return whether a sentence got the translation of lessons that mean something else.

        `lessons` are the sources with this translation. They mean something else if a few words differ and the base
        model translates them differently. A lesson that differs in case or punctuation alone has the same meaning.
        With a prefix that was typed, the base model must complete it differently: only what follows it can be wrong.
        """
        words = self._words(sentence)
        others = {lesson: self._words(lesson) for lesson in lessons}
        if any(one == words for one in others.values()):
            return False
        similar = [lesson for lesson, one in others.items() if change_between(one, words)]
        if not similar:
            return False
        own = self.translate(sentence, prefix)
        return all(self.translate(lesson, prefix) != own for lesson in similar)

    def _words(self, sentence: str) -> list[str]:
        """Return the words in lower case, without punctuation marks."""
        words = SourceWords.of(self.base.source.encode(sentence)[:-1], self.base.source).texts
        return [word.lower() for word in words if any(map(str.isalnum, word))]
