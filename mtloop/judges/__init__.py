"""Judges: simulated and recorded people who give feedback on a proposal."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mtloop.judges.noise import Noise
from mtloop.judges.post_editor import PostEditor
from mtloop.judges.rater import RatedEdits, Rater

if TYPE_CHECKING:
    from mtloop.judges.human_ratings import HumanRatings, Preferences

# Loaded when first used: they need numpy, which takes longer to import than everything else together.
_LAZY = {"HumanRatings": "mtloop.judges.human_ratings", "Preferences": "mtloop.judges.human_ratings"}

__all__ = ["HumanRatings", "Noise", "PostEditor", "Preferences", "RatedEdits", "Rater"]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
