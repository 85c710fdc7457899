from __future__ import annotations

from pathlib import Path

import pytest
from helpers.tiny_smt import write_tiny_smt

from mtloop.smt.engine import Thot
from mtloop.smt.learners import BackgroundModel


@pytest.fixture(scope="session")
def smt_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_smt(tmp_path_factory.mktemp("smt") / "model")


@pytest.fixture
def engine(smt_folder: Path) -> Thot:
    return Thot.load(smt_folder)


@pytest.fixture
def base(smt_folder: Path) -> BackgroundModel:
    return BackgroundModel.open(smt_folder)
