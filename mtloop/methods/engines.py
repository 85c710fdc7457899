"""The engine of a method: how its model is loaded, its default schedule, and the package it depends on."""

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
    """A model of any engine; the fingerprint identifies it."""

    @property
    def fingerprint(self) -> str: ...


@dataclass(frozen=True)
class Engine:
    """How to load a model and set the number of threads; `model` and `schedule` are the defaults.

    Trace headers store the version of `package`. `option` is the command-line option for the model in commands that run
    methods of several engines.
    """

    load: Callable[[str], Model | None]
    set_threads: Callable[[int], None]
    package: str
    model: str = ""
    schedule: str = "each"
    option: str = ""

    def versions(self) -> dict[str, str]:
        """Return the versions of mtloop, Python and the engine's package."""
        ours = {"mtloop": __version__, "python": platform.python_version()}
        return ours | ({self.package: version(self.package)} if self.package else {})


def engine_of(method: str) -> Engine:
    """Return the engine of a method."""
    if method in SMT_METHODS:
        return SMT
    if method in STATISTICAL_BANDITS.keys() | {"lexical", "smt-oracle"}:
        return SMT_BANDIT
    if method.startswith("wnmt-") and method in WORD_METHODS:
        return WORD_LEVEL
    return NMT if takes_model(method) else NO_ENGINE


def schedule_of(method: str, given: str) -> str:
    """Return the schedule of a method: the one given, or the default of its engine; unfair methods get `:unfair`.

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


def _load_word_level(name: str) -> Any:
    if not name:
        raise InputError(
            "a word-level method needs a model: --model FOLDER (mtloop bandit: --word-model FOLDER); "
            "train one: mtloop train --vocab word"
        )
    return _load_nmt(name)


def _load_smt(name: str) -> Any:
    from mtloop.smt.card import TRAIN_HINT
    from mtloop.smt.learners import BackgroundModel

    if not name:
        raise InputError(
            f"a statistical method needs a model: --model FOLDER (mtloop bandit: --smt-model FOLDER); {TRAIN_HINT}"
        )
    return BackgroundModel.open(name)


def _set_threads_smt(threads: int) -> None:
    os.environ["OMP_NUM_THREADS"] = str(threads)  # must be set before Thot's library is loaded, which reads it


NMT = Engine(_load_nmt, set_threads, "torch", model="en-de", option="--model")
WORD_LEVEL = Engine(_load_word_level, set_threads, "torch", option="--word-model")
NO_ENGINE = Engine(lambda name: None, lambda threads: None, "")
SMT = Engine(_load_smt, _set_threads_smt, "sil-thot", schedule="blocks:1000", option="--smt-model")
SMT_BANDIT = replace(SMT, schedule="each")
