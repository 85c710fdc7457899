"""Which engine a method runs on, and what follows: how its model is found, when it learns, what it depends on."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, Protocol

from mtloop import __version__
from mtloop.core.errors import InputError
from mtloop.methods.registry import takes_model
from mtloop.methods.statistical import SMT_METHODS, UNFAIR
from mtloop.methods.statistical_bandits import STATISTICAL_BANDITS
from mtloop.methods.word_level import WORD_METHODS
from mtloop.nmt.engine.threads import set_threads


class Model(Protocol):
    """What a learner is made from; the fingerprint tells one from another."""

    @property
    def fingerprint(self) -> str: ...


@dataclass(frozen=True)
class Engine:
    """`model` and `schedule` are taken when none is named; headers give the version of `package`.

    `option` names the model where methods of several engines run side by side.
    """

    load: Callable[[str], Model | None]
    prepare: Callable[[int], None]
    package: str
    model: str = ""
    schedule: str = "each"
    option: str = ""

    def versions(self) -> dict[str, str]:
        ours = {"mtloop": __version__, "python": platform.python_version()}
        return ours | ({self.package: version(self.package)} if self.package else {})


def engine_of(method: str) -> Engine:
    if method in SMT_METHODS:
        return SMT
    if method in STATISTICAL_BANDITS.keys() | {"lexical", "smt-oracle"}:
        return SMT_BANDIT
    if method.startswith("wnmt-") and method in WORD_METHODS:
        return WORDS
    return NMT if takes_model(method) else NONE


def schedule_of(method: str, given: str) -> str:
    """When a method learns: as given, else as its engine does; a method that is unfair by name is so by schedule.

    >>> schedule_of("full", ""), schedule_of("smt-adapting", ""), schedule_of("smt-foreground-unfair", "blocks:3000")
    ('each', 'blocks:1000', 'blocks:3000:unfair')
    """
    schedule = given or engine_of(method).schedule
    if method not in UNFAIR or schedule.endswith(":unfair"):
        return schedule
    if not schedule.startswith("blocks:"):
        raise InputError(f"{method} learns a block before translating it: give --schedule blocks:WORDS, not {schedule}")
    return f"{schedule}:unfair"


def _load_nmt(name: str) -> Any:
    from mtloop.nmt.engine.find_model import find_model
    from mtloop.nmt.engine.marian import Marian

    return Marian.load(find_model(name))


def _load_words(name: str) -> Any:
    if not name:
        raise InputError(
            "a word-level method needs its model: --model FOLDER (mtloop bandit: --word-model FOLDER); "
            "train one: mtloop train --vocab word"
        )
    return _load_nmt(name)


def _load_smt(name: str) -> Any:
    from mtloop.smt.card import RETRAIN
    from mtloop.smt.learners import Base

    if not name:
        raise InputError(
            f"a statistical method needs its model: --model FOLDER (mtloop bandit: --smt-model FOLDER); {RETRAIN}"
        )
    return Base.open(name)


def _set_threads_smt(threads: int) -> None:
    os.environ["OMP_NUM_THREADS"] = str(threads)  # read when Thot's library is loaded


NMT = Engine(_load_nmt, set_threads, "torch", model="en-de", option="--model")
WORDS = Engine(_load_words, set_threads, "torch", option="--word-model")
NONE = Engine(lambda name: None, lambda threads: None, "")
SMT = Engine(_load_smt, _set_threads_smt, "sil-thot", schedule="blocks:1000", option="--smt-model")
SMT_BANDIT = replace(SMT, schedule="each")
