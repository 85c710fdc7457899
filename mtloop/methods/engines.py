"""The engine of a method: how its model is loaded, its default schedule, and the package it depends on."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from mtloop import __version__
from mtloop.core.errors import InputError
from mtloop.nmt.engine.threads import set_threads


class Model(Protocol):
    """A model of any engine; the fingerprint identifies it."""

    @property
    def fingerprint(self) -> str: ...


@dataclass(frozen=True)
class Engine:
    """How to load a model and set the number of threads; `model` and `schedule` are the defaults.

    Trace headers store the version of `package`. `option` is the command-line option for the model in commands that run
    methods of several engines; an engine without models has none. `languages` returns the source and target language of
    a model without loading it ("" if unknown). `extra` is the extra of mtloop that installs the package. `processor`
    says what decides the last bits of a result beside the versions: the precision and the kind of processor.
    """

    name: str
    load: Callable[[str], Model | None]
    set_threads: Callable[[int], None]
    package: str
    model: str = ""
    schedule: str = "each"
    option: str = ""
    languages: Callable[[str], tuple[str, str]] = lambda name: ("", "")
    extra: str = ""
    processor: Callable[[], str] = platform.machine

    @property
    def loads_model(self) -> bool:
        """Whether methods of this engine need a model."""
        return bool(self.option)

    def versions(self) -> dict[str, str]:
        """Return the versions of mtloop, Python and the engine's package."""
        ours = {"mtloop": __version__, "python": platform.python_version()}
        return ours | ({self.package: version(self.package)} if self.package else {})


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


def _languages_nmt(name: str) -> tuple[str, str]:
    from mtloop.nmt.engine.find_model import find_model
    from mtloop.nmt.engine.model_languages import model_languages

    return model_languages(find_model(name)) if name else ("", "")


def _languages_smt(name: str) -> tuple[str, str]:
    from mtloop.smt.card import SmtModelCard

    return SmtModelCard.read(Path(name)).languages if name else ("", "")


def _processor_nmt() -> str:
    from mtloop.nmt.engine.threads import processor

    return processor()


def _set_threads_smt(threads: int) -> None:
    os.environ["OMP_NUM_THREADS"] = str(threads)  # must be set before Thot's library is loaded, which reads it


NMT = Engine(
    "neural",
    _load_nmt,
    set_threads,
    "torch",
    model="en-de",
    option="--model",
    languages=_languages_nmt,
    extra="nmt",
    processor=_processor_nmt,
)
WORD_LEVEL = replace(NMT, name="neural, word-level", load=_load_word_level, model="", option="--word-model")
NO_ENGINE = Engine("none", lambda name: None, lambda threads: None, "")
SMT = Engine(
    "statistical",
    _load_smt,
    _set_threads_smt,
    "sil-thot",
    schedule="blocks:1000",
    option="--smt-model",
    languages=_languages_smt,
    extra="smt",
)
SMT_BANDIT = replace(SMT, schedule="each")
