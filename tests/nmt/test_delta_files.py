"""Deltas that are damaged or made to do harm are refused in one line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from mtloop.core.errors import InputError, MtloopError
from mtloop.core.types import PostEdit, Proposal, Segment
from mtloop.methods.learner_config import LearnerConfig
from mtloop.nmt.adaptive import AdaptiveNMT
from mtloop.nmt.delta import Delta
from mtloop.nmt.delta_files import read_delta
from mtloop.nmt.engine.marian import Marian

METHODS = ("bias", "full", "lora", "lasso", "bias+memory+copy")
COUNTERS: dict[str, Any] = {
    "a list": [1, 2],
    "a text": "many",
    "texts": {"lessons": "1", "updates": "2"},
    "a fraction": {"lessons": 1.5, "updates": 2},
    "truth": {"lessons": True, "updates": 2},
    "below zero": {"lessons": -1, "updates": 2},
    "too large": {"lessons": 10**400, "updates": 2},
    "a list inside": {"lessons": 1, "updates": 2, "kept/a": [1]},
    "no lessons": {"updates": 2},
    "no updates": {"lessons": 2},
    "nothing": {},
}
COUNT, SEED = 25, 19


def make(model: Marian, method: str, delta: Path | None = None) -> AdaptiveNMT:
    config = LearnerConfig.create(method, str(model.folder), delta=str(delta or ""))
    made = config.make(model)
    assert isinstance(made, AdaptiveNMT)
    return made


def taught(model: Marian, method: str) -> Delta:
    """Return the delta of a learner after two lessons."""
    learner = make(model, method)
    for number, (source, target) in enumerate([("Save the file.", "Sichern."), ("Open it.", "Öffnen.")]):
        learner.learn(Proposal(Segment(str(number), source), ""), PostEdit(target))
    return learner.delta()


def write(path: Path, delta: Delta, tensors: Mapping[str, Tensor] | None = None, **metadata: str) -> Path:
    """Write a delta with other tensors or other metadata."""
    counters = {"counters": json.dumps(dict(delta.counters))}
    facts = {"format": "2", "method": delta.method, "base": delta.base} | counters | metadata
    found = delta.tensors if tensors is None else tensors
    save_file({name: tensor.contiguous().clone() for name, tensor in found.items()}, path, facts)
    return path


def use(model: Marian, method: str, path: Path) -> None:
    """Load a delta, translate and learn with it."""
    learner = make(model, method, path)
    proposal = learner.propose(Segment("1", "Save the file."))
    learner.learn(proposal, PostEdit("Sichern."))
    learner.delta()


@pytest.mark.parametrize("kind", COUNTERS)
def test_malformed_counters_are_refused(small: Marian, tmp_path: Path, kind: str) -> None:
    path = write(tmp_path / "d.safetensors", taught(small, "bias"), counters=json.dumps(COUNTERS[kind]))
    with pytest.raises(InputError, match=f"^{path}: not a delta"):
        read_delta(path)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"lessons": NaN, "updates": 1}', "", "\ud7ff"])
def test_counters_that_are_not_json_are_refused(small: Marian, tmp_path: Path, text: str) -> None:
    path = write(tmp_path / "d.safetensors", taught(small, "bias"), counters=text)
    with pytest.raises(InputError, match="not a delta"):
        read_delta(path)


def test_an_unknown_method_of_rewards_is_refused(small: Marian, tmp_path: Path) -> None:
    path = write(tmp_path / "d.safetensors", taught(small, "bias"), method="nmt-el on Nothing of Nobody")
    with pytest.raises(InputError, match="learned with method 'nmt-el on Nothing of Nobody', which is unknown here"):
        read_delta(path)


def changed(tensor: Tensor, random: Random) -> Tensor:
    """Return a tensor of other sizes, another type or other values."""
    kind = random.randrange(6)
    if kind == 0:
        return tensor.reshape(-1)[: random.randrange(tensor.numel() + 1)]
    if kind == 1:
        return tensor.unsqueeze(0)
    if kind == 2:
        return torch.zeros(3, 5)
    if kind == 3:
        return tensor + 1_000_000 if not tensor.is_floating_point() else tensor.long()
    return -1 - tensor if kind == 4 else tensor.half()


@pytest.mark.parametrize("method", METHODS)
def test_deltas_with_other_tensors_are_used_or_refused(small: Marian, tmp_path: Path, method: str) -> None:
    delta, random, refused = taught(small, method), Random(SEED), 0
    for _ in range(COUNT):
        tensors, name = dict(delta.tensors), random.choice(sorted(delta.tensors))
        tensors[name] = changed(tensors[name], random)
        if random.random() < 0.2:
            tensors["x" + name] = tensors.pop(name)
        message = ""
        try:
            use(small, method, write(tmp_path / "d.safetensors", delta, tensors))
        except MtloopError as error:
            message, refused = str(error), refused + 1
        assert len(message.splitlines()) <= 1
    assert refused


@pytest.mark.parametrize("method", METHODS)
def test_damaged_deltas_are_used_or_refused(small: Marian, tmp_path: Path, method: str) -> None:
    random, path = Random(SEED), tmp_path / "d.safetensors"
    content = write(path, taught(small, method)).read_bytes()
    for _ in range(COUNT):
        damaged = bytearray(content)
        for _ in range(random.randint(1, 3)):
            damaged[random.randrange(min(1500, len(damaged)))] ^= 1 << random.randrange(8)
        path.write_bytes(damaged)
        message = ""
        try:
            use(small, method, path)
        except MtloopError as error:
            message = str(error)
        assert len(message.splitlines()) <= 1
