"""The units that adaptation metrics such as recall count: content words or subwords."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from mtloop.core.errors import InputError
from mtloop.text.language_codes import language_of
from mtloop.text.moses import Truecaser, tokenise
from mtloop.text.stopwords import StopWords


class Units(Protocol):
    """Returns the set of units in a text; `signature` describes the extraction."""

    @property
    def signature(self) -> str: ...

    def __call__(self, text: str) -> frozenset[str]: ...


@dataclass(frozen=True)
class ContentWords:
    """Moses tokens that contain a letter and are not stop words; truecased if `truecaser` is given.

    `letterless`: also count tokens without a letter, such as numbers.

    >>> sorted(ContentWords("en", StopWords.of_words(["the"], "mine"))("The dog bites the 3 men."))
    ['bites', 'dog', 'men']
    """

    language: str
    stopwords: StopWords
    truecaser: Truecaser | None = None
    letterless: bool = False

    def __call__(self, text: str) -> frozenset[str]:
        tokens = tokenise(text, self.language)
        if self.truecaser is not None:
            tokens = self.truecaser(tokens)
        return frozenset(token for token in tokens if self._is_content(token))

    @property
    def signature(self) -> str:
        case = "truecased" if self.truecaser else "kept"
        letterless = "kept" if self.letterless else "dropped"
        return f"tok:moses-{language_of(self.language)}|case:{case}|stop:{self.stopwords.name}|letterless:{letterless}"

    def _is_content(self, token: str) -> bool:
        return token not in self.stopwords and (self.letterless or any(map(str.isalpha, token)))


class Subwords:
    """All SentencePiece pieces, including stop words and punctuation (Table 4 of the 2019 paper)."""

    def __init__(self, model: str | Path) -> None:
        self._pieces = _load(Path(model))
        self.name = Path(model).name

    def __call__(self, text: str) -> frozenset[str]:
        return frozenset(self._pieces.encode(text, out_type=str))

    @property
    def signature(self) -> str:
        return f"tok:spm-{self.name}|case:kept|stop:none|letterless:kept"


def _load(model: Path) -> Any:
    import sentencepiece

    if not model.is_file():
        raise InputError("no such SentencePiece model; expected a .model or .spm file", path=model)
    try:
        return sentencepiece.SentencePieceProcessor(model_file=str(model))
    except RuntimeError as error:
        raise InputError("not a SentencePiece model; expected a .model or .spm file", path=model) from error
