"""A lexicon maps each word to its most likely translation: the weakest translation model, and a help to others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from mtloop.core.errors import InputError, need
from mtloop.core.types import Fields
from mtloop.smt.card import CARD_FILE, SmtModelCard, read_tokeniser
from mtloop.smt.tokens import SmtTokeniser

Lookup = Callable[[str], str | None]


@dataclass(frozen=True)
class Lexicon:
    """Translates word by word; copies words that are not in the lexicon.

    >>> Lexicon({"file": "Datei"}.get).translate("Save the file.")
    'Save the Datei.'
    """

    lookup: Lookup
    tokeniser: SmtTokeniser = field(default_factory=SmtTokeniser)

    @classmethod
    def read(cls, path: str | Path) -> Lexicon:
        """Read the lexicon of an SMT model folder, or a file with a word, a tab and its translation on each line."""
        path = Path(path)
        return _read_model(path) if path.is_dir() or (path / CARD_FILE).exists() else _read_file(path)

    def translate(self, source: str) -> str:
        """Translate word by word, in the order of the source."""
        words = self.tokeniser.tokenise_source(source)
        return self.tokeniser.detokenise((self.lookup(word) or word for word in words), source)


class LexiconOnly:
    """A `TranslationSystem` whose only model is a lexicon; never learns."""

    learns = False

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon

    def translate(self, source: str) -> tuple[str, Fields]:
        return self.lexicon.translate(source), {}

    def learn(self, source: str, target: str) -> bool:
        return False


def _read_model(folder: Path) -> Lexicon:
    """Read the lexical part of the inverse alignment model: p(target word | source word)."""
    SmtModelCard.read(folder)
    model = need("thot.alignment", "smt").HmmAlignmentModel()
    if not model.load(str(folder / "tm_invswm")):
        raise InputError("Thot cannot read the lexical model in this folder; train it again", path=folder)

    @cache
    def lookup(word: str) -> str | None:
        """Cached, because Thot lists all translations of a word to find one."""
        found = model.get_translations(model.get_src_word_index(word)) if model.src_word_exists(word) else ()
        return max(((p, model.get_trg_word(index)) for index, p in found), default=(0.0, None))[1]

    return Lexicon(lookup, read_tokeniser(folder))


def _read_file(path: Path) -> Lexicon:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        message = f"cannot read a lexicon ({getattr(error, 'strerror', None) or error}); give the folder of an"
        raise InputError(f"{message} SMT model, or a file of words and translations", path=path) from error
    table: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        word, tab, translation = line.partition("\t")
        if not (word.strip() and tab and translation.strip()):
            raise InputError("expected a word, a tab and its translation", path=path, line=number)
        table.setdefault(word.strip(), translation.partition("\t")[0].strip())
    return Lexicon(table.get)
