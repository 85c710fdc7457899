"""Training jobs on toy data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.toy_training import one_thread, toy_pairs

from mtloop.nmt.training import Recipe, TrainingJob

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
    "learning_rate": 1e-2,
    "checkpoint_every": 4,
    "log_every": 2,
    "average_decay": 0.5,
}


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    with one_thread():
        yield


@pytest.fixture
def make_job(tmp_path: Path) -> Callable[..., TrainingJob]:
    """Return a function that makes a job on toy data; keywords of recipe and job may be mixed."""

    def make(**changes: Any) -> TrainingJob:
        recipe = SMALL | {name: changes.pop(name) for name in list(changes) if name in Recipe.__dataclass_fields__}
        settings = {"pairs": toy_pairs(300), "out": tmp_path / "model", "log": lambda text: None, **changes}
        return TrainingJob(recipe=Recipe.of(recipe), **settings)

    return make
