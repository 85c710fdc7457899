"""Simulated post-editing: the reference is what the translator made of the proposal."""

from __future__ import annotations

from dataclasses import dataclass

from mtloop.core.types import PostEdit, Proposal, Truth


@dataclass(frozen=True)
class PostEditor:
    """Answers every proposal with the segment's first reference; silent where there is none."""

    rater: str | None = None

    def __call__(self, proposal: Proposal, truth: Truth | None) -> PostEdit | None:
        if truth is None or not truth.references:
            return None
        return PostEdit(truth.references[0], self.rater)
