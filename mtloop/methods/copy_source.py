"""A trivial baseline: the unchanged source."""

from __future__ import annotations

from mtloop.core.types import Feedback, Learned, Proposal, Segment


class CopySource:
    """Returns the source as its translation; never learns."""

    learns_from: tuple[type[Feedback], ...] = ()

    def propose(self, segment: Segment) -> Proposal:
        return Proposal(segment, segment.source, system="copy-source")

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        return Learned()
