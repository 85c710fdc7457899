"""The bytes of a learner are those of all its arrays, wherever they are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mtloop.service.engines.learner_bytes import held_bytes


class Held(SimpleNamespace):
    """An object of the package with some parts."""

    __module__ = "mtloop.held"


@pytest.mark.parametrize(
    "parts",
    [
        {"first": None, "second": np.zeros(10)},
        ["name", 3, np.zeros(10)],
        [[], {}, {"a": [], "b": (1, np.zeros(10))}],
        {n: np.zeros(1) for n in range(10)},
    ],
)
def test_arrays_in_containers_count_wherever_they_stand(parts: Any) -> None:
    assert held_bytes(Held(parts=parts, texts=["a"] * 1000)) == 80


def test_an_optimiser_and_a_module_count() -> None:
    torch = pytest.importorskip("torch")
    layer = torch.nn.Linear(3, 2)
    optimiser = torch.optim.Adam(layer.parameters())
    weights = sum(one.nbytes for one in layer.parameters())
    assert held_bytes(Held(layer=layer)) == weights
    layer(torch.ones(3)).sum().backward()
    optimiser.step()
    moments = sum(value.nbytes for state in optimiser.state.values() for value in state.values())
    assert moments > 2 * weights
    assert held_bytes(Held(layer=layer, optimiser=optimiser)) == weights + moments
    assert held_bytes(Held(layer=layer, optimiser=optimiser), Held(layer=layer)) == moments


def test_several_modules_count_each() -> None:
    torch = pytest.importorskip("torch")
    layers = [torch.nn.Linear(30, 20) for _ in range(3)]
    assert held_bytes(Held(layers=layers)) == sum(one.nbytes for layer in layers for one in layer.parameters())


def test_a_list_in_itself_ends() -> None:
    own: list[Any] = []
    own.append(own)
    assert held_bytes(Held(own=own)) == 0
