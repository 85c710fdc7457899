"""How `mtloop stats` finds the words of a text: with the tokeniser of Moses, or with one of sacreBLEU."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from mtloop.core.errors import UnknownName
from mtloop.metrics.text_statistics import WordSplitter
from mtloop.text.language_codes import language_of
from mtloop.text.moses import tokenise
from mtloop.text.tokenisers import DEFAULT, Tokeniser, load_tokeniser, word_tokeniser_name

MOSES = "moses"


@dataclass(frozen=True)
class Splitters:
    """Chooses how words are found, by language: with Moses, or with a tokeniser of sacreBLEU."""

    tokenize: str | None = None
    lowercase: bool = False

    def __post_init__(self) -> None:
        """Raise an error for a tokeniser that is unknown or not installed, before files are read."""
        if self.tokenize not in (None, MOSES):
            _load(str(self.tokenize))

    def __call__(self, language: str) -> WordSplitter:
        """Return what splits a text in a language ("": unknown) into words."""
        name = self.tokenize or _without_spaces(language) or MOSES
        if name != MOSES:
            _load(name)
            return WordSplitter(Tokeniser(name), name, self.lowercase)
        code = language_of(language)
        return WordSplitter(partial(tokenise, language=code), f"{MOSES}-{code}" if code else MOSES, self.lowercase)


def _without_spaces(language: str) -> str:
    """Return the tokeniser of a language without spaces between words, "" for other languages."""
    name = word_tokeniser_name(language)
    return "" if name == DEFAULT else name


def _load(name: str) -> None:
    try:
        load_tokeniser(name)
    except UnknownName:
        from sacrebleu.metrics.bleu import BLEU

        raise UnknownName("tokeniser", name, [MOSES, *BLEU.TOKENIZERS]) from None
