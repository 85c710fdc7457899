"""The registry of learning methods: the same names and settings in `--method`, in TOML and in Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from mtloop.core.conversion import convert
from mtloop.core.errors import UnknownName
from mtloop.core.keywords import keywords_of
from mtloop.core.protocols import Learner
from mtloop.core.types import JSON
from mtloop.methods.copy_source import CopySource
from mtloop.methods.neural import EXTRAS, NEURAL_METHODS, SCOPES, Neural, canonical_name, is_combination
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
    """Return a learner by name; `model` must be one of its engine. An error about a setting lists the valid ones."""
    arguments = (model,) if takes_model(method) else ()
    return find_method(method)(*arguments, **(settings or {}))


def takes_model(method: str) -> bool:
    """Whether a method needs a model, as its first argument.

    >>> takes_model("full"), takes_model("copy-source")
    (True, False)
    """
    parameters = inspect.signature(find_method(method)).parameters.values()
    return any(parameter.kind is not parameter.KEYWORD_ONLY for parameter in parameters)


def settings_of(method: str, given: Mapping[str, JSON] | None = None) -> dict[str, JSON]:
    """Return all settings of a method, with the `given` values converted; the trace header stores them.

    >>> settings_of("bias", {"learning_rate": "0.5"})["learning_rate"], settings_of("memory")["max_states_per_word"]
    (0.5, 32)
    """
    maker = find_method(method)
    defaults = maker.keywords if isinstance(maker, Neural) else dict(keywords_of(maker))
    for name in given or {}:
        if name not in defaults:
            raise UnknownName("setting", name, defaults, owner=f"method {method}")
    return defaults | {name: convert(defaults[name], value, name) for name, value in (given or {}).items()}


def find_method(name: str) -> Callable[..., Learner]:
    """Return the function that makes a learner; raise UnknownName if there is none. Parts may have any order."""
    known, name = METHODS | _plugins(), canonical_name(name)
    if name in known:
        return known[name]
    if is_combination(name.split("+")):
        return Neural(name)
    parts = [*SCOPES, *EXTRAS]
    if wrong := [part for part in name.split("+") if "+" in name and part not in parts]:
        raise UnknownName("part of a method", wrong[0], parts)
    raise UnknownName("method", name, known, hint="parts combine with +, for example lasso+memory+copy")


@cache
def _plugins() -> dict[str, Callable[..., Learner]]:
    return {point.name: point.load() for point in entry_points(group=GROUP)}
