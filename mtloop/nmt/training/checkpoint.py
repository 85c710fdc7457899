"""Checkpoints of a training run: tensors and a few numbers in one safetensors file, replaced atomically."""

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
from mtloop.core.json_files import json_errors, parse_json
from mtloop.nmt.training.recipe import check_unchanged


@dataclass
class TrainingState:
    """The progress of a training run."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # number of batches done in this epoch
    tokens: int = 0
    seconds: float = 0.0  # training time so far
    scores: list[tuple[int, float]] = field(default_factory=list)  # (step, validation BLEU)


def write(path: Path, state: TrainingState, tensors: Mapping[str, torch.Tensor], identity: Mapping[str, Any]) -> None:
    """Write a checkpoint atomically: if the process is killed, the previous checkpoint stays."""
    metadata = {"place": json.dumps(asdict(state)), "identity": json.dumps(dict(identity))}
    with atomic(path) as file:
        file.write(save({name: tensor.contiguous() for name, tensor in tensors.items()}, metadata))


def read(path: Path, identity: Mapping[str, Any]) -> tuple[TrainingState, dict[str, torch.Tensor]]:
    """Read a checkpoint. Raise InputError, which names the difference, if data or recipe have changed."""
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    except (SafetensorError, OSError) as error:
        raise InputError(f"not a checkpoint ({error}); remove it to start from scratch", path=path) from error
    with json_errors(path, "a checkpoint"):
        check_unchanged(parse_json(metadata["identity"]), identity, path)
        return TrainingState(**parse_json(metadata["place"])), tensors
