from __future__ import annotations

from pathlib import Path

import pytest
import torch
from helpers.tiny_marian import write_tiny
from transformers import MarianMTModel

from mtloop.nmt.engine.marian import Marian

torch.set_num_threads(1)


@pytest.fixture(scope="session", params=["separate", "tied"])
def tiny(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, MarianMTModel]:
    """A model folder, and the Hugging Face model loaded from it."""
    folder = tmp_path_factory.mktemp(f"tiny-{request.param}")
    return folder, write_tiny(folder, tied=request.param == "tied")


@pytest.fixture
def marian(tiny: tuple[Path, MarianMTModel]) -> Marian:
    return Marian.load(tiny[0])


@pytest.fixture(scope="session")
def small_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    write_tiny(folder)
    return folder


@pytest.fixture
def small(small_folder: Path) -> Marian:
    """A model with separate vocabularies, for tests that need only one kind of model."""
    return Marian.load(small_folder)
