"""Seeds and keys of draws."""

from __future__ import annotations

from hashlib import blake2b

from mtloop.core.types import JSON, Proposal

DRAW_BY_ID = "draw_by_id"  # in the context of a segment: no other segment has its id, and its draw follows from the id


def seed_from(*parts: JSON) -> int:
    """Return a seed that depends only on the parts (48 bits: small enough for JSON everywhere).

    >>> seed_from(1, 0, "Save the file.") == seed_from(1, 0, "Save the file."), seed_from(1, 0) == seed_from(10)
    (True, False)
    """
    return int.from_bytes(blake2b(repr(parts).encode(), digest_size=6).digest())


def draw_key(proposal: Proposal) -> int:
    """Return the key of one draw for one segment: equal sources can have equal draws, each with its own reward."""
    return seed_from(proposal.memo["draw"], proposal.segment.id)
