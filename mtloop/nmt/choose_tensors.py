"""Choose the tensors that method `fixed` learns: those that change most on held-out data if all tensors may learn."""

from __future__ import annotations

from collections.abc import Iterable

from mtloop.core.loop import run
from mtloop.core.protocols import Judge, Stream
from mtloop.nmt.adaptive import AdaptiveNMT
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.weights import SOURCE
from mtloop.nmt.scopes.dense import Dense, all_names, hidden_names

DEFAULT_BUDGET = 2_000_000


def choose_tensors(
    model: Marian,
    stream: Stream,
    judge: Judge,
    parameter_budget: int = DEFAULT_BUDGET,
    learning_rate: float = 1e-2,
) -> list[str]:
    """Adapt all tensors on the stream; return the names of the chosen ones.

    These are the hidden tensors with the largest change per parameter, within the budget, and the source embeddings (of
    which only the rows that occur change).
    """
    scope = Dense(model, all_names(model.weights), learning_rate)
    learner = AdaptiveNMT(scope, method="full")
    for _ in run(stream, learner, judge):
        pass
    ranked = sorted(hidden_names(model.weights), key=lambda name: -mean_change(scope, name))
    return [*select_within_budget(parameter_budget, ranked, model), SOURCE]


def mean_change(scope: Dense, name: str) -> float:
    """Return the root mean square of the change of a tensor."""
    change = scope.model.weights[name] - scope.base.weights[name]
    return float(change.pow(2).mean().sqrt())


def select_within_budget(budget: int, names: Iterable[str], model: Marian) -> list[str]:
    """Return the names, in order, of the tensors that fit the rest of the budget (number of parameters)."""
    kept = []
    for name in names:
        size = model.weights[name].numel()
        if size <= budget:
            kept.append(name)
            budget -= size
    return kept
