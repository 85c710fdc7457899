"""Minimal learners whose proposals depend on all their lessons and their order."""

from __future__ import annotations

import hashlib
from pathlib import Path

from mtloop.core import Feedback, Learned, Proposal, Segment
from mtloop.core.serialisation import dumps


class Chained:
    """Proposes a hash of all lessons so far, so that any difference in content or order is visible."""

    def __init__(self) -> None:
        self.state_ = "new"
        self.lessons_ = 0

    def propose(self, segment: Segment) -> Proposal:
        return Proposal(segment, f"{segment.source} {self.state_}")

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        content = self.state_.encode() + dumps(proposal) + dumps(feedback)
        self.state_ = hashlib.sha256(content).hexdigest()[:12]
        self.lessons_ += 1
        return Learned(updates=1, info={"lesson": self.lessons_})


class Saved(Chained):
    """A `Chained` learner that can be saved and loaded."""

    def save(self, folder: Path) -> None:
        (folder / "state").write_text(f"{self.state_} {self.lessons_}")

    def load(self, folder: Path) -> None:
        self.state_, lessons = (folder / "state").read_text().split()
        self.lessons_ = int(lessons)
