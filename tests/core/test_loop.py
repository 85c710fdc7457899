from __future__ import annotations

import pytest
from helpers.learners import Chained
from helpers.stream import SCHEDULES, STREAM, post_editor

from mtloop.core import Blocks, Delay, PostEdit, Proposal, Schedule, Segment, Step, TraceError, Truth, replay, run
from mtloop.core.types import Feedback


class CountingJudge:
    """A judge that returns the number of steps it has observed."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def __call__(self, proposal: Proposal, truth: Truth | None) -> Feedback | None:
        return PostEdit(f"{len(self.seen)} seen")

    def observe(self, step: Step) -> None:
        self.seen.append(step.index)


def test_run_equals_the_for_loop_of_its_docstring() -> None:
    learner, expected = Chained(), []
    for index, (segment, truth) in enumerate(STREAM):
        proposal = learner.propose(segment)
        feedback = post_editor(proposal, truth)
        assert feedback is not None
        expected.append(Step(index, proposal, feedback, learner.learn(proposal, feedback), truth))
    assert list(run(STREAM, Chained(), post_editor)) == expected


def test_no_reference_reaches_the_learner() -> None:
    seen: list[object] = []

    class Spy(Chained):
        def propose(self, segment: Segment) -> Proposal:
            seen.append(segment)
            return super().propose(segment)

    list(run(STREAM, Spy(), lambda proposal, truth: None))
    assert "ref" not in repr(seen)


def test_without_feedback_nothing_is_learned() -> None:
    learner = Chained()
    steps = list(run([(segment, None) for segment, _ in STREAM], learner, post_editor))
    assert learner.lessons_ == 0
    assert all(step.learned is None for step in steps)


@pytest.mark.parametrize("k", [0, 1, 3])
def test_delay_learns_k_segments_late(k: int) -> None:
    texts = [step.proposal.text for step in run(STREAM, Chained(), post_editor, schedule=Delay(k))]
    unchanged = [text.endswith(" new") for text in texts]
    assert unchanged == [i <= k for i in range(len(STREAM))]


def test_a_block_is_translated_before_it_is_learned() -> None:
    steps = list(run(STREAM, Chained(), post_editor, schedule=Blocks(12)))
    states = [step.proposal.text.split()[-1] for step in steps]
    assert states[:3] == ["new"] * 3
    assert len(set(states[:3])) == 1
    assert len(set(states)) == 4


def test_an_unfair_block_is_learned_before_it_is_translated() -> None:
    steps = list(run(STREAM, Chained(), post_editor, schedule=Blocks(12, unfair=True)))
    assert not any(step.proposal.text.endswith(" new") for step in steps)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)
def test_a_run_resumed_after_any_step_equals_an_uninterrupted_run(schedule: Schedule) -> None:
    whole = list(run(STREAM, Chained(), post_editor, schedule=schedule))
    assert [step.index for step in whole] == list(range(len(STREAM)))
    for done in range(len(whole) + 1):
        rest = list(run(STREAM, Chained(), post_editor, schedule=schedule, past=whole[:done]))
        assert whole[:done] + rest == whole


def test_an_observing_judge_is_rebuilt_from_the_record() -> None:
    whole = list(run(STREAM, Chained(), CountingJudge()))
    rest = list(run(STREAM, Chained(), CountingJudge(), past=whole[:5]))
    assert whole[:5] + rest == whole


def test_the_record_of_another_stream_is_refused() -> None:
    whole = list(run(STREAM, Chained(), post_editor))
    with pytest.raises(TraceError, match="another stream"):
        list(run(STREAM[1:], Chained(), post_editor, past=whole[:3]))


def test_replay_gives_the_learner_the_same_lessons_as_the_run() -> None:
    taught, replayed = Chained(), Chained()
    steps = list(run(STREAM, taught, post_editor))
    assert replay(steps, replayed) == len(STREAM)
    assert replayed.state_ == taught.state_
