"""Fixtures that call the command line in this process."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.command_result import CommandResult

from mtloop.cli import main


@pytest.fixture
def mtloop(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., CommandResult]:
    """Return a function that runs a command with this standard input."""

    def call(*arguments: object, stdin: str | None = None) -> CommandResult:
        code = 0
        if stdin is not None:
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = int(stop.code or 0)
        return CommandResult(code, *capsys.readouterr())

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
    """The example in Figure 1 of the 2019 paper."""
    (tmp_path / "ref.txt").write_text("The dog bites the lady\nThe man bites the dog\n")
    (tmp_path / "hyp.txt").write_text("A terrier bites the person\nThe dog bites the man\n")
    (tmp_path / "stop.txt").write_text("the\na\n")
    return tmp_path
