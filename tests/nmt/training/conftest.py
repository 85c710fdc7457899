"""A toy language pair that a model learns in seconds: each word has one translation."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mtloop.nmt.training import Job, Recipe

WORDS = {"red": "rot", "green": "grün", "blue": "blau", "cat": "Katze", "dog": "Hund", "big": "groß", "old": "alt"}
SMALL = {
    "vocab_size": 305,
    "width": 32,
    "heads": 4,
    "ffn": 64,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "dropout": 0.1,
    "batch_tokens": 1024,
    "steps": 12,
    "warmup": 5,
    "lr": 1e-2,
    "every": 4,
    "report": 2,
    "average": 0.5,
}


def _toy_pairs(count: int, seed: int = 0) -> list[tuple[str, str]]:
    rng = random.Random(seed)
    sources = [rng.choices(list(WORDS), k=rng.randint(2, 7)) for _ in range(count)]
    return [(" ".join(source) + " .", " ".join(WORDS[word] for word in source) + " .") for source in sources]


@pytest.fixture
def toy_pairs() -> Callable[..., list[tuple[str, str]]]:
    return _toy_pairs


@pytest.fixture(autouse=True)
def _one_thread() -> Any:
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # tests run in parallel
    yield
    torch.set_num_threads(before)


@pytest.fixture
def make_job(tmp_path: Path) -> Callable[..., Job]:
    """Return a function that makes a job on toy data; keywords of recipe and job may be mixed."""

    def make(**changes: Any) -> Job:
        recipe = SMALL | {name: changes.pop(name) for name in list(changes) if name in Recipe.__dataclass_fields__}
        settings = {"pairs": _toy_pairs(300), "out": tmp_path / "model", "log": lambda text: None, **changes}
        return Job(recipe=Recipe.of(recipe), **settings)

    return make
