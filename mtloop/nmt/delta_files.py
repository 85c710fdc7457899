"""Going on from a delta: to translate with what was learned before, or to learn more."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mtloop.core.errors import InputError
from mtloop.core.protocols import Learner

if TYPE_CHECKING:
    from mtloop.nmt.delta import Delta

# What learned from rewards is stored with what was heard, by the kind of its scope. `full` takes any whole tensors.
SCOPES = {"Dense": "full", "OutputBias": "bias", "Lora": "lora", "Lasso": "lasso"}


def find_delta(path: Path) -> Path:
    """A file, one snapshot, or the newest in a folder of them (`run.state`)."""
    if not path.is_dir():
        return path
    found = [*sorted(path.glob("[0-9]*/delta.safetensors")), *path.glob("delta.safetensors")]
    if not found:
        raise InputError("holds no snapshot with a delta", path=path)
    return found[-1]


def read_delta(path: Path) -> Delta:
    """What was learned, from a file or a folder of snapshots, as a method for post-edits can take it up.

    Of a learner from rewards that is the weights; what it heard stays with its own snapshots.
    """
    from mtloop.nmt.delta import BESIDE, Delta

    delta = Delta.read(find_delta(path))
    _, rewarded, kind = delta.method.partition(" on ")
    if not rewarded:
        return delta
    weights = {name: tensor for name, tensor in delta.tensors.items() if not name.startswith(BESIDE)}
    counters = {"lessons": delta.counters["heard"], "updates": delta.counters["updates"]}
    return Delta(SCOPES[kind.rpartition(" of ")[2]], delta.base, weights, counters)


def take_up(learner: Learner, method: str, delta: Delta) -> None:
    """Let a learner begin where another stopped."""
    from mtloop.nmt.adaptive import AdaptiveNMT

    if not isinstance(learner, AdaptiveNMT):
        raise InputError(f"method {method} cannot go on from a delta; leave out --delta")
    learner.become(delta)
