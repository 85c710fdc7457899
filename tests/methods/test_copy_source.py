from __future__ import annotations

from mtloop.checks.learner_contract import check_learner
from mtloop.core import Reward, Segment
from mtloop.core.protocols import DeclaresFeedback
from mtloop.methods.copy_source import CopySource


def test_it_fulfils_the_contract_and_returns_the_source() -> None:
    segments = [Segment(str(i), f"Satz {i}") for i in range(4)]
    check_learner(CopySource, segments, lambda proposal: Reward(0.5))
    assert [CopySource().propose(segment).text for segment in segments] == [segment.source for segment in segments]


def test_it_declares_that_it_never_learns() -> None:
    learner = CopySource()
    assert isinstance(learner, DeclaresFeedback)
    assert learner.learns_from == ()
