"""The model folder, in the format of `MarianMTModel` and `MarianTokenizer`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import load_file, save
from transformers import MarianMTModel

from mtloop.core.atomic import atomic, write_text
from mtloop.core.errors import InputError
from mtloop.core.json_files import json_errors, parse_json
from mtloop.nmt.training.network import POSITIONS
from mtloop.nmt.training.recipe import Recipe
from mtloop.nmt.training.sentencepiece_model import SentencePieceModel

WEIGHTS_FILE = "model.safetensors"
INDEX_FILE = "model.safetensors.index.json"
_MEGABYTE = 10**6
_HEADER = 200  # upper limit, in bytes, of a file header and of the header entry of a tensor


def write_model(
    folder: Path, model: MarianMTModel, weights: Mapping[str, torch.Tensor], shard_mb: float | None
) -> None:
    """Write configuration and 16-bit weights, in files of at most `shard_mb` megabytes (None: one file)."""
    model.config.architectures = ["MarianMTModel"]
    model.config.dtype = torch.float32  # precision to compute in; the stored precision differs
    model.config.save_pretrained(folder)
    model.generation_config.save_pretrained(folder)
    halved = {name: weight.detach().to("cpu", torch.float16) for name, weight in sorted(weights.items())}
    if shard_mb is None:
        _write_tensors(folder / WEIGHTS_FILE, halved)
    else:
        write_shards(folder, halved, int(shard_mb * _MEGABYTE))


def write_shards(folder: Path, tensors: Mapping[str, torch.Tensor], limit: int) -> None:
    """Write weights in several files of at most `limit` bytes, with an index of the file of each tensor."""
    shards = _shards(tensors, limit)
    names = [f"model-{number:05}-of-{len(shards):05}.safetensors" for number in range(1, len(shards) + 1)]
    for name, shard in zip(names, shards, strict=True):
        _write_tensors(folder / name, shard)
    weight_map = {key: name for name, shard in zip(names, shards, strict=True) for key in shard}
    total = sum(tensor.nbytes for tensor in tensors.values())
    write_text(folder / INDEX_FILE, json.dumps({"metadata": {"total_size": total}, "weight_map": weight_map}, indent=1))


def join_shards(folder: Path) -> Path:
    """Join the shards into one file, remove them, and return the path of that file."""
    with json_errors(folder / INDEX_FILE, "an index of shards"):
        weight_map = parse_json((folder / INDEX_FILE).read_bytes())["weight_map"]
        shards = sorted({folder / Path(name).name for name in weight_map.values()})
    if missing := [shard.name for shard in shards if not shard.is_file()]:
        raise InputError(f"shards are missing: {', '.join(missing)}", path=folder)
    _write_tensors(
        folder / WEIGHTS_FILE, {name: tensor for shard in shards for name, tensor in load_file(shard).items()}
    )
    for path in (*shards, folder / INDEX_FILE):
        path.unlink()
    return folder / WEIGHTS_FILE


def write_vocabularies(folder: Path, recipe: Recipe, source: SentencePieceModel, target: SentencePieceModel) -> None:
    """Write the two SentencePiece models and their ids for a `MarianTokenizer`."""
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
    """Split tensors, in order, into shards that fit `limit` bytes with their headers."""
    shards: list[dict[str, torch.Tensor]] = []
    room = 0
    for name, tensor in tensors.items():
        size = tensor.nbytes + _HEADER
        if size > limit - _HEADER:
            raise InputError(f"tensor {name} has {tensor.nbytes / _MEGABYTE:.1f} MB; shards cannot be smaller")
        if not shards or size > room:
            shards.append({})
            room = limit - _HEADER
        shards[-1][name] = tensor
        room -= size
    return shards
