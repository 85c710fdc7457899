"""The examples of the docs run in a new folder, so that the files they write do not stay, and in one process."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtloop.experiments.runners import InProcess, Processes


@pytest.fixture(autouse=True)
def _new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the jobs of an experiment in this process: a new process for each imports torch again."""
    monkeypatch.setattr(Processes, "__call__", lambda self, jobs: InProcess()(jobs))
