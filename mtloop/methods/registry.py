"""Learning methods by name, with their keywords: the same in `--method`, in TOML and in Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from mtloop.core.conversion import convert
from mtloop.core.errors import UnknownName
from mtloop.core.protocols import Learner
from mtloop.core.types import JSON
from mtloop.methods.copy_source import CopySource
from mtloop.methods.keywords import keywords_of
from mtloop.methods.neural import NEURAL_METHODS, Neural, joins
from mtloop.methods.neural_bandits import NEURAL_BANDITS
from mtloop.methods.oracles import INFORMED_METHODS
from mtloop.methods.statistical import SMT_METHODS
from mtloop.methods.statistical_bandits import STATISTICAL_BANDITS
from mtloop.methods.word_level import WORD_METHODS

GROUP = "mtloop.methods"  # the entry-point group through which plugins add methods


BANDIT_METHODS: dict[str, Callable[..., Learner]] = {**NEURAL_BANDITS, **STATISTICAL_BANDITS}
METHODS: dict[str, Callable[..., Learner]] = {
    "copy-source": CopySource,
    **NEURAL_METHODS,
    **SMT_METHODS,
    **BANDIT_METHODS,
    **WORD_METHODS,
    **INFORMED_METHODS,
}


def make_learner(method: str, model: Any, settings: Mapping[str, JSON] | None = None) -> Learner:
    """A learner by name, over a model of its engine; a wrong keyword answers with the right ones."""
    given = (model,) if takes_model(method) else ()
    return find_method(method)(*given, **(settings or {}))


def takes_model(method: str) -> bool:
    """Whether a method is one of a model, which is its first argument.

    >>> takes_model("full"), takes_model("copy-source")
    (True, False)
    """
    parameters = inspect.signature(find_method(method)).parameters.values()
    return any(parameter.kind is not parameter.KEYWORD_ONLY for parameter in parameters)


def settings_of(method: str, given: Mapping[str, JSON] | None = None) -> dict[str, JSON]:
    """Every keyword of a method with its value: what the trace's header keeps.

    >>> settings_of("bias", {"rate": "0.5"})["rate"], settings_of("memory")["newest"]
    (0.5, 32)
    """
    found = find_method(method)
    defaults = found.keywords if isinstance(found, Neural) else dict(keywords_of(found))
    for name in given or {}:
        if name not in defaults:
            raise UnknownName(f"setting of method {method}", name, defaults)
    return defaults | {name: convert(defaults[name], value, name) for name, value in (given or {}).items()}


def find_method(name: str) -> Callable[..., Learner]:
    known = METHODS | _plugins()
    if name in known:
        return known[name]
    if joins(name.split("+")):
        return Neural(name)
    raise UnknownName("method", name, known)


@cache
def _plugins() -> dict[str, Callable[..., Learner]]:
    return {point.name: point.load() for point in entry_points(group=GROUP)}
