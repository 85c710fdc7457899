"""Which values of settings a project may have: finite numbers that do not keep an engine busy for ever."""

from __future__ import annotations

import math
from collections.abc import Mapping

from mtloop.core.errors import InputError
from mtloop.core.types import JSON

MAX_FLOAT = 1e6
MOST = {
    "beam_size": 16,
    "critic_width": 1024,
    "embedding_budget": 5_000_000,
    "epochs": 10,
    "hidden_budget": 5_000_000,
    "max_epochs": 10,
    "max_phrase_length": 20,
    "max_piece_tokens": 200,
    "max_states_per_word": 256,
    "max_updates": 20,
    "nbest_size": 200,
    "neighbours": 64,
    "network_updates": 20,
    "parameter_budget": 10_000_000,
    "pool_size": 50_000,
    "rank": 256,
    "repetitions": 10,
    "replay_pairs": 20,
    "retrain_words": 1_000_000,
    "seed": 2**31 - 1,
    "selected_pairs": 1000,
    "selection_interval": 1_000_000,
    "similar_pairs": 64,
    "similar_segments": 256,
    "stream_length": 1_000_000_000,
    "top_k": 1_000_000,
}  # the largest value of each setting that is a whole number
MOST_OF_OTHERS = 10_000  # of a whole number that is not in the table, such as a setting of a plugin


def check_limits(settings: Mapping[str, JSON]) -> None:
    """Raise InputError for a number that is too large for a project, or not finite.

    >>> check_limits({"beam_size": 10**9})
    Traceback (most recent call last):
    ...
    mtloop.core.errors.InputError: setting beam_size: a project may have 16 at most
    """
    for name, value in settings.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if not math.isfinite(value):
            raise InputError(f"setting {name}: expected a finite number")
        most = MOST.get(name, MOST_OF_OTHERS) if isinstance(value, int) else MAX_FLOAT
        if abs(value) > most:
            raise InputError(f"setting {name}: a project may have {most:.12g} at most")
