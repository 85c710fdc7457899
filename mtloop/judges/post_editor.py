"""Simulated post-editing: the reference serves as the post-edit."""

from __future__ import annotations

from dataclasses import dataclass

from mtloop.core.types import PostEdit, Proposal, Truth


@dataclass(frozen=True)
class PostEditor:
    """Answers every proposal with the first reference of the segment; returns None if there is none."""

    rater: str | None = None

    def __call__(self, proposal: Proposal, truth: Truth | None) -> PostEdit | None:
        if truth is None or not truth.references:
            return None
        return PostEdit(truth.references[0], self.rater)
