"""Things many tests need."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import settings

from mtloop.core import PostEdit, Proposal, Segment, Step, Truth

settings.register_profile("mtloop", deadline=None, derandomize=True)
settings.load_profile("mtloop")


def make_steps(hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str] | None = None) -> list[Step]:
    """A finished trace of post-edited segments."""
    sources = sources or [""] * len(references)
    return [
        Step(i, Proposal(Segment(str(i + 1), source), hyp), PostEdit(ref), truth=Truth((ref,)))
        for i, (source, hyp, ref) in enumerate(zip(sources, hypotheses, references, strict=True))
    ]


@pytest.fixture(name="make_steps")
def _make_steps() -> Callable[..., list[Step]]:
    return make_steps
