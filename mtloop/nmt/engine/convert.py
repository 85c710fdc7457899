"""Convert hub models that only have a `.bin` file to safetensors, without running any code in that file."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import torch
from torch import Tensor

from mtloop.core.atomic import atomic
from mtloop.core.errors import InputError

COPIED_FILES = ("config.json", "generation_config.json", "tokenizer_config.json", "vocab.json", "target_vocab.json")


def convert(folder: Path, out: Path, *, half: bool = False) -> Path:
    """Write a folder with model.safetensors and the vocabularies; `half` stores 16-bit floats. Return the new file."""
    from safetensors.torch import save

    tensors = {name: _stored(tensor, half) for name, tensor in _read_bin(folder).items() if isinstance(tensor, Tensor)}
    out.mkdir(parents=True, exist_ok=True)
    for name in (*COPIED_FILES, "source.spm", "target.spm"):
        if (folder / name).is_file():
            shutil.copyfile(folder / name, out / name)
    with atomic(out / "model.safetensors") as file:
        file.write(save(_without_copies(tensors), {"format": "pt"}))
    return out / "model.safetensors"


def _read_bin(folder: Path) -> dict[str, Tensor]:
    """Read the tensors of a .bin file with torch's weights-only loader, which runs no code from the file."""
    path = next(iter(sorted(folder.glob("*.bin"))), None)
    if path is None:
        raise InputError("holds no .bin file to convert", path=folder)
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, OSError) as error:
        reason = str(error).partition("\n")[0] or "it is empty"
        raise InputError(f"not a file of tensors: {reason}", path=path) from error
    if not isinstance(found, dict):
        raise InputError("not a file of named tensors", path=path)
    return found


def _stored(tensor: Tensor, half: bool) -> Tensor:
    return tensor.half() if half and tensor.is_floating_point() else tensor


def _without_copies(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Store tied tensors once, under the name that Marian shares them by."""
    first: dict[int, str] = {}
    ordered = sorted(tensors, key=lambda name: (name != "model.shared.weight", name))
    for name in ordered:
        first.setdefault(tensors[name].data_ptr(), name)
    return {name: tensors[name].contiguous() for name in ordered if first[tensors[name].data_ptr()] == name}
