"""A toy language pair that a model learns in seconds: each word has one translation."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

WORDS = {"red": "rot", "green": "grün", "blue": "blau", "cat": "Katze", "dog": "Hund", "big": "groß", "old": "alt"}


def toy_pairs(count: int, seed: int = 0) -> list[tuple[str, str]]:
    rng = random.Random(seed)
    sources = [rng.choices(list(WORDS), k=rng.randint(2, 7)) for _ in range(count)]
    return [(" ".join(source) + " .", " ".join(WORDS[word] for word in source) + " .") for source in sources]


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit torch to one thread, because tests run in parallel. Skip the test if torch or transformers is missing."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
