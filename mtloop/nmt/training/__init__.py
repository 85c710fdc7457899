"""Training of base models: a `TrainingJob` trains a Marian model folder from sentence pairs, as set in a `Recipe`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mtloop.nmt.training.recipe import Recipe

if TYPE_CHECKING:
    from mtloop.nmt.training.job import TrainingJob
    from mtloop.text.seen_words import SeenWords

_LAZY = {"TrainingJob": "mtloop.nmt.training.job", "SeenWords": "mtloop.text.seen_words"}  # need numpy

__all__ = ["Recipe", "SeenWords", "TrainingJob"]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
