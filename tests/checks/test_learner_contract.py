from __future__ import annotations

from pathlib import Path

import pytest

from mtloop.checks.learner_contract import check_learner
from mtloop.core import Feedback, Learned, Proposal, Segment
from mtloop.methods.recorded import Recorded

SEGMENTS = [Segment(str(i), f"Satz {i}") for i in range(1, 5)]


class Echo:
    """Returns the source and the number of its lessons."""

    def __init__(self) -> None:
        self.lessons_ = 0

    def propose(self, segment: Segment) -> Proposal:
        return Proposal(segment, f"{segment.source} {self.lessons_}")

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        self.lessons_ += 1
        return Learned(updates=1)

    def save(self, folder: Path) -> None:
        (folder / "lessons").write_text(str(self.lessons_))

    def load(self, folder: Path) -> None:
        self.lessons_ = int((folder / "lessons").read_text())


class ChangedByPropose(Echo):
    def propose(self, segment: Segment) -> Proposal:
        self.lessons_ += 1
        return super().propose(segment)


class LoadsNothing(Echo):
    def load(self, folder: Path) -> None:
        self.lessons_ = 0


class NeedsIdenticalProposals(Echo):
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


@pytest.mark.parametrize("make", [ChangedByPropose, LoadsNothing, NeedsIdenticalProposals])
def test_learners_that_break_the_contract_are_caught(make: type[Echo]) -> None:
    with pytest.raises((AssertionError, KeyError)):
        check_learner(make, SEGMENTS)


def test_a_type_that_is_not_feedback_is_caught() -> None:
    class Strange(Echo):
        learns_from = (str,)

    with pytest.raises(AssertionError, match="learns_from must list"):
        check_learner(Strange, SEGMENTS)
