"""Convert .bin files that are damaged or made to do harm: one line, and nothing is written."""

from __future__ import annotations

import io
import json
import shutil
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from mtloop.core.errors import InputError, MtloopError
from mtloop.experiments.model import convert_model
from mtloop.nmt.engine.marian import Marian

COUNT, SEED = 60, 19


@pytest.fixture
def tensors(small_folder: Path) -> dict[str, Tensor]:
    return load_file(small_folder / "model.safetensors")


@pytest.fixture
def source(small_folder: Path, tmp_path: Path) -> Path:
    """A model folder without weights."""
    folder = tmp_path / "source"
    shutil.copytree(small_folder, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    return folder


def saved(content: object, *, is_archive: bool = True) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.save(content, file, _use_new_zipfile_serialization=is_archive)
    return file.getvalue()


def convert(source: Path, content: bytes) -> Path:
    """Write a .bin file and convert it; return the folder of the result."""
    (source / "pytorch_model.bin").write_bytes(content)
    convert_model(source, source.parent / "out")
    return source.parent / "out"


def mutated(content: bytes, random: Random) -> bytes:
    """Return a file with a few changed bytes, most of them at its beginning, where the names of the tensors are."""
    changed = bytearray(content)
    for _ in range(random.randint(1, 4)):
        place = random.randrange(min(random.choice((2_000, 20_000, len(changed))), len(changed)))
        if random.random() < 0.7:
            changed[place] ^= 1 << random.randrange(8)
        else:
            changed[place : place + random.choice((0, 5))] = random.randbytes(random.choice((0, 5)))
    return bytes(changed)


@pytest.mark.parametrize("is_archive", [True, False])
def test_a_model_is_converted(source: Path, tensors: dict[str, Tensor], is_archive: bool) -> None:
    out = convert(source, saved(tensors, is_archive=is_archive))
    assert Marian.load(out).fingerprint
    assert sorted(path.name for path in out.parent.iterdir()) == ["out", "source"]


@pytest.mark.parametrize("is_archive", [True, False])
def test_damaged_files_are_converted_or_refused(source: Path, tensors: dict[str, Tensor], is_archive: bool) -> None:
    content, random = saved(tensors, is_archive=is_archive), Random(SEED)
    messages = []
    for _ in range(COUNT):
        shutil.rmtree(source.parent / "out", ignore_errors=True)
        try:
            convert(source, mutated(content, random))
        except MtloopError as error:
            messages.append(str(error))
            assert [path.name for path in source.parent.iterdir()] == ["source"], "a refused file leaves nothing"
    assert len(messages) > COUNT / 4
    assert all(len(message.splitlines()) == 1 and len(message) < 600 for message in messages)


def _with(name: Any, tensor: Callable[[Tensor], object]) -> Callable[[dict[str, Tensor]], object]:
    """Return a function that adds a tensor, made of an embedding, under a name."""
    return lambda tensors: tensors | {name: tensor(tensors["model.encoder.embed_tokens.weight"])}


HOSTILE: dict[str, tuple[Callable[[dict[str, Tensor]], object], str]] = {
    "a name that is a number": (_with(7, torch.clone), "has the name 7; expected text"),
    "a name that is a pair": (_with(("a", 1), torch.clone), r"has the name \('a', 1\); expected text"),
    "half a character": (_with("\ud800", torch.clone), "expected text"),
    "sparse": (_with("x", lambda tensor: tensor.to_sparse()), "is sparse, quantised or without values"),
    "without strides": (
        _with("x", lambda tensor: tensor[:1, :1].expand(1 << 20, 1 << 20)),
        "more values than the file",
    ),
    "one stride 0": (_with("x", lambda tensor: tensor[:1].expand(len(tensor) * 999, -1)), "more values than the file"),
    "complex numbers": (_with("x", lambda tensor: tensor.to(torch.complex64)), "has the type torch.complex64"),
    "without values": (
        _with("x", lambda tensor: tensor.to("meta")),
        "is sparse, quantised or without values|not a file",
    ),
    "a list": (lambda tensors: [*tensors.values()], "not a file of named tensors"),
    "no tensors": (lambda tensors: {"epoch": 3}, "it has none"),
    "many views": (
        lambda tensors: tensors | {f"x{n}": tensors["model.encoder.embed_tokens.weight"][: -n - 1] for n in range(20)},
        "its tensors have more values than the file holds",
    ),
    "another width": (
        lambda tensors: {name: tensor[..., :-2] for name, tensor in tensors.items()},
        "do not fit the configuration",
    ),
    "a tensor is missing": (
        lambda tensors: {name: tensor for name, tensor in tensors.items() if "decoder.layers.1.fc2" not in name},
        "there is no tensor model.decoder.layers.1.fc2.weight",
    ),
    "a part of an attention is missing": (
        lambda tensors: {name: tensor for name, tensor in tensors.items() if ".0.self_attn.k_proj" not in name},
        "holds no complete Marian model",
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_tensors_are_refused(source: Path, tensors: dict[str, Tensor], kind: str) -> None:
    change, message = HOSTILE[kind]
    with pytest.raises(InputError, match=message) as refused:
        convert(source, saved(change(tensors)))
    assert len(str(refused.value).splitlines()) == 1
    assert [path.name for path in source.parent.iterdir()] == ["source"]


def test_a_packed_archive_is_refused(source: Path, tensors: dict[str, Tensor]) -> None:
    packed = io.BytesIO()
    zeros = saved({name: torch.zeros(1 << 18) for name in ("a", "b")})
    with zipfile.ZipFile(io.BytesIO(zeros)) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    with pytest.raises(InputError, match="it unpacks to more than its size"):
        convert(source, packed.getvalue())


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("config.json", b"[" * 100_000, "not the configuration of a Marian model: more than 100 objects"),
        ("config.json", b"[]", "not the configuration of a Marian model"),
        ("config.json", b'{"d_model": "32"}', "not the configuration of a Marian model"),
        ("vocab.json", b"[" * 100_000, "a Marian model needs this vocabulary: more than 100 objects"),
        ("vocab.json", b'{"<unk>": 1, "</s>": 0, "<pad>": "2"}', "expected a JSON object of subwords and ids"),
        ("vocab.json", b'{"<unk>": 1, "</s>": 0, "<pad>": 9000000000000}', "the vocabulary has the id 9000000000000"),
        ("source.spm", b"\0" * 50, "not a SentencePiece model"),
    ],
)
def test_damaged_files_beside_the_weights_are_refused(
    source: Path, tensors: dict[str, Tensor], name: str, content: bytes, message: str
) -> None:
    (source / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        convert(source, saved(tensors))


@pytest.mark.parametrize(
    ("field", "value"),
    [("max_position_embeddings", 10**12), ("encoder_layers", 10**12), ("encoder_attention_heads", 0), ("d_model", 2.5)],
)
def test_sizes_that_no_model_has_are_refused(
    source: Path, tensors: dict[str, Tensor], field: str, value: float
) -> None:
    config = json.loads((source / "config.json").read_text())
    (source / "config.json").write_text(json.dumps(config | {field: value}))
    with pytest.raises(InputError, match=r"at most 65536|whole numbers above 0|there is no tensor"):
        convert(source, saved(tensors))
