"""A delta: the learned state of a model as a file, with only the changes and the fingerprint of the base model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from torch import Tensor

from mtloop.core.atomic import atomic
from mtloop.core.errors import InputError

FORMAT = "2"
# Prefixes of tensors that are not weights: stored segments, weight averages, Adam moments, state of reward learners.
AUXILIARY_PREFIXES = ("memory/", "average/", "adam/", "bandit/")


@dataclass(frozen=True)
class Delta:
    """Changed tensors as new values (lasso: offsets), with the method and the fingerprint of the base."""

    method: str
    base: str
    tensors: Mapping[str, Tensor]
    counters: Mapping[str, int] = field(default_factory=dict)

    @property
    def parameters(self) -> int:
        """The number of weights, without ids and without auxiliary tensors."""
        learned = (tensor for name, tensor in self.tensors.items() if not name.startswith(AUXILIARY_PREFIXES))
        return sum(tensor.numel() for tensor in learned if tensor.is_floating_point())

    @property
    def stored_segments(self) -> int:
        """The number of confirmed segments in the memory."""
        return len(self.tensors.get("memory/lessons", ()))

    @property
    def size(self) -> int:
        """The size of the tensors in bytes."""
        return sum(tensor.numel() * tensor.element_size() for tensor in self.tensors.values())

    def check(self, method: str, base: str) -> None:
        """Raise InputError if the delta belongs to another base model or another method."""
        if self.base != base:
            raise InputError(f"this delta was learned on another base model ({self.base}, not {base})")
        if self.method != method:
            raise InputError(f"this delta was learned with method {self.method!r}, not {method!r}")

    def write(self, path: str | Path) -> None:
        from safetensors.torch import save

        metadata = {"format": FORMAT, "method": self.method, "base": self.base}
        metadata["counters"] = json.dumps(dict(self.counters))
        with atomic(path) as file:
            file.write(save({name: tensor.contiguous() for name, tensor in self.tensors.items()}, metadata))

    @classmethod
    def read(cls, path: str | Path) -> Delta:
        """Read a file; raise InputError if it is not a delta, or a delta of another format."""
        from safetensors import SafetensorError, safe_open

        if not Path(path).is_file():
            raise InputError("no such delta", path=path)
        try:
            with safe_open(path, "pt") as file:
                metadata = file.metadata() or {}
                method, base, counters = metadata["method"], metadata["base"], json.loads(metadata["counters"])
                _check_format(metadata.get("format", "1"), path)
                tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
            return cls(method, base, tensors, counters)
        except (SafetensorError, OSError, KeyError, ValueError) as error:
            raise InputError("not a delta; expected a .safetensors file or a RUN.state folder", path=path) from error


def _check_format(number: str, path: str | Path) -> None:
    """Raise InputError for another format than FORMAT; files without a number have format 1."""
    if number == "1":
        raise InputError("this delta was written by an older mtloop (format 1); learn again from its data", path=path)
    if number != FORMAT:
        raise InputError(f"this delta has format {number}; this mtloop reads format {FORMAT}", path=path)
