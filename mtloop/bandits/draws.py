"""Draws that can be told apart: a seed for each, and a memory of which were rewarded."""

from __future__ import annotations

from hashlib import blake2b

from mtloop.core.types import JSON, Proposal


def seed_of(*parts: JSON) -> int:
    """A number that follows from the parts alone, small enough for JSON everywhere.

    >>> seed_of(1, 0, "Save the file.") == seed_of(1, 0, "Save the file."), seed_of(1, 0) == seed_of(10)
    (True, False)
    """
    return int.from_bytes(blake2b(repr(parts).encode(), digest_size=6).digest())


def key_of(proposal: Proposal) -> int:
    """One draw for one segment; equal sources can be drawn alike and are rewarded each on its own."""
    return seed_of(proposal.memo["draw"], proposal.segment.id)
