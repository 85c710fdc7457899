"""Oracles and domain adaptation, by name: the systems of the 2017 paper that do not learn from rewards."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

from mtloop.core.errors import InputError
from mtloop.core.protocols import Learner
from mtloop.core.ranges import check_at_least
from mtloop.core.types import JSON, Feedback
from mtloop.methods.common_settings import (
    DefaultLearningRate,
    MaxPieceTokens,
    MaxUpdates,
    ScopeName,
    Seed,
    TensorsFile,
)
from mtloop.methods.engines import NMT, SMT_BANDIT, Engine
from mtloop.methods.method import PAPER_2017, Method
from mtloop.methods.neural import NEURAL_METHODS, check_scope
from mtloop.methods.setting import NAMES_FILE
from mtloop.methods.statistical import smt_adapting
from mtloop.nmt.piece_length import MAX_PIECE_TOKENS

if TYPE_CHECKING:
    from mtloop.nmt.adaptive import AdaptiveNMT
    from mtloop.nmt.engine.marian import Marian
    from mtloop.smt.learners import BackgroundModel


def nmt_oracle(
    model: Marian,
    *,
    scope: ScopeName = "full",
    learning_rate: DefaultLearningRate = 0.0,
    tensors_file: TensorsFile = "",
    epochs: Annotated[int, "Number of passes over the references."] = 2,
    max_updates: MaxUpdates = 3,
    max_piece_tokens: MaxPieceTokens = MAX_PIECE_TOKENS,
) -> Learner:
    """The neural model, trained on all references of the task as corrections, `epochs` times."""
    from mtloop.bandits.oracle import Oracle

    check_at_least(1, epochs=epochs, max_updates=max_updates)
    learner = _post_edit_learner(model, scope, learning_rate, tensors_file, max_updates, max_piece_tokens)
    return Oracle(learner, method="nmt-oracle", epochs=epochs)


def smt_oracle(model: BackgroundModel) -> Learner:
    """The statistical model, updated with all references of the task."""
    from mtloop.bandits.oracle import Oracle

    return Oracle(smt_adapting(model), method="smt-oracle")


def domain_adaptation(
    model: Marian,
    *,
    general_data: Annotated[str, "File with general parallel text (required).", NAMES_FILE] = "",
    scope: ScopeName = "full",
    learning_rate: DefaultLearningRate = 0.0,
    tensors_file: TensorsFile = "",
    selection_interval: Annotated[int, "Number of sources between selections."] = 500,
    selected_pairs: Annotated[int, "Number of general pairs learned after each selection."] = 500,
    pool_size: Annotated[int, "Number of general pairs to select from."] = 50_000,
    seed: Seed = 1,
    max_piece_tokens: MaxPieceTokens = MAX_PIECE_TOKENS,
) -> Learner:
    """After every `selection_interval` sources, learn the `selected_pairs` general pairs most similar to them.

    They are selected from the first `pool_size` pairs of the file `general_data`.
    """
    from mtloop.bandits.neural.domain_adaptation import DomainAdaptation
    from mtloop.data.training_pairs import text_pairs

    check_at_least(1, selection_interval=selection_interval, selected_pairs=selected_pairs, pool_size=pool_size)
    if not general_data:
        raise InputError("domain-adaptation needs general parallel text: --set general_data=FILE")
    pairs = list(islice(text_pairs(Path(general_data)), pool_size))
    learner = _post_edit_learner(model, scope, learning_rate, tensors_file, 1, max_piece_tokens)
    return DomainAdaptation(
        learner, pairs, selection_interval=selection_interval, selected_pairs=selected_pairs, seed=seed
    )


def _oracle(name: str, maker: Callable[..., Learner], engine: Engine) -> Method:
    return Method.of(name, maker, engine, learns_from=(), paper=PAPER_2017, needs_references=True)


ORACLES: dict[str, Method] = {
    "nmt-oracle": _oracle("nmt-oracle", nmt_oracle, NMT),
    "smt-oracle": _oracle("smt-oracle", smt_oracle, SMT_BANDIT),
}
_ANY_FEEDBACK = get_args(Feedback)
INFORMED_METHODS: dict[str, Method] = {
    **ORACLES,
    "domain-adaptation": Method.of(
        "domain-adaptation", domain_adaptation, NMT, learns_from=_ANY_FEEDBACK, paper=PAPER_2017
    ),
}


def _post_edit_learner(
    model: Marian, scope: str, learning_rate: float, tensors_file: str, max_updates: int, max_piece_tokens: int
) -> AdaptiveNMT:
    """Return the post-edit method named like the scope; its delta is one of that method."""
    from mtloop.nmt.adaptive import AdaptiveNMT

    check_scope(scope, tensors_file)
    check_at_least(0, learning_rate=learning_rate)
    settings: dict[str, JSON] = {"max_updates": max_updates, "max_piece_tokens": max_piece_tokens}
    settings |= {"learning_rate": learning_rate} if learning_rate else {}
    settings |= {"tensors_file": tensors_file} if tensors_file else {}
    learner = NEURAL_METHODS[scope].make(model, settings)
    assert isinstance(learner, AdaptiveNMT)
    return learner
