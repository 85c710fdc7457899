"""Neural methods that learn from post-edits, by name: a scope, and what is added to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtloop.core.errors import InputError, UnknownName
from mtloop.core.protocols import Learner
from mtloop.core.types import JSON
from mtloop.methods.defaults import PIECE
from mtloop.methods.keywords import keywords_of

if TYPE_CHECKING:
    from mtloop.nmt.decoding.copying import Copying
    from mtloop.nmt.decoding.memory import Memory
    from mtloop.nmt.engine.marian import Marian
    from mtloop.nmt.scopes.scope import Scope


def frozen(model: Marian) -> Scope:
    """The model as it is; never learns."""
    from mtloop.nmt.scopes.scope import Frozen

    return Frozen(model)


def bias(model: Marian, *, rate: float = 0.1, clip: str = "clip") -> Scope:
    """A second bias on the output layer learns, nothing else."""
    from mtloop.nmt.scopes.bias import OutputBias

    return OutputBias(model, rate, _clip(clip))


def full(model: Marian, *, rate: float = 3e-3, clip: str = "clip") -> Scope:
    """Every parameter learns."""
    from mtloop.nmt.scopes.dense import Dense, all_names

    return Dense(model, all_names(model.weights), rate, _clip(clip))


def top(model: Marian, *, rate: float = 1e-2, clip: str = "clip") -> Scope:
    """The topmost layer of encoder and decoder learns."""
    from mtloop.nmt.scopes.dense import Dense, top_names

    return Dense(model, top_names(model), rate, _clip(clip))


def fixed(model: Marian, *, tensors: str = "", rate: float = 1e-2, clip: str = "clip") -> Scope:
    """Tensors chosen on held-out data learn; `tensors` names the file, else it is the model's own choice."""
    from mtloop.nmt.scopes.dense import Dense

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
    from mtloop.nmt.scopes.lasso import Lasso

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
    from mtloop.nmt.scopes.lora import Lora

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
    from mtloop.nmt.decoding.memory import Memory, Trust

    return Memory(Trust(most, reach, temperature, neighbours, newest, alike, stretch))


def copying(*, copy_start: float = 4.0, copy_on: float = 6.0) -> Copying:
    """Names and other words that translators leave as they are get a push while decoding."""
    from mtloop.nmt.decoding.copying import Copying

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
    from mtloop.nmt.regularisation import Regularisation

    if beams < 1 or updates < 0 or not enough >= 1:
        raise InputError("beams are 1 or more, updates 0 or more, and enough, a perplexity, is 1 or more")
    told = {"beams": beams, "updates": updates, "enough": enough, "piece": piece}
    return told | {"honesty": Regularisation(kl, replay, surprise, average)}


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
        own = dict(pair for part in self.parts.values() for pair in keywords_of(part))
        common = dict(keywords_of(learning))
        common = common if self.moves else {name: common[name] for name in SEARCHING}
        return own | common | dict(self.defaults)

    @property
    def moves(self) -> bool:
        """Whether weights learn; else nothing that is said of updates applies."""
        return "baseline" not in self.parts

    def __call__(self, model: Marian, **settings: JSON) -> Learner:
        from mtloop.nmt.adaptive import AdaptiveNMT

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
NEURAL_METHODS: dict[str, Callable[..., Learner]] = {method.name: method for method in _NEURAL}


def make_scope(model: Marian, name: str, rate: float, tensors: str = "") -> Scope:
    """What moves, by the names that post-edit learning has for it; `rate` 0 is the scope's own.

    A tensor's gradient is not clipped by itself here: one norm is taken over all of them.
    """
    learning = {known: make for known, make in SCOPES.items() if known != "baseline"}
    if name not in learning:
        raise UnknownName("scope", name, learning)
    if tensors and name != "fixed":
        raise InputError(f"tensors is a setting of scope fixed, not of {name}")
    settings = ({"rate": rate} if rate else {}) | ({"tensors": tensors} if tensors else {})
    return learning[name](model, clip="none", **settings)


def joins(parts: list[str]) -> bool:
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
    from mtloop.nmt.decoding.memory import Memory

    return Memory(None)


def _own(part: Callable[..., Any], settings: Mapping[str, JSON]) -> dict[str, Any]:
    return {name: settings[name] for name, _ in keywords_of(part) if name in settings}


def _clip(value: str) -> Any:
    if value not in ("clip", "scale", "none"):
        raise InputError(f"clip is 'clip' (above norm 1), 'scale' (always to norm 1) or 'none', not {value!r}")
    return value
