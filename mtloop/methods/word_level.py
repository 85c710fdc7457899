"""Methods of whole words, by name: the lexical table alone, and word-level neural translation helped by it (2017)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING

from mtloop.core.errors import InputError
from mtloop.core.protocols import Learner
from mtloop.core.types import JSON
from mtloop.methods.defaults import PIECE
from mtloop.methods.neural_bandits import NEURAL_BANDITS

if TYPE_CHECKING:
    from mtloop.bandits.neural.unknown_words import UnknownWords
    from mtloop.nmt.engine.marian import Marian
    from mtloop.smt.learners import Base

EXPECTED_LOSS = NEURAL_BANDITS["nmt-el"]
LEXICON = "lexicon"  # the setting that names a lexical table


def lexical(model: Base) -> Learner:
    """A statistical model's lexical table alone, word by word; never learns."""
    from mtloop.smt.learners import SmtLearner
    from mtloop.smt.lexicon import Lexicon, WordByWord

    def table() -> WordByWord:
        return WordByWord(Lexicon.read(model.folder))

    return SmtLearner(table, method="lexical", fingerprint=model.fingerprint, learns=False)


def wnmt_baseline(model: Marian, *, lexicon: str = "", piece: int = PIECE) -> Learner:
    """A word-level model as it is; unknown words are looked up in `lexicon`, or copied."""
    from mtloop.bandits.neural.unknown_words import WordBaseline

    return WordBaseline(model, _unknown(model, lexicon), piece=piece)


def wnmt_el(model: Marian, *, lexicon: str = "", **settings: JSON) -> Learner:
    """Expected loss on a word-level model, with the settings of `nmt-el`; unknown words as for `wnmt-baseline`."""
    from mtloop.bandits.neural.bandit_nmt import BanditNMT
    from mtloop.bandits.neural.unknown_words import WordNMT

    unknown = _unknown(model, lexicon)
    learner = EXPECTED_LOSS(model, **settings)
    assert isinstance(learner, BanditNMT)
    return WordNMT(learner, unknown)


def _settings_of(other: Callable[..., Learner], own: Callable[..., Learner]) -> inspect.Signature:
    """The keywords of another method and those named here, so that one list of settings serves both."""
    named = [one for one in inspect.signature(own).parameters.values() if one.kind is one.KEYWORD_ONLY]
    theirs = inspect.signature(other)
    return theirs.replace(parameters=[*theirs.parameters.values(), *named])


wnmt_el.__signature__ = _settings_of(EXPECTED_LOSS, wnmt_el)  # type: ignore[attr-defined]

WORD_METHODS: dict[str, Callable[..., Learner]] = {
    "lexical": lexical,
    "wnmt-baseline": wnmt_baseline,
    "wnmt-el": wnmt_el,
}


def _unknown(model: Marian, lexicon: str) -> UnknownWords:
    from mtloop.bandits.neural.unknown_words import UnknownWords
    from mtloop.smt.lexicon import Lexicon

    if not (model.source.cut and model.target.cut):
        message = "holds no word-level model; train one: mtloop train --vocab word --data FILE --out FOLDER"
        raise InputError(message, path=model.folder)
    return UnknownWords(Lexicon.read(lexicon) if lexicon else None)
