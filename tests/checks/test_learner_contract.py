from __future__ import annotations

from pathlib import Path

import pytest

from mtloop.checks.learner_contract import check_learner
from mtloop.core import Feedback, Learned, Proposal, Segment
from mtloop.methods.recorded import Recorded

SEGMENTS = [Segment(str(i), f"Satz {i}") for i in range(1, 5)]


class Echo:
    """Says the source, and remembers how often it was taught."""

    def __init__(self) -> None:
        self.taught_ = 0

    def propose(self, segment: Segment) -> Proposal:
        return Proposal(segment, f"{segment.source} {self.taught_}")

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        self.taught_ += 1
        return Learned(updates=1)

    def save(self, folder: Path) -> None:
        (folder / "taught").write_text(str(self.taught_))

    def load(self, folder: Path) -> None:
        self.taught_ = int((folder / "taught").read_text())


class MarkedByProposing(Echo):
    def propose(self, segment: Segment) -> Proposal:
        self.taught_ += 1
        return super().propose(segment)


class ForgetsOnLoading(Echo):
    def load(self, folder: Path) -> None:
        self.taught_ = 0


class NeedsItsOwnObjects(Echo):
    def __init__(self) -> None:
        super().__init__()
        self.pending_: dict[int, Proposal] = {}

    def propose(self, segment: Segment) -> Proposal:
        proposal = super().propose(segment)
        self.pending_[id(proposal)] = proposal
        return proposal

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        del self.pending_[id(proposal)]
        return super().learn(proposal, feedback)


@pytest.mark.parametrize("make", [Echo, lambda: Recorded(["a", "b", "c", "d"])])
def test_good_learners_pass(make: type[Echo]) -> None:
    check_learner(make, SEGMENTS)


@pytest.mark.parametrize("make", [MarkedByProposing, ForgetsOnLoading, NeedsItsOwnObjects])
def test_learners_that_break_the_contract_are_caught(make: type[Echo]) -> None:
    with pytest.raises((AssertionError, KeyError)):
        check_learner(make, SEGMENTS)


def test_a_kind_of_feedback_that_is_none_is_found() -> None:
    class Strange(Echo):
        learns_from = (str,)

    with pytest.raises(AssertionError, match="learns_from names"):
        check_learner(Strange, SEGMENTS)
