"""What a user's model learned, as a file: only what changed, and which base it belongs to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from torch import Tensor

from mtloop.core.atomic import atomic
from mtloop.core.errors import InputError

BESIDE = ("memory/", "average/", "adam/", "bandit/")  # beside what learned: examples, means, moments, what was heard


@dataclass(frozen=True)
class Delta:
    """Changed tensors as new values (lasso: offsets), with the method and the base's fingerprint."""

    method: str
    base: str
    tensors: Mapping[str, Tensor]
    counters: Mapping[str, int] = field(default_factory=dict)

    @property
    def parameters(self) -> int:
        """Numbers that are weights; ids say where they go, and what only learning goes by has none."""
        learned = (tensor for name, tensor in self.tensors.items() if not name.startswith(BESIDE))
        return sum(tensor.numel() for tensor in learned if tensor.is_floating_point())

    @property
    def remembered(self) -> int:
        """Confirmed segments in its memory."""
        return len(self.tensors.get("memory/lessons", ()))

    @property
    def size(self) -> int:
        """In bytes, as stored."""
        return sum(tensor.numel() * tensor.element_size() for tensor in self.tensors.values())

    def check(self, method: str, base: str) -> None:
        """Loading on another base would add noise to the wrong weights: refuse."""
        if self.base != base:
            raise InputError(f"this delta was learned on another base model ({self.base}, not {base})")
        if self.method != method:
            raise InputError(f"this delta was learned with method {self.method!r}, not {method!r}")

    def write(self, path: str | Path) -> None:
        from safetensors.torch import save

        about = {"method": self.method, "base": self.base, "counters": json.dumps(dict(self.counters))}
        with atomic(path) as file:
            file.write(save({name: tensor.contiguous() for name, tensor in self.tensors.items()}, about))

    @classmethod
    def read(cls, path: str | Path) -> Delta:
        from safetensors import SafetensorError, safe_open

        if not Path(path).is_file():
            raise InputError("no such delta", path=path)
        try:
            with safe_open(path, "pt") as file:
                about = file.metadata() or {}
                tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
            return cls(about["method"], about["base"], tensors, json.loads(about["counters"]))
        except (SafetensorError, OSError, KeyError, ValueError) as error:
            raise InputError(f"not a delta of mtloop's: {error}", path=path) from error
