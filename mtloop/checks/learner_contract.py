"""What every learner keeps to; import `check_learner` into the tests of your own."""

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
    """Run the whole contract; `make` gives a new learner, `answer` the kind of feedback it takes (else post-edits)."""
    answer = answer or (lambda proposal: PostEdit(proposal.segment.source))
    assert isinstance(make(), Learner), "a learner has propose and learn"
    check_learns_from(make())
    check_propose(make(), segments)
    check_equal_runs(make, segments, answer)
    check_late_feedback(make(), segments, answer)
    if isinstance(make(), Stateful):
        check_save(make, segments, answer)


def check_learns_from(learner: Learner) -> None:
    """A learner that is particular about feedback names kinds of feedback."""
    if isinstance(learner, DeclaresFeedback):
        kinds = set(serialisation.FEEDBACK.values())
        assert set(learner.learns_from) <= kinds, "learns_from names PostEdit, Scores, Preference or Reward"


def check_propose(learner: Learner, segments: Sequence[Segment]) -> None:
    """A proposal is of its segment, can be written as JSON, and proposing leaves no mark."""
    first = [learner.propose(segment) for segment in segments]
    for segment, proposal in zip(segments, first, strict=True):
        assert proposal.segment == segment, "a proposal is of the segment it was asked for"
        assert serialisation.decode(Proposal, serialisation.encode(proposal)) == proposal, (
            "a proposal survives the wire"
        )
    assert [learner.propose(segment) for segment in segments] == first, "propose must not change the learner"


def check_equal_runs(
    make: Callable[[], Learner], segments: Sequence[Segment], answer: Callable[[Proposal], Feedback]
) -> None:
    """The same lessons make the same learner."""
    assert _taught(make(), segments, answer) == _taught(make(), segments, answer), "equal runs are equal"


def check_late_feedback(learner: Learner, segments: Sequence[Segment], answer: Callable[[Proposal], Feedback]) -> None:
    """Feedback that comes late, in another order and from a proposal read back from disk still teaches."""
    proposals = [serialisation.decode(Proposal, serialisation.encode(learner.propose(segment))) for segment in segments]
    for proposal in reversed(proposals):
        learned = learner.learn(proposal, answer(proposal))
        assert isinstance(learned, Learned), "learn says what it did"
        assert serialisation.decode(Learned, serialisation.encode(learned)) == learned, "and can be written as JSON"


def check_save(
    make: Callable[[], Learner], segments: Sequence[Segment], answer: Callable[[Proposal], Feedback]
) -> None:
    """Saved, loaded and taught on is the same as never having stopped."""
    half = len(segments) // 2
    stayed, left, resumed = make(), make(), make()
    _taught(stayed, segments[:half], answer)
    _taught(left, segments[:half], answer)
    assert isinstance(left, Stateful)
    assert isinstance(resumed, Stateful)
    with tempfile.TemporaryDirectory() as folder:
        left.save(Path(folder))
        resumed.load(Path(folder))
    assert _taught(resumed, segments[half:], answer) == _taught(stayed, segments[half:], answer), "load is exact"


def _taught(
    learner: Learner, segments: Sequence[Segment], answer: Callable[[Proposal], Feedback]
) -> list[tuple[Proposal, Learned]]:
    """Teach segment by segment; what was proposed and learned on the way."""
    lessons = []
    for segment in segments:
        proposal = learner.propose(segment)
        lessons.append((proposal, learner.learn(proposal, answer(proposal))))
    return lessons
