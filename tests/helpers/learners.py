"""Learners small enough to reason about: what they say depends on everything they were taught, in order."""

from __future__ import annotations

import hashlib
from pathlib import Path

from mtloop.core import Feedback, Learned, Proposal, Segment
from mtloop.core.serialisation import dumps


class Chained:
    """Says a hash of all its lessons so far, so that any difference in what or when it learned shows at once."""

    def __init__(self) -> None:
        self.state_ = "new"
        self.lessons_ = 0

    def propose(self, segment: Segment) -> Proposal:
        return Proposal(segment, f"{segment.source} {self.state_}")

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        seen = self.state_.encode() + dumps(proposal) + dumps(feedback)
        self.state_ = hashlib.sha256(seen).hexdigest()[:12]
        self.lessons_ += 1
        return Learned(updates=1, info={"lesson": self.lessons_})


class Saved(Chained):
    """The same, and can be put on disk."""

    def save(self, folder: Path) -> None:
        (folder / "state").write_text(f"{self.state_} {self.lessons_}")

    def load(self, folder: Path) -> None:
        self.state_, lessons = (folder / "state").read_text().split()
        self.lessons_ = int(lessons)
