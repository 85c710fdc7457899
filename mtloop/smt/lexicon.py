"""A lexical table: each word to its likeliest translation. The weakest translator there is, and a help to others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from mtloop.core.errors import InputError, need
from mtloop.core.types import Fields
from mtloop.smt.card import CARD, Card, read_words
from mtloop.smt.tokens import SmtTokeniser

Lookup = Callable[[str], str | None]


@dataclass(frozen=True)
class Lexicon:
    """Words of a source, each looked up on its own; what is not in the table stays as it is.

    >>> Lexicon({"file": "Datei"}.get).translate("Save the file.")
    'Save the Datei.'
    """

    lookup: Lookup
    words: SmtTokeniser = field(default_factory=SmtTokeniser)

    @classmethod
    def read(cls, path: str | Path) -> Lexicon:
        """That of a statistical model's folder, or a file: a word, a tab, its translation, a line each."""
        path = Path(path)
        return _of_model(path) if path.is_dir() or (path / CARD).exists() else _of_file(path)

    def translate(self, source: str) -> str:
        """Word by word, in the order of the source."""
        return self.words.write((self.lookup(word) or word for word in self.words.read(source)), source)


class WordByWord:
    """The table as the only model (`Adapting`); never learns."""

    learns = False

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon

    def translate(self, source: str) -> tuple[str, Fields]:
        return self.lexicon.translate(source), {}

    def learn(self, source: str, target: str) -> bool:
        return False


def _of_model(folder: Path) -> Lexicon:
    """The lexical part of the model that explains targets by sources: p(target word | source word)."""
    Card.read(folder)
    model = need("thot.alignment", "smt").HmmAlignmentModel()
    if not model.load(str(folder / "tm_invswm")):
        raise InputError("Thot cannot read the lexical model here; train it again", path=folder)

    @cache
    def lookup(word: str) -> str | None:
        """Thot lists all translations of a word to find one: once for each word is enough."""
        found = model.get_translations(model.get_src_word_index(word)) if model.src_word_exists(word) else ()
        return max(((p, model.get_trg_word(index)) for index, p in found), default=(0.0, None))[1]

    return Lexicon(lookup, read_words(folder))


def _of_file(path: Path) -> Lexicon:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        message = f"no lexical table can be read ({getattr(error, 'strerror', None) or error}); give the folder of an"
        raise InputError(f"{message} SMT model, or a file of words and translations", path=path) from error
    table: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        word, tab, translation = line.partition("\t")
        if not (word.strip() and tab and translation.strip()):
            raise InputError("expected a word, a tab and its translation", path=path, line=number)
        table.setdefault(word.strip(), translation.partition("\t")[0].strip())
    return Lexicon(table.get)
