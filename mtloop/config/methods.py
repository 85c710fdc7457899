"""Learning methods by name, with their keywords: the same in `--method`, in TOML and in Python."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtloop.config.bandits import BANDIT_METHODS
from mtloop.config.names import PIECE
from mtloop.config.oracles import INFORMED_METHODS
from mtloop.config.smt import SMT_METHODS
from mtloop.config.words import WORD_METHODS
from mtloop.core.errors import InputError, UnknownName
from mtloop.core.protocols import Learner
from mtloop.core.types import JSON

if TYPE_CHECKING:
    from mtloop.translators.copying import Copying
    from mtloop.translators.marian.model import Marian
    from mtloop.translators.memory import Memory
    from mtloop.translators.scopes import Scope

GROUP = "mtloop.methods"  # the entry-point group through which plugins add methods


def frozen(model: Marian) -> Scope:
    """The model as it is; never learns."""
    from mtloop.translators.scopes import Frozen

    return Frozen(model)


def copy_source() -> Learner:
    """The source as it is: the floor. Needs no model."""
    from mtloop.translators.copied import CopySource

    return CopySource()


def bias(model: Marian, *, rate: float = 0.1, clip: str = "clip") -> Scope:
    """A second bias on the output layer learns, nothing else."""
    from mtloop.translators.scopes import OutputBias

    return OutputBias(model, rate, _clip(clip))


def full(model: Marian, *, rate: float = 3e-3, clip: str = "clip") -> Scope:
    """Every parameter learns."""
    from mtloop.translators.scopes import Dense, all_names

    return Dense(model, all_names(model.weights), rate, _clip(clip))


def top(model: Marian, *, rate: float = 1e-2, clip: str = "clip") -> Scope:
    """The topmost layer of encoder and decoder learns."""
    from mtloop.translators.scopes import Dense, top_names

    return Dense(model, top_names(model), rate, _clip(clip))


def fixed(model: Marian, *, tensors: str = "", rate: float = 1e-2, clip: str = "clip") -> Scope:
    """Tensors chosen on held-out data learn; `tensors` names the file, else it is the model's own choice."""
    from mtloop.translators.scopes import Dense

    return Dense(model, chosen_tensors(model, tensors), rate, _clip(clip))


def lasso(
    model: Marian,
    *,
    rate: float = 5e-3,
    bias_rate: float = 1e-2,
    strength: float = 1e-5,
    hidden_budget: int = 1_000_000,
    row_budget: int = 1_000_000,
    clip: str = "clip",
) -> Scope:
    """Few offsets learn, chosen as it goes by group lasso; a user costs what they cost."""
    from mtloop.translators.lasso import Lasso

    return Lasso(model, rate, bias_rate, strength, hidden_budget, row_budget, _clip(clip))


def lora(
    model: Marian,
    *,
    rank: int = 0,
    rate: float = 5e-3,
    bias_rate: float = 0.0,
    seed: int = 1,
    budget: int = 2_000_000,
    clip: str = "clip",
) -> Scope:
    """Low-rank offsets of every attention and feed-forward matrix learn; `bias_rate` above 0 adds a second bias."""
    from mtloop.translators.lora import Lora

    return Lora(model, rate, bias_rate, rank, seed, budget, _clip(clip))


def memory(
    *,
    most: float = 0.8,
    reach: float = 1.5,
    temperature: float = 0.2,
    neighbours: int = 8,
    newest: int = 32,
    alike: int = 16,
    stretch: float = 4.0,
) -> Memory:
    """States of confirmed segments vote on the next token; an exact repeat is translated as it was confirmed."""
    from mtloop.translators.memory import Memory, Trust

    return Memory(Trust(most, reach, temperature, neighbours, newest, alike, stretch))


def copying(*, copy_start: float = 4.0, copy_on: float = 6.0) -> Copying:
    """Names and other words that translators leave as they are get a push while decoding."""
    from mtloop.translators.copying import Copying

    return Copying(copy_start, copy_on)


def learning(
    *,
    beams: int = 1,
    updates: int = 3,
    enough: float = 2.0,
    piece: int = PIECE,
    kl: float = 0.0,
    replay: int = 0,
    surprise: float = 0.0,
    average: float = 0.0,
) -> dict[str, Any]:
    """What every method can be told: how to search, how long to learn, and what keeps it honest."""
    from mtloop.translators.honesty import Honesty

    if beams < 1 or updates < 0 or not enough >= 1:
        raise InputError("beams are 1 or more, updates 0 or more, and enough, a perplexity, is 1 or more")
    told = {"beams": beams, "updates": updates, "enough": enough, "piece": piece}
    return told | {"honesty": Honesty(kl, replay, surprise, average)}


SCOPES: dict[str, Callable[..., Scope]] = {
    "baseline": frozen,
    "bias": bias,
    "full": full,
    "top": top,
    "fixed": fixed,
    "lasso": lasso,
    "lora": lora,
}
SEARCHING = ("beams", "piece")  # what a method that learns nothing can be told
NO_UPDATES: dict[str, JSON] = {"updates": 0}
EXTRAS: dict[str, Callable[..., Any]] = {"memory": memory, "copy": copying}


@dataclass(frozen=True)
class Neural:
    """A scope with extras, by name: `full`, `memory`, `lasso+memory`, `full+memory+copy`."""

    name: str
    defaults: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def parts(self) -> dict[str, Callable[..., Any]]:
        """What it is made of, by name; a name without a scope is the base model with extras."""
        names = self.name.split("+")
        scopes = [name for name in names if name in SCOPES] or ["baseline"]
        return {scopes[0]: SCOPES[scopes[0]]} | {name: EXTRAS[name] for name in names if name in EXTRAS}

    @property
    def keywords(self) -> dict[str, JSON]:
        own = dict(pair for part in self.parts.values() for pair in _keywords(part))
        common = dict(_keywords(learning))
        common = common if self.moves else {name: common[name] for name in SEARCHING}
        return own | common | dict(self.defaults)

    @property
    def moves(self) -> bool:
        """Whether weights learn; else nothing that is said of updates applies."""
        return "baseline" not in self.parts

    def __call__(self, model: Marian, **settings: JSON) -> Learner:
        from mtloop.translators.adaptive import AdaptiveNMT

        settings = self.keywords | settings
        if (rate := settings.get("rate")) is not None and not 0 < float(rate) < float("inf"):  # type: ignore[arg-type]
            raise InputError(f"rate is a number above 0, not {rate}")
        (_, scope), *extras = self.parts.items()
        made = {"copying" if name == "copy" else name: part(**_own(part, settings)) for name, part in extras}
        common = learning(**_own(learning, settings if self.moves else settings | NO_UPDATES))
        if common["honesty"].replay and "memory" not in made:
            made["memory"] = _pairs_only()
        return AdaptiveNMT(scope(model, **_own(scope, settings)), method=self.name, **made, **common)


_NEURAL = (
    Neural("baseline"),
    Neural("bias"),
    Neural("full"),
    Neural("top"),
    Neural("fixed"),
    Neural("lasso"),
    Neural("lora"),
    Neural("memory"),
    Neural("full+memory"),
    Neural("lasso+memory"),
    Neural("lora+memory"),
    Neural("full+memory+copy", {"rate": 4e-3, "updates": 2, "kl": 0.3}),
    Neural("lora+memory+copy", {"rate": 3e-3}),
)
METHODS: dict[str, Callable[..., Learner]] = {method.name: method for method in _NEURAL}
METHODS["copy-source"] = copy_source


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
    defaults = found.keywords if isinstance(found, Neural) else dict(_keywords(found))
    for name in given or {}:
        if name not in defaults:
            raise UnknownName(f"setting of method {method}", name, defaults)
    return defaults | {name: like(defaults[name], value, name) for name, value in (given or {}).items()}


def find_method(name: str) -> Callable[..., Learner]:
    known = METHODS | SMT_METHODS | BANDIT_METHODS | WORD_METHODS | INFORMED_METHODS | _plugins()
    if name in known:
        return known[name]
    if _joins(name.split("+")):
        return Neural(name)
    raise UnknownName("method", name, known)


def _joins(parts: list[str]) -> bool:
    """Whether parts make a method: at most one says which weights move, none comes twice."""
    scopes = sum(part in SCOPES for part in parts)
    return scopes <= 1 and len(set(parts)) == len(parts) > 1 and all(part in SCOPES | EXTRAS for part in parts)


def chosen_tensors(model: Marian, path: str) -> frozenset[str]:
    """The tensors a file names, or those the model came with."""
    file = Path(path) if path else model.folder / "fixed.json"
    try:
        names = json.loads(file.read_text(encoding="utf-8"))["tensors"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = "method `fixed` needs a choice of tensors; make one: mtloop model choose --data FILE --out FILE"
        raise InputError(f"{message} ({error})", path=file) from error
    if missing := [name for name in names if name not in model.weights]:
        raise InputError(f"the model has no tensor {missing[0]!r}", path=file)
    return frozenset(names)


def _pairs_only() -> Memory:
    """A memory that keeps pairs to look at again, and has no say in decoding."""
    from mtloop.translators.memory import Memory

    return Memory(None)


def _own(part: Callable[..., Any], settings: Mapping[str, JSON]) -> dict[str, Any]:
    return {name: settings[name] for name, _ in _keywords(part) if name in settings}


def _clip(value: str) -> Any:
    if value not in ("clip", "scale", "none"):
        raise InputError(f"clip is 'clip' (above norm 1), 'scale' (always to norm 1) or 'none', not {value!r}")
    return value


def _keywords(method: Callable[..., Any]) -> Iterator[tuple[str, JSON]]:
    for name, parameter in inspect.signature(method).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY:
            yield name, parameter.default


def like(default: JSON, value: JSON, name: str) -> JSON:
    """A value of the default's type; text from the command line is converted.

    >>> like(1, "3", "beams"), like(0.5, 1, "rate")
    (3, 1.0)
    """
    if default is None:
        return value
    wrong = InputError(f"setting {name} takes a {type(default).__name__}, not {value!r}")
    try:
        found: JSON = type(default)(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise wrong from None
    same = found == value and isinstance(value, bool) == isinstance(default, bool)  # 2.5 is no int, nor is True
    if not (same or isinstance(value, str)) or (isinstance(found, float) and math.isnan(found)):
        raise wrong
    return found


@cache
def _plugins() -> dict[str, Callable[..., Learner]]:
    return {point.name: point.load() for point in entry_points(group=GROUP)}
