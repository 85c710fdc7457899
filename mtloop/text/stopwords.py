"""Stop words: the stopwords-iso lists (58 languages), or a file of one's own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mtloop.core.errors import InputError
from mtloop.text.moses import base_language


@dataclass(frozen=True)
class StopWords:
    """Words that carry no content, matched without regard to case.

    >>> "Der" in StopWords.of_language("de")
    True
    """

    words: frozenset[str]
    name: str

    def __contains__(self, word: str) -> bool:
        return word.casefold() in self.words

    @classmethod
    def of_language(cls, language: str) -> StopWords:
        """The stopwords-iso list of a language, by its two-letter code ("de", also "de-AT")."""
        import stopwordsiso

        code = base_language(language)
        if not stopwordsiso.has_lang(code):
            known = ", ".join(sorted(stopwordsiso.langs()))
            own = "mtloop score and report take a list of your own: --stopwords FILE"
            raise InputError(f"no stop list for language {language!r}; known: {known} ({own})")
        return cls.of_words(stopwordsiso.stopwords(code), f"iso-{code}")

    @classmethod
    def of_words(cls, words: Iterable[str], name: str) -> StopWords:
        return cls(frozenset(word.strip().casefold() for word in words if word.strip()), name)
