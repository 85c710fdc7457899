"""A delta: the learned state of a model as a file, with only the changes and the fingerprint of the base model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from torch import Tensor

from mtloop.core.atomic import atomic
from mtloop.core.errors import InputError, MtloopError
from mtloop.core.json_files import parse_json
from mtloop.nmt.engine.weights import OUTPUT, Weights
from mtloop.text.messages import first_words, one_line

FORMAT = "2"
MAX_COUNT = 1 << 53  # larger numbers are not exact as floats
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
                method, base, counters = metadata["method"], metadata["base"], _counters(metadata["counters"])
                _check_format(metadata.get("format", "1"), path)
                tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
            return cls(method, base, tensors, counters)
        except (SafetensorError, OSError, KeyError, ValueError, TypeError) as error:
            raise InputError("not a delta; expected a .safetensors file or a RUN.state folder", path=path) from error


def _counters(text: str) -> dict[str, int]:
    """Return the counters. Raise ValueError if they are not whole numbers by name, or if one is missing."""
    counters = parse_json(text)
    if not isinstance(counters, dict) or not all(map(_is_count, counters.values())):
        raise ValueError("counters are whole numbers by name")
    if "updates" not in counters or not {"lessons", "rewards"} & counters.keys():
        raise ValueError("a counter is missing")
    return counters


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= MAX_COUNT


@contextmanager
def fitting(delta: Delta, base: Weights) -> Iterator[None]:
    """Raise InputError if the tensors of a delta do not fit its base model, before a block restores them or in it."""
    try:
        _check_tensors(delta.tensors, base)
        yield
    except MtloopError:
        raise
    except (LookupError, RuntimeError, ValueError, TypeError) as error:
        raise InputError(f"the tensors of this delta do not fit the model: {one_line(error)}") from error


def _check_tensors(tensors: Mapping[str, Tensor], base: Weights) -> None:
    """Check what no function would notice before the next translation."""
    for name, tensor in tensors.items():
        if not name.startswith(AUXILIARY_PREFIXES) and tensor.is_floating_point() == name.endswith("/ids"):
            raise ValueError(f"numbers of the type {tensor.dtype} in {first_words(name)}")
    words, width = base[OUTPUT].shape
    if "bias" in tensors and tensors["bias"].shape != (words,):
        raise ValueError(f"a bias for {tensors['bias'].numel()} subwords, not {words}")
    keys, tokens = tensors.get("memory/keys"), tensors.get("memory/tokens")
    if keys is not None and keys.shape[1:] not in ((width,), (0,)):  # a memory that never votes stores no states
        raise ValueError(f"states of another width than {width}")
    if tokens is not None and len(tokens) and not 0 <= int(tokens.min()) <= int(tokens.max()) < words:
        raise ValueError("a subword that the vocabulary does not have")


def _check_format(number: str, path: str | Path) -> None:
    """Raise InputError for another format than FORMAT; files without a number have format 1."""
    if number == "1":
        raise InputError("this delta was written by an older mtloop (format 1); learn again from its data", path=path)
    if number != FORMAT:
        raise InputError(f"this delta has format {number}; this mtloop reads format {FORMAT}", path=path)
