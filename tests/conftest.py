"""Settings and fixtures for all tests."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("mtloop", deadline=None, derandomize=True)
settings.load_profile("mtloop")


@pytest.fixture(autouse=True)
def _denormals() -> Iterator[None]:
    """Restore denormal numbers: a run in this process makes torch flush them to zero, and other tests need them."""
    yield
    if "torch" in sys.modules:
        sys.modules["torch"].set_flush_denormal(False)


@pytest.fixture
def log_messages(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the messages of mtloop's logger, which grow during the test."""
    messages: list[str] = []
    handler = logging.Handler()
    monkeypatch.setattr(handler, "emit", lambda record: messages.append(record.getMessage()))
    monkeypatch.setattr(logging.getLogger("mtloop"), "handlers", [handler])
    return messages


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, bytes | str], Path]:
    """Return a function that writes a file to the temporary folder of the test and returns its path."""

    def _write(name: str, content: bytes | str) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return _write
