"""Calling the command line as a user does, in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.said import Said

from mtloop.cli import main


@pytest.fixture
def mtloop(capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    def call(*arguments: object) -> Said:
        code = 0
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = int(stop.code or 0)
        return Said(code, *capsys.readouterr())

    return call


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny neural model."""
    from helpers.tiny_marian import write_tiny

    folder = tmp_path_factory.mktemp("model")
    write_tiny(folder)
    return folder


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """The 2019 paper's Figure 1."""
    (tmp_path / "ref.txt").write_text("The dog bites the lady\nThe man bites the dog\n")
    (tmp_path / "hyp.txt").write_text("A terrier bites the person\nThe dog bites the man\n")
    (tmp_path / "stop.txt").write_text("the\na\n")
    return tmp_path
