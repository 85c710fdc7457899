"""Convert hub models that only have a `.bin` file to safetensors, without running any code in that file."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from zipfile import BadZipFile, ZipFile

import torch
from torch import Tensor

from mtloop.core.atomic import atomic
from mtloop.core.errors import InputError
from mtloop.text.messages import first_words, one_line

COPIED_FILES = ("config.json", "generation_config.json", "tokenizer_config.json", "vocab.json", "target_vocab.json")


DTYPES = {
    *(torch.float64, torch.float32, torch.float16, torch.bfloat16),
    *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool),
}


def convert(folder: Path, out: Path, *, half: bool = False) -> Path:
    """Write a folder with model.safetensors and the vocabularies; `half` stores 16-bit floats. Return the new file."""
    from safetensors.torch import save

    tensors = {name: _stored(tensor, half) for name, tensor in _read_bin(folder).items()}
    content = save(_without_copies(tensors), {"format": "pt"})
    out.mkdir(parents=True, exist_ok=True)
    for name in (*COPIED_FILES, "source.spm", "target.spm"):
        if (folder / name).is_file():
            _copy(folder / name, out / name)
    with atomic(out / "model.safetensors") as file:
        file.write(content)
    return out / "model.safetensors"


def _copy(source: Path, target: Path) -> None:
    """Copy a file; a target that cannot be written stays as it was."""
    with source.open("rb") as original, atomic(target) as copy:
        shutil.copyfileobj(original, copy)


def _read_bin(folder: Path) -> dict[str, Tensor]:
    """Read the tensors of a .bin file with torch's weights-only loader, which runs no code from the file."""
    path = next(iter(sorted(folder.glob("*.bin"))), None)
    if path is None:
        raise InputError("holds no .bin file to convert", path=folder)
    _check_archive(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the file, which is refused or converted
        try:
            found = torch.load(path, map_location="cpu", weights_only=True)
        except Exception as error:  # the loader raises many types, and all of them mean that the file is damaged
            raise InputError(f"not a file of tensors: {_reason(error)}", path=path) from error
    if not isinstance(found, dict):
        raise InputError("not a file of named tensors", path=path)
    tensors = {name: tensor for name, tensor in found.items() if isinstance(tensor, Tensor)}
    if not tensors:
        raise InputError("not a file of named tensors: it has none", path=path)
    for name, tensor in tensors.items():
        _check(name, tensor, path)
    if sum(tensor.nbytes for tensor in _without_copies(tensors).values()) > path.stat().st_size:
        raise InputError("its tensors have more values than the file holds", path=path)
    return tensors


def _check_archive(path: Path) -> None:
    """Raise InputError if a .bin file, which torch writes as a zip archive without compression, unpacks to more."""
    try:
        with ZipFile(path) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
    except (BadZipFile, ValueError, NotImplementedError, OverflowError):  # a file of an old torch, or a damaged one
        return
    if unpacked > path.stat().st_size:
        raise InputError("not a file of tensors: it unpacks to more than its size", path=path)


def _reason(error: Exception) -> str:
    return one_line(str(error).partition("\n")[0] or "it is empty or damaged")


def _check(name: object, tensor: Tensor, path: Path) -> None:
    """Raise InputError for a tensor that safetensors cannot hold, or that needs more memory than the file has."""
    if not isinstance(name, str) or not _is_text(name):
        raise InputError(f"a tensor has the name {first_words(repr(name))}; expected text", path=path)
    shown = first_words(name)
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.device.type != "cpu":
        raise InputError(
            f"the tensor {shown!r} is sparse, quantised or without values; expected plain numbers", path=path
        )
    if tensor.dtype not in DTYPES:
        raise InputError(f"the tensor {shown!r} has the type {tensor.dtype}; expected whole or real numbers", path=path)
    if tensor.nbytes > tensor.untyped_storage().nbytes():
        raise InputError(f"the tensor {shown!r} has more values than the file holds", path=path)


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _stored(tensor: Tensor, half: bool) -> Tensor:
    return tensor.half() if half and tensor.is_floating_point() else tensor


def _without_copies(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Store tied tensors once, under the name that Marian shares them by."""
    first: dict[object, str] = {}
    for name in sorted(tensors, key=lambda name: (name != "model.shared.weight", name)):
        tensor = tensors[name]
        first.setdefault((tensor.data_ptr(), tensor.shape, tensor.stride()), name)
    return {name: tensors[name].contiguous() for name in first.values()}
