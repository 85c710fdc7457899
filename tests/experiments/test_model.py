"""Facts about models and deltas, conversion, and the choice of tensors, from Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("transformers")

import torch
from helpers.tiny_marian import demo_pairs, write_tiny

from mtloop.core.errors import InputError
from mtloop.experiments.model import choose_fixed_tensors, convert_model, model_info
from mtloop.nmt.adaptive import AdaptiveNMT
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.scopes.bias import OutputBias


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    write_tiny(folder)
    return folder


def test_the_facts_about_a_neural_model(folder: Path) -> None:
    info, model = model_info(folder), Marian.load(folder)
    assert info.kind == "neural model"
    assert info.values["width"] == 32
    assert info.values["parameters"] == sum(model.weights[name].numel() for name in model.weights)
    assert f"parameters   {info.values['parameters']:,}\n" in str(info)
    assert str(info).endswith(f"\nfingerprint  {model.fingerprint}")


def test_the_facts_about_a_delta(folder: Path, tmp_path: Path) -> None:
    model = Marian.load(folder)
    AdaptiveNMT(OutputBias(model), method="bias").delta().write(tmp_path / "new.safetensors")
    info = model_info(tmp_path / "new.safetensors")
    assert (info.kind, info.values["method"], info.values["base"]) == ("delta", "bias", model.fingerprint)
    assert "learned      0 corrections, 0 updates\n" in str(info)


def test_the_facts_about_a_statistical_model(tmp_path: Path) -> None:
    pytest.importorskip("thot")
    from helpers.tiny_smt import write_tiny_smt

    info = model_info(write_tiny_smt(tmp_path / "smt", tuned=False))
    assert (info.kind, info.values["pairs"], info.values["order"]) == ("statistical model", 64, 3)
    assert str(info).startswith("pairs        64\n")


def test_an_unknown_model() -> None:
    with pytest.raises(InputError, match="no model 'nowhere'"):
        model_info("nowhere")


def test_a_converted_model_has_the_same_weights(folder: Path, tmp_path: Path) -> None:
    for path in (*folder.glob("*.json"), *folder.glob("*.spm")):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    weights = Marian.load(folder).weights
    torch.save({name: weights[name] for name in weights}, tmp_path / "pytorch_model.bin")
    assert convert_model(str(tmp_path), tmp_path / "new") == tmp_path / "new" / "model.safetensors"
    assert model_info(tmp_path / "new").values["fingerprint"] == weights.fingerprint


def test_the_chosen_tensors_fit_the_budget(folder: Path, tmp_path: Path) -> None:
    rows = ["source\ttarget", *map("\t".join, demo_pairs()[:3]), ""]
    (tmp_path / "data.tsv").write_text("\n".join(rows), encoding="utf-8")
    out = tmp_path / "fixed.json"
    choice = choose_fixed_tensors(tmp_path / "data.tsv", out, model=str(folder), limit=2, budget=3000)
    weights = Marian.load(folder).weights
    *hidden, _ = choice.tensors
    assert 0 < sum(weights[name].numel() for name in hidden) <= 3000
    assert json.loads(out.read_text()) == {
        "data": "data.tsv",
        "segments": 2,
        "budget": 3000,
        "fingerprint": weights.fingerprint,
        "tensors": choice.tensors,
    }
