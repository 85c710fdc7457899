"""Find delta files, read them, and load them into a learner."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mtloop.core.errors import InputError
from mtloop.core.protocols import Learner
from mtloop.text.messages import first_words

if TYPE_CHECKING:
    from mtloop.nmt.delta import Delta

# Deltas of reward learners name the class of their scope; here is the post-edit method for each class.
# `full` reads any whole tensors.
SCOPES = {"Dense": "full", "OutputBias": "bias", "Lora": "lora", "Lasso": "lasso"}


def find_delta(path: Path) -> Path:
    """Return the delta file: `path` itself, that of a snapshot folder, or the newest in a `.state` folder."""
    if not path.is_dir():
        return path
    found = [*sorted(path.glob("[0-9]*/delta.safetensors")), *path.glob("delta.safetensors")]
    if not found:
        raise InputError("holds no snapshot with a delta", path=path)
    return found[-1]


def read_delta(path: Path) -> Delta:
    """Read a delta from a file or a folder of snapshots, for a method that learns from post-edits.

    Of a delta of a reward learner only the weights are returned, without its record of rewards.
    """
    from mtloop.nmt.delta import AUXILIARY_PREFIXES, Delta

    delta = Delta.read(find_delta(path))
    _, from_rewards, scope = delta.method.partition(" on ")
    if not from_rewards:
        return delta
    weights = {name: tensor for name, tensor in delta.tensors.items() if not name.startswith(AUXILIARY_PREFIXES)}
    counters = {"lessons": delta.counters.get("rewards", 0), "updates": delta.counters["updates"]}
    method = SCOPES.get(scope.rpartition(" of ")[2])
    if method is None:
        raise InputError(f"learned with method {first_words(delta.method)!r}, which is unknown here", path=path)
    return Delta(method, delta.base, weights, counters)


def apply_delta(learner: Learner, method: str, delta: Delta) -> None:
    """Load a delta into a learner. Raise InputError if the learner does not support deltas."""
    from mtloop.nmt.adaptive import AdaptiveNMT

    if not isinstance(learner, AdaptiveNMT):
        raise InputError(f"method {method} cannot start from a delta; leave out --delta")
    learner.load_delta(delta)
