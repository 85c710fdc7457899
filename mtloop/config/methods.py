"""Learning methods by name, with their keywords: the same in `--method`, in TOML and in Python."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtloop.core.errors import InputError, UnknownName
from mtloop.core.protocols import Learner
from mtloop.core.types import JSON

if TYPE_CHECKING:
    from mtloop.translators.adaptive import AdaptiveNMT
    from mtloop.translators.marian.model import Marian
    from mtloop.translators.scopes import Scope

GROUP = "mtloop.methods"  # the entry-point group through which plugins add methods


def baseline(model: Marian, *, beams: int = 1) -> Learner:
    """The model as it is; never learns."""
    from mtloop.translators.scopes import Frozen

    return _nmt("baseline", Frozen(model), beams=beams, updates=0)


def bias(
    model: Marian, *, rate: float = 1.0, clip: str = "clip", beams: int = 1, updates: int = 3, enough: float = 2.0
) -> Learner:
    """A second bias on the output layer learns, nothing else."""
    from mtloop.translators.scopes import OutputBias

    return _nmt("bias", OutputBias(model, rate, _clip(clip)), beams=beams, updates=updates, enough=enough)


def full(
    model: Marian, *, rate: float = 1e-2, clip: str = "clip", beams: int = 1, updates: int = 3, enough: float = 2.0
) -> Learner:
    """Every parameter learns."""
    from mtloop.translators.scopes import Dense, all_names

    scope = Dense(model, all_names(model.weights), rate, _clip(clip))
    return _nmt("full", scope, beams=beams, updates=updates, enough=enough)


def top(
    model: Marian, *, rate: float = 1e-2, clip: str = "clip", beams: int = 1, updates: int = 3, enough: float = 2.0
) -> Learner:
    """The topmost layer of encoder and decoder learns."""
    from mtloop.translators.scopes import Dense, top_names

    scope = Dense(model, top_names(model), rate, _clip(clip))
    return _nmt("top", scope, beams=beams, updates=updates, enough=enough)


def fixed(
    model: Marian,
    *,
    tensors: str = "",
    rate: float = 1e-2,
    clip: str = "clip",
    beams: int = 1,
    updates: int = 3,
    enough: float = 2.0,
) -> Learner:
    """Tensors chosen on held-out data learn; `tensors` names the file, else it is the model's own choice."""
    from mtloop.translators.scopes import Dense

    scope = Dense(model, chosen_tensors(model, tensors), rate, _clip(clip))
    return _nmt("fixed", scope, beams=beams, updates=updates, enough=enough)


def lasso(
    model: Marian,
    *,
    rate: float = 1e-2,
    bias_rate: float = 1e-2,
    strength: float = 1e-4,
    hidden_budget: int = 1_000_000,
    row_budget: int = 1_000_000,
    clip: str = "clip",
    beams: int = 1,
    updates: int = 3,
    enough: float = 2.0,
) -> Learner:
    """Few offsets learn, chosen as it goes by group lasso; a user costs what they cost."""
    from mtloop.translators.lasso import Lasso

    scope = Lasso(model, rate, bias_rate, strength, hidden_budget, row_budget, _clip(clip))
    return _nmt("lasso", scope, beams=beams, updates=updates, enough=enough)


def lora(
    model: Marian,
    *,
    rank: int = 0,
    rate: float = 5e-3,
    bias_rate: float = 0.0,
    seed: int = 1,
    budget: int = 2_000_000,
    clip: str = "clip",
    beams: int = 1,
    updates: int = 3,
    enough: float = 2.0,
) -> Learner:
    """Low-rank offsets of every attention and feed-forward matrix learn; `bias_rate` above 0 adds a second bias."""
    from mtloop.translators.lora import Lora

    scope = Lora(model, rate, bias_rate, rank, seed, budget, _clip(clip))
    return _nmt("lora", scope, beams=beams, updates=updates, enough=enough)


METHODS: dict[str, Callable[..., Learner]] = {
    "baseline": baseline,
    "bias": bias,
    "full": full,
    "top": top,
    "fixed": fixed,
    "lasso": lasso,
    "lora": lora,
}


def make_learner(method: str, model: Marian, settings: Mapping[str, JSON] | None = None) -> Learner:
    """A learner by name; a wrong keyword answers with the right ones."""
    return find_method(method)(model, **(settings or {}))


def settings_of(method: str, given: Mapping[str, JSON] | None = None) -> dict[str, JSON]:
    """Every keyword of a method with its value: what the trace's header keeps.

    >>> settings_of("bias", {"rate": 0.5})
    {'rate': 0.5, 'clip': 'clip', 'beams': 1, 'updates': 3, 'enough': 2.0}
    """
    defaults = dict(_keywords(find_method(method)))
    for name in given or {}:
        if name not in defaults:
            raise UnknownName(f"setting of method {method}", name, defaults)
    return defaults | {name: _like(defaults[name], value, name) for name, value in (given or {}).items()}


def find_method(name: str) -> Callable[..., Learner]:
    known = METHODS | _plugins()
    if name not in known:
        raise UnknownName("method", name, known)
    return known[name]


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


def _nmt(method: str, scope: Scope, **settings: Any) -> AdaptiveNMT:
    from mtloop.translators.adaptive import AdaptiveNMT

    return AdaptiveNMT(scope, method=method, **settings)


def _clip(value: str) -> Any:
    if value not in ("clip", "scale"):
        raise InputError(f"clip is 'clip' (above norm 1) or 'scale' (always to norm 1), not {value!r}")
    return value


def _keywords(method: Callable[..., Learner]) -> Iterator[tuple[str, JSON]]:
    for name, parameter in inspect.signature(method).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY:
            yield name, parameter.default


def _like(default: JSON, value: JSON, name: str) -> JSON:
    """A value of the default's type; text from the command line is converted."""
    try:
        return value if isinstance(value, bool) or default is None else type(default)(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InputError(f"setting {name} takes a {type(default).__name__}, not {value!r}") from None


@cache
def _plugins() -> dict[str, Callable[..., Learner]]:
    return {point.name: point.load() for point in entry_points(group=GROUP)}
