from __future__ import annotations

from pathlib import Path

import pytest
import torch
from helpers.tiny_marian import write_tiny

from mtloop.nmt.engine.marian import Marian

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    write_tiny(folder)
    return folder


@pytest.fixture
def small(folder: Path) -> Marian:
    return Marian.load(folder)
