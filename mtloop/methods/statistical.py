"""Statistical methods, by name: the systems of the 2012 paper. Their model is a folder made by `mtloop train`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from mtloop.core.protocols import Learner
from mtloop.core.ranges import check_at_least
from mtloop.core.types import PostEdit
from mtloop.methods.common_settings import NBestSize
from mtloop.methods.engines import SMT
from mtloop.methods.method import PAPER_2012, Method

if TYPE_CHECKING:
    from mtloop.smt.learners import BackgroundModel, TranslationSystem

RetrainWords: TypeAlias = Annotated[int, "Number of corrected source words after which the model is trained again."]
PhraseLength: TypeAlias = Annotated[int, "Maximum number of words in a phrase."]


def smt_baseline(model: BackgroundModel) -> Learner:
    """The unchanged background model; never learns."""
    from mtloop.smt.learners import BackgroundOnly

    return _smt("smt-baseline", model, lambda: BackgroundOnly(model.engine()), learns=False)


def smt_adapting(
    model: BackgroundModel,
    *,
    foreground: Annotated[Literal["incremental", "rescoring"], "How corrections are used."] = "incremental",
    repetitions: Annotated[int, "Number of times that each pair is learned."] = 1,
    nbest_size: NBestSize = 50,
) -> Learner:
    """Background and foreground: incremental training (each pair `repetitions` times), or n-best rescoring."""
    from mtloop.smt.learners import IncrementalTraining, NbestRescoring

    check_at_least(1, repetitions=repetitions, nbest_size=nbest_size)
    if foreground == "incremental":
        return _smt("smt-adapting", model, lambda: IncrementalTraining(model.engine(repetitions)))
    return _smt("smt-adapting", model, lambda: NbestRescoring(model.engine(), nbest_size))


def smt_foreground(
    model: BackgroundModel, *, retrain_words: RetrainWords = 1000, max_phrase_length: PhraseLength = 20
) -> Learner:
    """The foreground only, retrained after every `retrain_words` corrected source words; until then it copies."""
    return _foreground_only("smt-foreground", model, retrain_words, max_phrase_length)


def smt_foreground_unfair(
    model: BackgroundModel, *, retrain_words: RetrainWords = 1, max_phrase_length: PhraseLength = 20
) -> Learner:
    """The foreground only, trained on each block before translating it: an upper bound by memorisation."""
    return _foreground_only("smt-foreground-unfair", model, retrain_words, max_phrase_length)


def _foreground_only(method: str, model: BackgroundModel, retrain_words: int, max_phrase_length: int) -> Learner:
    from mtloop.smt.learners import ForegroundOnly

    check_at_least(1, retrain_words=retrain_words, max_phrase_length=max_phrase_length)
    return _smt(method, model, lambda: ForegroundOnly(model, retrain_words, max_phrase_length))


SMT_METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method.of("smt-baseline", smt_baseline, SMT, learns_from=(), paper=PAPER_2012),
        Method.of("smt-adapting", smt_adapting, SMT, learns_from=(PostEdit,), paper=PAPER_2012),
        Method.of("smt-foreground", smt_foreground, SMT, learns_from=(PostEdit,), paper=PAPER_2012),
        Method.of(
            "smt-foreground-unfair",
            smt_foreground_unfair,
            SMT,
            learns_from=(PostEdit,),
            paper=PAPER_2012,
            learns_block_first=True,
        ),
    )
}


def _smt(method: str, model: BackgroundModel, make: Callable[[], TranslationSystem], *, learns: bool = True) -> Learner:
    from mtloop.smt.learners import SmtLearner

    return SmtLearner(make, method=method, fingerprint=model.fingerprint, learns=learns)
