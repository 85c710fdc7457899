"""Word-level methods, by name: the lexical table alone, and word-level NMT with it for unknown words (2017)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING

from mtloop.core.errors import InputError
from mtloop.core.protocols import Learner
from mtloop.core.types import JSON
from mtloop.methods.neural_bandits import NEURAL_BANDITS
from mtloop.nmt.piece_length import MAX_PIECE_TOKENS

if TYPE_CHECKING:
    from mtloop.bandits.neural.unknown_words import UnknownWords
    from mtloop.nmt.engine.marian import Marian
    from mtloop.smt.learners import BackgroundModel

EXPECTED_LOSS = NEURAL_BANDITS["nmt-el"]
LEXICON_SETTING = "lexicon"  # the setting that names a lexical table


def lexical(model: BackgroundModel) -> Learner:
    """Word-by-word translation with the lexical table of a statistical model; never learns."""
    from mtloop.smt.learners import SmtLearner
    from mtloop.smt.lexicon import Lexicon, LexiconOnly

    def table() -> LexiconOnly:
        return LexiconOnly(Lexicon.read(model.folder))

    return SmtLearner(table, method="lexical", fingerprint=model.fingerprint, learns=False)


def wnmt_baseline(model: Marian, *, lexicon: str = "", max_piece_tokens: int = MAX_PIECE_TOKENS) -> Learner:
    """An unchanged word-level model; unknown words are looked up in `lexicon`, or copied."""
    from mtloop.bandits.neural.unknown_words import WordBaseline

    return WordBaseline(model, _unknown_words(model, lexicon), max_piece_tokens=max_piece_tokens)


def wnmt_el(model: Marian, *, lexicon: str = "", **settings: JSON) -> Learner:
    """Expected loss on a word-level model, with the settings of `nmt-el`; unknown words as in `wnmt-baseline`."""
    from mtloop.bandits.neural.bandit_nmt import BanditNMT
    from mtloop.bandits.neural.unknown_words import WordNMT

    unknown = _unknown_words(model, lexicon)
    learner = EXPECTED_LOSS(model, **settings)
    assert isinstance(learner, BanditNMT)
    return WordNMT(learner, unknown)


def _joined_signature(other: Callable[..., Learner], own: Callable[..., Learner]) -> inspect.Signature:
    """Return the signature of another method, with the keyword-only parameters of `own` added."""
    added = [one for one in inspect.signature(own).parameters.values() if one.kind is one.KEYWORD_ONLY]
    signature = inspect.signature(other)
    return signature.replace(parameters=[*signature.parameters.values(), *added])


wnmt_el.__signature__ = _joined_signature(EXPECTED_LOSS, wnmt_el)  # type: ignore[attr-defined]

WORD_METHODS: dict[str, Callable[..., Learner]] = {
    "lexical": lexical,
    "wnmt-baseline": wnmt_baseline,
    "wnmt-el": wnmt_el,
}


def _unknown_words(model: Marian, lexicon: str) -> UnknownWords:
    from mtloop.bandits.neural.unknown_words import UnknownWords
    from mtloop.smt.lexicon import Lexicon

    if not (model.source.is_word_level and model.target.is_word_level):
        message = "is not a word-level model; train one: mtloop train --vocab word --data FILE --out FOLDER"
        raise InputError(message, path=model.folder)
    return UnknownWords(Lexicon.read(lexicon) if lexicon else None)
