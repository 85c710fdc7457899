"""Settings of every test."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("mtloop", deadline=None, derandomize=True)
settings.load_profile("mtloop")


@pytest.fixture(autouse=True)
def _small_numbers() -> Iterator[None]:
    """A run in this process lets torch flush the smallest numbers to zero; other tests are about those numbers."""
    yield
    if "torch" in sys.modules:
        sys.modules["torch"].set_flush_denormal(False)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, bytes | str], Path]:
    """Write a file into the test's own folder."""

    def _write(name: str, content: bytes | str) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return _write
