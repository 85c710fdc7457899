"""Base forms of words (lemmas): `Zellvorlagen` and `Zellvorlage` are forms of one word. By simplemma, an extra."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, TypeAlias

from mtloop.core.errors import InputError, MissingExtra, need
from mtloop.text.language_codes import language_of

EXTRA = "terms"
MIN_KNOWN_LETTERS, MIN_FIRST_LETTERS = 4, 2  # of the last and of the first part of a compound
COMPOUNDING = frozenset({"da", "de", "fi", "lb", "nb", "nl", "nn", "sv"})  # languages that join words without a space
ADJECTIVE_ENDINGS = {"de": ("em", "en", "er", "es", "e")}
MAX_STEPS = 3

Lemmatise: TypeAlias = Callable[[str], str]
"""Returns the base form of a word, in lower case."""


class Lemmas:
    """Finds the base forms of the words of one language; words that simplemma does not know stay as they are.

    Of an unknown compound the last part is looked up: `Zellvorlagen` becomes `zellvorlage`. Base forms are looked up
    again, because dictionaries chain them: `bedingter` to `bedingt`, and `bedingt` to `bedingen`.
    """

    def __init__(self, language: str) -> None:
        """Raise MissingExtra without simplemma, and InputError if it does not know the language."""
        self.language = language_of(language)
        self._library: Any = need("simplemma", EXTRA)
        try:
            self._library.is_known("a", self.language)
        except ValueError as error:
            raise InputError(f"simplemma has no base forms for language {language!r}") from error
        self._cached = lru_cache(maxsize=65536)(self._lemma)

    @property
    def signature(self) -> str:
        return f"simplemma-{self._library.__version__}"

    def __call__(self, word: str) -> str:
        return self._cached(word)

    def is_noun(self, word: str) -> bool:
        """Whether a word of a language with capitalised nouns is one, as far as its base form tells."""
        found = str(self._library.lemmatize(word.lower(), self.language))
        return found[:1].isupper() or not self._is_known(word.lower())

    def _lemma(self, word: str) -> str:
        for _ in range(MAX_STEPS):
            found = self._step(word)
            if found == word:
                break
            word = found
        return word.casefold()

    def _step(self, word: str) -> str:
        if not word.isalpha():
            return word
        found = str(self._library.lemmatize(self._without_ending(word), self.language))
        is_new = found.casefold() != word.casefold()
        return found if is_new or self._is_known(word) else self._of_compound(word)

    def _without_ending(self, word: str) -> str:
        """Return an adjective without its ending: dictionaries give `bedingte` another base form than `bedingter`."""
        endings = ADJECTIVE_ENDINGS.get(self.language, ()) if word.islower() else ()
        stems = (word.removesuffix(ending) for ending in endings if word.endswith(ending))
        return next((stem for stem in stems if len(stem) >= MIN_KNOWN_LETTERS and self._is_known(stem)), word)

    def _of_compound(self, word: str) -> str:
        """Return a compound with the base form of its last part: the longest one that is known."""
        if self.language in COMPOUNDING:
            for start in range(MIN_FIRST_LETTERS, len(word) - MIN_KNOWN_LETTERS + 1):
                last = word[start:].capitalize()
                if self._is_known(last):
                    return word[:start] + str(self._library.lemmatize(last, self.language)).lower()
        return word

    def _is_known(self, word: str) -> bool:
        return bool(self._library.is_known(word, self.language))


@cache
def load_lemmas(language: str) -> Lemmas:
    """Return the base forms of a language; see `Lemmas` for the errors."""
    return Lemmas(language)


def lemmas_or_forms(language: str) -> Lemmatise:
    """Return the base forms of a language; where there are none, each word is its own base form, in lower case.

    >>> lemmas_or_forms("")("Files")
    'files'
    """
    try:
        return load_lemmas(language) if language else str.casefold
    except (MissingExtra, InputError):
        return str.casefold
