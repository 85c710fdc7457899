"""Finished traces for tests that only read them."""

from __future__ import annotations

from collections.abc import Sequence

from mtloop.core import PostEdit, Proposal, Segment, Step, Truth


def make_steps(
    hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str] | None = None
) -> list[Step]:
    """A finished trace of post-edited segments."""
    sources = sources or [""] * len(references)
    return [
        Step(i, Proposal(Segment(str(i + 1), source), hyp), PostEdit(ref), truth=Truth((ref,)))
        for i, (source, hyp, ref) in enumerate(zip(sources, hypotheses, references, strict=True))
    ]
