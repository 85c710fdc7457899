"""Recorded output of any MT system, used as a learner that does not learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mtloop.core.errors import InputError
from mtloop.core.types import Feedback, Learned, Proposal, Segment


class Recorded:
    """Returns recorded translations, by position in the stream (ids "1", "2", ...) or by segment id."""

    def __init__(self, hypotheses: Sequence[str] | Mapping[str, str], name: str = "recorded") -> None:
        self.name = name
        self._translations = hypotheses if isinstance(hypotheses, Mapping) else _by_number(hypotheses)

    def propose(self, segment: Segment) -> Proposal:
        try:
            return Proposal(segment, self._translations[segment.id], system=self.name)
        except KeyError:
            raise InputError(f"{self.name} has no translation of segment {segment.id!r}") from None

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        """Do nothing: recorded translations do not change."""
        return Learned()


def _by_number(hypotheses: Sequence[str]) -> dict[str, str]:
    return {str(number): text for number, text in enumerate(hypotheses, start=1)}
