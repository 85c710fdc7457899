"""A training on disk: tensors and a few numbers in one safetensors file, replaced in one move."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from mtloop.core.atomic import atomic
from mtloop.core.errors import InputError
from mtloop.nmt.training.recipe import refuse_change


@dataclass
class TrainingState:
    """How far a training has come."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # of the epoch
    tokens: int = 0
    seconds: float = 0.0
    scores: list[tuple[int, float]] = field(default_factory=list)  # step, validation score


def write(path: Path, place: TrainingState, tensors: Mapping[str, torch.Tensor], identity: Mapping[str, Any]) -> None:
    """Put a training on disk; killed half-way, the checkpoint before it stays."""
    metadata = {"place": json.dumps(asdict(place)), "identity": json.dumps(dict(identity))}
    with atomic(path) as file:
        file.write(save({name: tensor.contiguous() for name, tensor in tensors.items()}, metadata))


def read(path: Path, identity: Mapping[str, Any]) -> tuple[TrainingState, dict[str, torch.Tensor]]:
    """Take a training up again; one with other data or another recipe is an error that names the difference."""
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    except (SafetensorError, OSError) as error:
        raise InputError(f"not a checkpoint ({error}); remove it to start afresh", path=path) from error
    refuse_change(json.loads(metadata["identity"]), identity, path)
    return TrainingState(**json.loads(metadata["place"])), tensors
