"""Steps of finished runs, for tests of metrics and reports."""

from __future__ import annotations

from collections.abc import Sequence

from mtloop.core import PostEdit, Proposal, Segment, Step, Truth


def make_steps(
    hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str] | None = None
) -> list[Step]:
    """Return one step per segment, with the reference as post-edit."""
    sources = sources or [""] * len(references)
    return [
        Step(i, Proposal(Segment(str(i + 1), source), hyp), PostEdit(ref), truth=Truth((ref,)))
        for i, (source, hyp, ref) in enumerate(zip(sources, hypotheses, references, strict=True))
    ]
