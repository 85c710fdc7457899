from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("transformers")

import torch
from safetensors.torch import load_file

from mtloop.core.errors import InputError
from mtloop.nmt.training.model_folder import INDEX_FILE, WEIGHTS_FILE, join_shards, write_shards


def test_shards_fit_the_limit_and_can_be_joined(tmp_path: Path) -> None:
    tensors = {f"layer.{index}": torch.randn(20, 25) for index in range(10)}
    write_shards(tmp_path, tensors, limit=6000)
    shards = sorted(tmp_path.glob("model-*.safetensors"))
    assert len(shards) == 5
    assert all(shard.stat().st_size <= 6000 for shard in shards)
    assert json.loads((tmp_path / INDEX_FILE).read_text())["weight_map"]["layer.0"] == shards[0].name
    joined = load_file(join_shards(tmp_path))
    assert joined.keys() == tensors.keys()
    assert all(torch.equal(joined[name], tensor) for name, tensor in tensors.items())
    assert [path.name for path in tmp_path.iterdir()] == [WEIGHTS_FILE]


def test_a_missing_shard_and_a_large_tensor_are_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"index\.json: cannot be read"):
        join_shards(tmp_path)
    write_shards(tmp_path, {"a": torch.zeros(500), "b": torch.zeros(500)}, limit=3000)
    (tmp_path / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(InputError, match="shards are missing: model-00002-of-00002"):
        join_shards(tmp_path)
    with pytest.raises(InputError, match=r"tensor a has 0\.0 MB"):
        write_shards(tmp_path, {"a": torch.zeros(5000)}, limit=3000)
