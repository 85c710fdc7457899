"""A system known only by what it said: any MT output, scored as if it were in the loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mtloop.core.errors import InputError
from mtloop.core.types import Feedback, Learned, Proposal, Segment


class Recorded:
    """Says again what a system said: by position in the stream (ids "1", "2", ...), or by segment id."""

    def __init__(self, hypotheses: Sequence[str] | Mapping[str, str], name: str = "recorded") -> None:
        self.name = name
        self._said = hypotheses if isinstance(hypotheses, Mapping) else _numbered(hypotheses)

    def propose(self, segment: Segment) -> Proposal:
        try:
            return Proposal(segment, self._said[segment.id], system=self.name)
        except KeyError:
            raise InputError(f"{self.name} said nothing for segment {segment.id!r}") from None

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        """What was recorded stays as it was said."""
        return Learned()


def _numbered(hypotheses: Sequence[str]) -> dict[str, str]:
    return {str(number): text for number, text in enumerate(hypotheses, start=1)}
