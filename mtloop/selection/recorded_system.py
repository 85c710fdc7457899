"""A system whose translations are known: it can be one of the systems of `Select`."""

from __future__ import annotations

from collections.abc import Sequence

from mtloop.core.types import Feedback, Learned, Proposal, Segment
from mtloop.selection.campaign_state import CampaignState
from mtloop.selection.select_learner import Select


class RecordedSystem:
    """Proposes the line of a segment, whose id is its number from 1. It does not learn."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines

    def propose(self, segment: Segment) -> Proposal:
        return Proposal(segment, self.lines[int(segment.id) - 1])

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        return Learned(rejected="a recorded system does not learn")


def serve_best(state: CampaignState, index: int) -> Proposal:
    """The translation of a segment by the system that the policy chooses after the ratings so far."""
    systems = {name: RecordedSystem(lines) for name, lines in state.plan.outputs.items()}
    select = Select(state.policy, systems, seed=state.plan.seed)
    select.lessons_ = len(state.ratings)
    return select.propose(state.plan.segment(index))
