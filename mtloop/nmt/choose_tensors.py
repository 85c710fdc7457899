"""Choosing what `fixed` learns: the tensors that move most when everything may, on data held out for it."""

from __future__ import annotations

from collections.abc import Iterable

from mtloop.core.loop import run
from mtloop.core.protocols import Judge, Stream
from mtloop.nmt.adaptive import AdaptiveNMT
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.weights import SOURCE
from mtloop.nmt.scopes.dense import Dense, all_names, hidden_names

BUDGET = 2_000_000


def choose_tensors(model: Marian, stream: Stream, judge: Judge, budget: int = BUDGET, rate: float = 1e-2) -> list[str]:
    """Adapt everything on the stream, then keep the hidden tensors that moved furthest for their size, within the
    budget, and the source embeddings (of which only the rows met ever change)."""
    scope = Dense(model, all_names(model.weights), rate)
    learner = AdaptiveNMT(scope, method="full")
    for _ in run(stream, learner, judge):
        pass
    return [*within(budget, sorted(hidden_names(model.weights), key=lambda name: -moved(scope, name)), model), SOURCE]


def moved(scope: Dense, name: str) -> float:
    """How far a tensor went, per parameter: the root mean square of its change."""
    change = scope.model.weights[name] - scope.base.weights[name]
    return float(change.pow(2).mean().sqrt())


def within(budget: int, names: Iterable[str], model: Marian) -> list[str]:
    kept = []
    for name in names:
        size = model.weights[name].numel()
        if size <= budget:
            kept.append(name)
            budget -= size
    return kept
