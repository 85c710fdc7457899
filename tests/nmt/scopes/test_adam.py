from __future__ import annotations

from pathlib import Path

import pytest
import torch
from helpers.tiny_marian import demo_pairs, write_tiny

from mtloop.nmt.engine.lesson import Lesson, forward_pass
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.scopes.adam import AdamScope
from mtloop.nmt.scopes.bias import OutputBias
from mtloop.nmt.scopes.dense import Dense, all_names
from mtloop.nmt.scopes.lora import Lora
from mtloop.nmt.scopes.scope import NotFinite

PAIRS = demo_pairs()[:3]


def lesson(scope: AdamScope, number: int) -> Lesson:
    source, target = PAIRS[number]
    model = scope.model
    return forward_pass(model, model.source.encode(source), model.target.encode(target), scope.names, scope.extra_bias)


def taught(scope: AdamScope, numbers: range) -> AdamScope:
    for number in numbers:
        scope.update(lesson(scope, number))
        scope.commit()
    return scope


@pytest.mark.parametrize("tied", [False, True])
def test_steps_are_those_of_torchs_adam(tmp_path: Path, tied: bool) -> None:
    """Three lessons on dense tensors, compared with torch.optim.Adam on the same gradients."""
    write_tiny(tmp_path, tied=tied)
    model = Marian.load(tmp_path)
    scope = AdamScope(Dense(model, all_names(model.weights), learning_rate=1e-2))
    names = ["model.decoder.layers.1.fc1.weight", "model.encoder.layers.0.self_attn.k_proj.weight"]
    names += [model.weights.canonical_name("lm_head.weight"), "model.decoder.layers.0.final_layer_norm.bias"]
    expected = {name: model.weights[name].clone().requires_grad_() for name in names}
    optimiser = torch.optim.Adam(expected.values(), lr=1e-2)
    for number in range(3):
        gradients = lesson(scope, number).gradients()
        for name, tensor in expected.items():
            tensor.grad = torch.zeros_like(tensor)
            gradients[name].subtract_from(tensor.grad, -1.0)
        optimiser.step()
        taught(scope, range(number, number + 1))
    for name, tensor in expected.items():
        torch.testing.assert_close(scope.model.weights[name], tensor.detach(), atol=2e-4, rtol=1e-3)


def test_only_the_word_vectors_of_the_source_change(small: Marian) -> None:
    name = "model.encoder.embed_tokens.weight"
    scope = taught(AdamScope(Dense(small, all_names(small.weights), learning_rate=1e-2)), range(1))
    met = set(small.source.encode(PAIRS[0][0]))
    moved = (scope.model.weights[name] != small.weights[name]).any(1).nonzero().flatten().tolist()
    assert set(moved) == met
    assert scope.model.weights[name][moved[0]].sub(small.weights[name][moved[0]]).abs().max() < 1.01e-2


@pytest.mark.parametrize("kind", ["dense", "lora", "bias"])
def test_the_loss_decreases_and_a_restored_scope_continues_exactly(small: Marian, kind: str) -> None:
    def made() -> AdamScope:
        if kind == "dense":
            return AdamScope(Dense(small, all_names(small.weights), learning_rate=1e-3))
        return AdamScope(Lora(small, 1e-3, 1e-3, rank=2)) if kind == "lora" else AdamScope(OutputBias(small, 1e-2))

    scope, resumed = made(), made()
    before = lesson(scope, 0).loss
    for _ in range(3):
        taught(scope, range(1))
    assert lesson(scope, 0).loss < before
    resumed.restore({name: tensor.clone() for name, tensor in scope.tensors().items()})
    one, other = taught(scope, range(3)).tensors(), taught(resumed, range(3)).tensors()
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_rollback_leaves_no_change(small: Marian) -> None:
    scope = taught(AdamScope(Dense(small, all_names(small.weights), learning_rate=1e-3)), range(1))
    before = {name: tensor.clone() for name, tensor in scope.tensors().items()}
    scope.update(lesson(scope, 1))
    scope.rollback()
    scope.commit()
    assert all(torch.equal(before[name], tensor) for name, tensor in scope.tensors().items())


def test_a_gradient_that_is_not_finite_is_refused(small: Marian) -> None:
    scope = AdamScope(OutputBias(small, 1e-2))
    bad = lesson(scope, 0)
    bad.error[0, 0] = torch.nan
    with pytest.raises(NotFinite):
        scope.update(bad)
    scope.commit()
    assert scope.count_ == 0


def test_the_shared_base_does_not_change(small: Marian) -> None:
    before = small.weights["model.decoder.layers.1.fc1.weight"].clone()
    taught(AdamScope(Dense(small, all_names(small.weights))), range(2))
    assert torch.equal(before, small.weights["model.decoder.layers.1.fc1.weight"])
