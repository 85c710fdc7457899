"""The registry of learning methods: the same names and settings in `--method`, in TOML and in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from mtloop.core.errors import InputError, UnknownName
from mtloop.core.log import logger
from mtloop.core.names import list_names
from mtloop.core.protocols import Learner
from mtloop.core.types import JSON
from mtloop.methods.copy_source import CopySource
from mtloop.methods.engines import NO_ENGINE
from mtloop.methods.method import Method
from mtloop.methods.neural import EXTRAS, NEURAL_METHODS, SCOPES, canonical_name, is_combination, neural_method
from mtloop.methods.neural_bandits import NEURAL_BANDITS
from mtloop.methods.oracles import INFORMED_METHODS
from mtloop.methods.own import EXEC, is_address, is_own_engine, method_of_plugin, own_method, plugin_title
from mtloop.methods.peers import PEER_METHODS
from mtloop.methods.statistical import SMT_METHODS
from mtloop.methods.statistical_bandits import STATISTICAL_BANDITS
from mtloop.methods.word_level import WORD_METHODS

GROUP = "mtloop.methods"  # the entry-point group through which plugins add methods
BANDIT_METHODS: dict[str, Method] = {**NEURAL_BANDITS, **STATISTICAL_BANDITS}
METHODS: dict[str, Method] = {
    "copy-source": Method.of("copy-source", CopySource, NO_ENGINE),
    **NEURAL_METHODS,
    **PEER_METHODS,
    **SMT_METHODS,
    **BANDIT_METHODS,
    **WORD_METHODS,
    **INFORMED_METHODS,
}


def find_method(name: str, *, timeout: JSON = None) -> Method:
    """Return the record of a method, or of a user's own engine.

    An own engine is `file.py:Class`, `module:Class`, `exec:COMMAND`, or `http://HOST/PROJECT` for a server's project.
    The parts of a name may have any order. Raise UnknownName if there is no such method. `timeout`: seconds that a
    program gets to describe itself (None: the default).

    >>> find_method("memory+full").name, find_method("full").engine.name
    ('full+memory', 'neural')
    """
    check_method_name(name)
    if is_own_engine(name):
        return own_method(name, timeout)
    name, points = canonical_name(name), plugin_points()
    if name in points:  # only this plugin is imported: a broken one does not disturb the others
        return method_of_plugin(points[name])
    if name in METHODS:
        return METHODS[name]
    if is_combination(name.split("+")):
        return neural_method(name)
    parts = [*SCOPES, *EXTRAS]
    if wrong := [part for part in name.split("+") if "+" in name and part not in parts]:
        raise UnknownName("part of a method", wrong[0], parts)
    raise UnknownName("method", name, [*METHODS, *points], hint="parts combine with +, for example lasso+memory+copy")


def check_method_name(name: object) -> None:
    """Raise InputError if a name is not text; suggest the name of a class."""
    if not isinstance(name, str):
        own = name.__name__ if isinstance(name, type) else "CLASS"
        raise InputError(f"method is {name!r:.80}; expected its name, or 'FILE.py:{own}' for a class of your own")


def method_extras(names: str | Sequence[str]) -> set[str]:
    """Return the extras that these methods need. A program needs none; neither it nor a server is asked here."""
    listed = list_names(names, "method")
    asked = [name for name in listed if not name.startswith(EXEC) and not is_address(name)]
    found = {extra for name in asked if (extra := find_method(name).engine.extra)}
    return found | ({"client"} if any(map(is_address, listed)) else set())


def make_learner(method: str, model: Any = None, settings: Mapping[str, JSON] | None = None) -> Learner:
    """Return a learner by name; `model` must be one of its engine. An error about a setting lists the valid ones."""
    return find_method(method).make(model, settings)


def settings_of(method: str, given: Mapping[str, JSON] | None = None) -> dict[str, JSON]:
    """Return all settings of a method by name, with the `given` values converted.

    >>> settings_of("bias", {"learning_rate": "0.5"})["learning_rate"], settings_of("memory")["max_states_per_word"]
    (0.5, 32)
    """
    return find_method(method).settings_with(given)


def all_methods() -> dict[str, Method]:
    """Return every method by name, as `find_method` finds it, without the combinations of parts that have no record."""
    return METHODS | plugins()


@cache
def plugins() -> dict[str, Method]:
    """Return the methods of other packages by name. One that is broken is left out, with a warning."""
    found = {}
    for name in plugin_points():
        try:
            found[name] = find_method(name)
        except InputError as error:
            logger.warning("%s", error)
    return found


@cache
def plugin_points() -> dict[str, EntryPoint]:
    """Return the entry points of other packages by name. One whose name is taken is ignored, with a warning."""
    points: dict[str, EntryPoint] = {}
    for point in entry_points(group=GROUP):
        if point.name in METHODS or is_own_engine(point.name) or is_combination(point.name.split("+")):
            logger.warning("%s is ignored: mtloop uses this name itself", plugin_title(point))
        elif point.name in points:
            logger.warning("%s is ignored: another package registers the same name", plugin_title(point))
        else:
            points[point.name] = point
    return points
