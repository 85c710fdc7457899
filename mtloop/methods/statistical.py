"""Statistical methods by name: the systems of the 2012 paper. Their model is a folder made by `mtloop train`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mtloop.core.errors import InputError
from mtloop.core.protocols import Learner

if TYPE_CHECKING:
    from mtloop.smt.learners import Adapting, Base


def smt_baseline(model: Base) -> Learner:
    """The background as it is; never learns."""
    from mtloop.smt.learners import Fixed

    return _smt("smt-baseline", model, lambda: Fixed(model.engine()), learns=False)


def smt_adapting(model: Base, *, foreground: str = "incremental", emphasis: int = 1, size: int = 50) -> Learner:
    """Background and foreground: by incremental training (`emphasis` times a pair), or rescoring `size` candidates."""
    from mtloop.smt.learners import Incremental, Rescoring

    if foreground not in ("incremental", "rescoring"):
        raise InputError(f"foreground is 'incremental' or 'rescoring', not {foreground!r}")
    if emphasis < 1 or size < 1:
        raise InputError("emphasis and size are 1 or more")
    if foreground == "incremental":
        return _smt("smt-adapting", model, lambda: Incremental(model.engine(emphasis)))
    return _smt("smt-adapting", model, lambda: Rescoring(model.engine(), size))


def smt_foreground(model: Base, *, words: int = 1000, phrase: int = 20) -> Learner:
    """The foreground alone, estimated anew after every `words` corrected source words; copies until the first time."""
    return _alone("smt-foreground", model, words, phrase)


def smt_foreground_unfair(model: Base, *, words: int = 1, phrase: int = 20) -> Learner:
    """The foreground alone, taught each block before it translates it: what memorising looks like."""
    return _alone("smt-foreground-unfair", model, words, phrase)


def _alone(method: str, model: Base, words: int, phrase: int) -> Learner:
    from mtloop.smt.learners import Alone

    if words < 1 or phrase < 1:
        raise InputError("words and phrase are 1 or more")
    return _smt(method, model, lambda: Alone(model, words, phrase))


SMT_METHODS: dict[str, Callable[..., Learner]] = {
    "smt-baseline": smt_baseline,
    "smt-adapting": smt_adapting,
    "smt-foreground": smt_foreground,
    "smt-foreground-unfair": smt_foreground_unfair,
}
UNFAIR = frozenset({"smt-foreground-unfair"})


def _smt(method: str, model: Base, make: Callable[[], Adapting], *, learns: bool = True) -> Learner:
    from mtloop.smt.learners import SmtLearner

    return SmtLearner(make, method=method, fingerprint=model.fingerprint, learns=learns)
