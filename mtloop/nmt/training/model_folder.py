"""The model as a folder that `MarianMTModel` and `MarianTokenizer` load."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import load_file, save
from transformers import MarianMTModel

from mtloop.core.atomic import atomic, write_text
from mtloop.core.errors import InputError
from mtloop.nmt.training.network import POSITIONS
from mtloop.nmt.training.recipe import Recipe
from mtloop.nmt.training.sentencepiece_model import SentencePieceModel

WHOLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
_MEGABYTE = 10**6
_HEADER = 200  # bytes of a file's header for itself and for each tensor, at most


def write_model(
    folder: Path, model: MarianMTModel, weights: Mapping[str, torch.Tensor], shard_mb: float | None
) -> None:
    """Configuration and weights, halved to 16 bits; in files of at most `shard_mb` megabytes when that is given."""
    model.config.architectures = ["MarianMTModel"]
    model.config.dtype = torch.float32  # what to compute in, whatever is stored
    model.config.save_pretrained(folder)
    model.generation_config.save_pretrained(folder)
    halved = {name: weight.detach().to("cpu", torch.float16) for name, weight in sorted(weights.items())}
    if shard_mb is None:
        _write_tensors(folder / WHOLE, halved)
    else:
        write_shards(folder, halved, int(shard_mb * _MEGABYTE))


def write_shards(folder: Path, tensors: Mapping[str, torch.Tensor], limit: int) -> None:
    """Weights in several files and an index of what lies where."""
    shards = _shards(tensors, limit)
    names = [f"model-{number:05}-of-{len(shards):05}.safetensors" for number in range(1, len(shards) + 1)]
    for name, shard in zip(names, shards, strict=True):
        _write_tensors(folder / name, shard)
    places = {key: name for name, shard in zip(names, shards, strict=True) for key in shard}
    total = sum(tensor.nbytes for tensor in tensors.values())
    write_text(folder / INDEX, json.dumps({"metadata": {"total_size": total}, "weight_map": places}, indent=1))


def join_shards(folder: Path) -> Path:
    """Make one file of the shards, and remove them."""
    try:
        places = json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"]
    except (OSError, ValueError, KeyError) as error:
        raise InputError("no index of shards in this folder", path=folder / INDEX) from error
    shards = sorted({folder / name for name in places.values()})
    if missing := [shard.name for shard in shards if not shard.is_file()]:
        raise InputError(f"shards are missing: {', '.join(missing)}", path=folder)
    _write_tensors(folder / WHOLE, {name: tensor for shard in shards for name, tensor in load_file(shard).items()})
    for path in (*shards, folder / INDEX):
        path.unlink()
    return folder / WHOLE


def write_vocabularies(folder: Path, recipe: Recipe, source: SentencePieceModel, target: SentencePieceModel) -> None:
    """The two SentencePiece models and their ids, as a `MarianTokenizer` wants them."""
    for vocabulary, model, ids in ((source, "source.spm", "vocab.json"), (target, "target.spm", "target_vocab.json")):
        vocabulary.save(folder / model)
        write_text(folder / ids, json.dumps(vocabulary.ids(), ensure_ascii=False, indent=0))
    settings = {
        "tokenizer_class": "MarianTokenizer",
        "separate_vocabs": True,
        "source_lang": recipe.source_lang,
        "target_lang": recipe.target_lang,
        "model_max_length": POSITIONS,
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "pad_token": "<pad>",
    }
    write_text(folder / "tokenizer_config.json", json.dumps(settings, indent=1))


def _write_tensors(path: Path, tensors: Mapping[str, torch.Tensor]) -> None:
    with atomic(path) as file:
        file.write(save(dict(tensors), {"format": "pt"}))


def _shards(tensors: Mapping[str, torch.Tensor], limit: int) -> list[dict[str, torch.Tensor]]:
    """Tensors in order, a new shard whenever the next would be too much; room is kept for the file's own header."""
    shards: list[dict[str, torch.Tensor]] = []
    room = 0
    for name, tensor in tensors.items():
        size = tensor.nbytes + _HEADER
        if size > limit - _HEADER:
            raise InputError(f"{name} alone has {tensor.nbytes / _MEGABYTE:.1f} MB; shards cannot be smaller")
        if not shards or size > room:
            shards.append({})
            room = limit - _HEADER
        shards[-1][name] = tensor
        room -= size
    return shards
