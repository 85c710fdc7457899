"""What the method of a project learns from."""

from __future__ import annotations

from mtloop.core.types import PostEdit, Reward
from mtloop.methods.registry import find_method


def learns_from_corrections(method: str) -> bool:
    """Whether a method learns from confirmed translations. One that does not say so is asked to."""
    kinds = find_method(method).learns_from
    return kinds is None or PostEdit in kinds


def learns_from_ratings(method: str) -> bool:
    """Whether a method learns from ratings."""
    return Reward in (find_method(method).learns_from or ())
