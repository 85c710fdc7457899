"""The contract of learners. Call `check_learner` in the tests of a plugin."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from mtloop.core import serialisation
from mtloop.core.protocols import DeclaresFeedback, Learner, Stateful
from mtloop.core.types import Feedback, Learned, PostEdit, Proposal, Segment


def check_learner(
    make: Callable[[], Learner], segments: Sequence[Segment], answer: Callable[[Proposal], Feedback] | None = None
) -> None:
    """Check the whole contract of a learner; raise AssertionError with a description of the first violation.

    Args:
        make: Returns a new learner, equal at every call.
        segments: At least two source sentences.
        answer: Returns the feedback for a proposal (default: the source as post-edit).
    """
    answer = answer or (lambda proposal: PostEdit(proposal.segment.source))
    assert isinstance(make(), Learner), "a learner must have the methods propose and learn"
    check_learns_from(make())
    check_propose(make(), segments)
    check_equal_runs(make, segments, answer)
    check_late_feedback(make(), segments, answer)
    if isinstance(make(), Stateful):
        check_save(make, segments, answer)


def check_learns_from(learner: Learner) -> None:
    """`learns_from`, if the learner has it, lists types of feedback."""
    if isinstance(learner, DeclaresFeedback):
        kinds = set(serialisation.FEEDBACK.values())
        assert set(learner.learns_from) <= kinds, "learns_from must list PostEdit, Scores, Preference or Reward only"


def check_propose(learner: Learner, segments: Sequence[Segment]) -> None:
    """A proposal has its segment and a JSON form, and `propose` does not change the learner."""
    proposals = [learner.propose(segment) for segment in segments]
    for segment, proposal in zip(segments, proposals, strict=True):
        assert proposal.segment == segment, "a proposal must have the segment that was given to propose"
        decoded = serialisation.decode(Proposal, serialisation.encode(proposal))
        assert decoded == proposal, "a proposal must be equal after writing and reading its JSON form"
    assert [learner.propose(segment) for segment in segments] == proposals, "propose must not change the learner"


def check_equal_runs(
    make: Callable[[], Learner], segments: Sequence[Segment], answer: Callable[[Proposal], Feedback]
) -> None:
    """Two learners with the same lessons are equal."""
    assert _teach(make(), segments, answer) == _teach(make(), segments, answer), "equal runs must give equal results"


def check_late_feedback(learner: Learner, segments: Sequence[Segment], answer: Callable[[Proposal], Feedback]) -> None:
    """The learner learns from feedback that is late, out of order and for a proposal read from its JSON form."""
    proposals = [serialisation.decode(Proposal, serialisation.encode(learner.propose(segment))) for segment in segments]
    for proposal in reversed(proposals):
        learned = learner.learn(proposal, answer(proposal))
        assert isinstance(learned, Learned), "learn must return a Learned"
        decoded = serialisation.decode(Learned, serialisation.encode(learned))
        assert decoded == learned, "a Learned must be equal after writing and reading its JSON form"


def check_save(
    make: Callable[[], Learner], segments: Sequence[Segment], answer: Callable[[Proposal], Feedback]
) -> None:
    """A learner that is saved, loaded and taught further equals one that was never interrupted."""
    half = len(segments) // 2
    uninterrupted, saved, loaded = make(), make(), make()
    _teach(uninterrupted, segments[:half], answer)
    _teach(saved, segments[:half], answer)
    assert isinstance(saved, Stateful)
    assert isinstance(loaded, Stateful)
    with tempfile.TemporaryDirectory() as folder:
        saved.save(Path(folder))
        loaded.load(Path(folder))
    expected = _teach(uninterrupted, segments[half:], answer)
    assert _teach(loaded, segments[half:], answer) == expected, "load must restore the saved state exactly"


def _teach(
    learner: Learner, segments: Sequence[Segment], answer: Callable[[Proposal], Feedback]
) -> list[tuple[Proposal, Learned]]:
    """Teach segment by segment; return the proposals and the results of learning."""
    lessons = []
    for segment in segments:
        proposal = learner.propose(segment)
        lessons.append((proposal, learner.learn(proposal, answer(proposal))))
    return lessons
