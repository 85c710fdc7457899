"""Word-level methods, by name: the lexical table alone, and word-level NMT with it for unknown words (2017)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mtloop.core.errors import InputError
from mtloop.core.protocols import Learner
from mtloop.core.types import JSON, Reward
from mtloop.methods.common_settings import LexiconFolder, MaxPieceTokens
from mtloop.methods.engines import SMT_BANDIT, WORD_LEVEL
from mtloop.methods.method import PAPER_2017, Method
from mtloop.methods.neural_bandits import EXPECTED_LOSS
from mtloop.methods.setting import settings_of_dataclass, settings_of_maker
from mtloop.nmt.piece_length import MAX_PIECE_TOKENS

if TYPE_CHECKING:
    from mtloop.bandits.neural.unknown_words import UnknownWords
    from mtloop.nmt.engine.marian import Marian
    from mtloop.smt.learners import BackgroundModel

LEXICON_SETTING = "lexicon"  # the setting that names a lexical table


def lexical(model: BackgroundModel) -> Learner:
    """Word-by-word translation with the lexical table of a statistical model; never learns."""
    from mtloop.smt.learners import SmtLearner
    from mtloop.smt.lexicon import Lexicon, LexiconOnly

    def table() -> LexiconOnly:
        return LexiconOnly(Lexicon.read(model.folder))

    return SmtLearner(table, method="lexical", fingerprint=model.fingerprint, learns=False)


def wnmt_baseline(
    model: Marian, *, lexicon: LexiconFolder = "", max_piece_tokens: MaxPieceTokens = MAX_PIECE_TOKENS
) -> Learner:
    """An unchanged word-level model; unknown words are looked up in `lexicon`, or copied."""
    from mtloop.bandits.neural.unknown_words import WordBaseline

    return WordBaseline(model, _unknown_words(model, lexicon), max_piece_tokens=max_piece_tokens)


def wnmt_el(model: Marian, *, lexicon: LexiconFolder = "", **settings: JSON) -> Learner:
    """Expected loss on a word-level model, with the settings of `nmt-el`; unknown words as in `wnmt-baseline`."""
    from mtloop.bandits.neural.bandit_nmt import BanditNMT
    from mtloop.bandits.neural.unknown_words import WordNMT

    unknown = _unknown_words(model, lexicon)
    learner = EXPECTED_LOSS(model, **settings)
    assert isinstance(learner, BanditNMT)
    return WordNMT(learner, unknown)


WORD_METHODS: dict[str, Method] = {
    "lexical": Method.of("lexical", lexical, SMT_BANDIT, learns_from=(), paper=PAPER_2017),
    "wnmt-baseline": Method.of("wnmt-baseline", wnmt_baseline, WORD_LEVEL, learns_from=(), paper=PAPER_2017),
    "wnmt-el": Method.of(
        "wnmt-el",
        wnmt_el,
        WORD_LEVEL,
        learns_from=(Reward,),
        paper=PAPER_2017,
        settings={**settings_of_dataclass(EXPECTED_LOSS.defaults), **settings_of_maker(wnmt_el)},
    ),
}


def _unknown_words(model: Marian, lexicon: str) -> UnknownWords:
    from mtloop.bandits.neural.unknown_words import UnknownWords
    from mtloop.smt.lexicon import Lexicon

    if not (model.source.is_word_level and model.target.is_word_level):
        message = "is not a word-level model; train one: mtloop train --vocab word --data FILE --out FOLDER"
        raise InputError(message, path=model.folder)
    return UnknownWords(Lexicon.read(lexicon) if lexicon else None)
