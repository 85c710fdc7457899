"""Stop words: the stopwords-iso lists (58 languages), or any list of words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mtloop.core.errors import InputError
from mtloop.text.language_codes import language_of


@dataclass(frozen=True)
class StopWords:
    """Words without content, compared case-insensitively; `name` appears in metric signatures.

    >>> "Der" in StopWords.of_language("de")
    True
    """

    words: frozenset[str]
    name: str

    def __contains__(self, word: str) -> bool:
        return word.casefold() in self.words

    @classmethod
    def of_language(cls, language: str) -> StopWords:
        """Return the stopwords-iso list of a language, by its code ("de", also "de-AT" and "deu")."""
        import stopwordsiso

        code = _list_name(language)
        if not has_stopwords(language):
            known = ", ".join(sorted(stopwordsiso.langs()))
            hint = "for another language, pass a word list to mtloop score or report: --stopwords FILE"
            raise InputError(f"no stop list for language {language!r}; known: {known}; {hint}")
        return cls.of_words(stopwordsiso.stopwords(code), f"iso-{code}")

    @classmethod
    def of_words(cls, words: Iterable[str], name: str) -> StopWords:
        """Return a list of these words; blank entries are ignored."""
        return cls(frozenset(word.strip().casefold() for word in words if word.strip()), name)


def has_stopwords(language: str) -> bool:
    """Return whether stopwords-iso has a list for a language.

    >>> has_stopwords("de-AT"), has_stopwords("is")
    (True, False)
    """
    import stopwordsiso

    return bool(stopwordsiso.has_lang(_list_name(language)))


def _list_name(language: str) -> str:
    code = language_of(language)
    return "no" if code == "nb" else code  # the Norwegian list has the older code
