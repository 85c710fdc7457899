"""The tokeniser, punctuation normaliser and truecaser of Moses (library sacremoses)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from mtloop.text.language_codes import language_of


@lru_cache(maxsize=8)
def _tokeniser(language: str) -> Any:
    from sacremoses import MosesTokenizer

    return MosesTokenizer(language)


def tokenise(text: str, language: str) -> list[str]:
    """Return the Moses tokens, without escaping and without splitting at hyphens.

    >>> tokenise("Klicken Sie auf „OK“.", "de")
    ['Klicken', 'Sie', 'auf', '„', 'OK', '“', '.']
    """
    return list(_tokeniser(language_of(language)).tokenize(text, escape=False))


@lru_cache(maxsize=8)
def _normaliser(language: str) -> Any:
    from sacremoses import MosesPunctNormalizer

    return MosesPunctNormalizer(language)


def normalise(text: str, language: str) -> str:
    """Normalise punctuation like normalize-punctuation.perl of Moses.

    >>> normalise("Click “OK” – then “Close”", "en")
    'Click "OK" - then "Close"'
    """
    return str(_normaliser(language_of(language)).normalize(text))


class Truecaser:
    """Changes each token to its most frequent case inside the sentences of a training text."""

    def __init__(self, texts: Iterable[str], language: str) -> None:
        from sacremoses import MosesTruecaser

        self._model = MosesTruecaser()
        self._model.train([tokenise(text, language) for text in texts])

    def __call__(self, tokens: list[str]) -> list[str]:
        return list(self._model.truecase(" ".join(tokens)))
