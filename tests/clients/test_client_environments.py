"""The script that installs the clients: which Python it takes for those that do not run with ours."""

from __future__ import annotations

import sys
from pathlib import Path

import client_environments
import pytest

LEAST = sys.version_info.minor + 1


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A folder on the path, and that of pyenv's versions."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    return tmp_path / "bin", tmp_path / "pyenv" / "versions"


def command(path: Path, status: int) -> str:
    """A command that ends with this status."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\nexit {status}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_a_python_of_pyenv_is_taken_if_that_on_the_path_does_not_run(folders: tuple[Path, Path]) -> None:
    """A command of pyenv is on the path for each version that is installed, and runs for the chosen one only."""
    path, versions = folders
    command(path / f"python3.{LEAST}", 127)
    assert client_environments._python(LEAST) is None
    command(versions / f"3.{LEAST}.0" / "bin" / f"python3.{LEAST}", 1)
    found = command(versions / f"3.{LEAST + 1}.2" / "bin" / f"python3.{LEAST + 1}", 0)
    assert client_environments._python(LEAST) == found


def test_a_python_on_the_path_comes_first_and_ours_before_it(folders: tuple[Path, Path]) -> None:
    path, versions = folders
    command(versions / f"3.{LEAST}.0" / "bin" / f"python3.{LEAST}", 0)
    found = command(path / f"python3.{LEAST + 1}", 0)
    assert client_environments._python(LEAST) == found
    assert client_environments._python(LEAST - 1) == sys.executable


def test_an_older_python_is_not_taken() -> None:
    assert client_environments._runs(sys.executable, LEAST - 1)
    assert not client_environments._runs(sys.executable, LEAST)
