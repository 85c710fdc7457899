"""Settings of every test."""

from __future__ import annotations

import sys
from collections.abc import Iterator

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
