"""Oracles and domain adaptation, by name: what else was in the 2017 paper's table, and learns from no reward."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from mtloop.core.errors import InputError, UnknownName
from mtloop.core.protocols import Learner
from mtloop.core.types import JSON
from mtloop.methods.defaults import PIECE

if TYPE_CHECKING:
    from mtloop.nmt.adaptive import AdaptiveNMT
    from mtloop.nmt.engine.marian import Marian
    from mtloop.smt.learners import Base


def nmt_oracle(
    model: Marian,
    *,
    scope: str = "full",
    rate: float = 0.0,
    tensors: str = "",
    epochs: int = 2,
    updates: int = 3,
    piece: int = PIECE,
) -> Learner:
    """The neural model, corrected by every reference of the task, `epochs` times over."""
    from mtloop.bandits.oracle import Oracle

    _positive(epochs=epochs, updates=updates)
    return Oracle(_taught(model, scope, rate, tensors, updates, piece), method="nmt-oracle", epochs=epochs)


def smt_oracle(model: Base) -> Learner:
    """The statistical model with every reference of the task counted in."""
    from mtloop.bandits.oracle import Oracle
    from mtloop.methods.statistical import smt_adapting

    return Oracle(smt_adapting(model), method="smt-oracle")


def domain_adaptation(
    model: Marian,
    *,
    general: str = "",
    scope: str = "full",
    rate: float = 0.0,
    tensors: str = "",
    every: int = 500,
    select: int = 500,
    pool: int = 50_000,
    seed: int = 1,
    piece: int = PIECE,
) -> Learner:
    """After `every` sources the model learns the `select` pairs most like them, of the first `pool` of `general`."""
    from mtloop.bandits.neural.domain_adaptation import DomainAdaptation
    from mtloop.data.training_pairs import text_pairs

    _positive(every=every, select=select, pool=pool)
    if not general:
        raise InputError("domain-adaptation chooses from general parallel text: --set general=FILE")
    pairs = list(islice(text_pairs(Path(general)), pool))
    learner = _taught(model, scope, rate, tensors, 1, piece)
    return DomainAdaptation(learner, pairs, every=every, select=select, seed=seed)


ORACLES: dict[str, Callable[..., Learner]] = {"nmt-oracle": nmt_oracle, "smt-oracle": smt_oracle}
INFORMED_METHODS: dict[str, Callable[..., Learner]] = {**ORACLES, "domain-adaptation": domain_adaptation}


def _taught(model: Marian, scope: str, rate: float, tensors: str, updates: int, piece: int) -> AdaptiveNMT:
    """A learner of corrections, by the name of what moves; its delta is one of that method."""
    from mtloop.methods.neural import NEURAL_METHODS, SCOPES
    from mtloop.nmt.adaptive import AdaptiveNMT

    if scope not in SCOPES or scope == "baseline":
        raise UnknownName("scope", scope, [name for name in SCOPES if name != "baseline"])
    if tensors and scope != "fixed":
        raise InputError(f"tensors is a setting of scope fixed, not of {scope}")
    if rate < 0:
        raise InputError(f"rate is the step size (0: the scope's own), not {rate:g}")
    settings: dict[str, JSON] = {"updates": updates, "piece": piece}
    settings |= ({"rate": rate} if rate else {}) | ({"tensors": tensors} if tensors else {})
    learner = NEURAL_METHODS[scope](model, **settings)
    assert isinstance(learner, AdaptiveNMT)
    return learner


def _positive(**counts: int) -> None:
    for name, value in counts.items():
        if value < 1:
            raise InputError(f"{name} is {value}; expected 1 or more")
