"""A rating campaign in the terminal: outputs of several systems, several raters, and a policy that selects items.

A campaign holds no state in memory. It computes everything from the plan and the rating log. So it can be killed at any
moment, and several terminals can show the same campaign.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from mtloop.core.errors import InputError
from mtloop.core.protocols import Choice
from mtloop.core.trace import Retract, Trace
from mtloop.core.types import JSON, Proposal, Scores, Step
from mtloop.selection.campaign_plan import CampaignPlan
from mtloop.selection.campaign_state import CampaignState, CampaignStatus
from mtloop.selection.item_selection import ItemSelection
from mtloop.selection.raters import Rating
from mtloop.selection.rating_item import RatingItem, RatingTurn, ShownTranslation
from mtloop.selection.rating_kinds import rating_values
from mtloop.selection.rating_log import RatingLog, check_rater


class Campaign:
    """Selects the next item to rate, stores ratings, and decides when to stop."""

    def __init__(self, plan: CampaignPlan, log: RatingLog) -> None:
        if plan.kind != "score" or plan.side_by_side or plan.attention_checks:
            raise InputError("the terminal shows one translation at a time, for a score; use a campaign on the service")
        self.plan, self.log = plan, log

    def next(self, rater: str, busy: Collection[tuple[str, str]] = ()) -> RatingItem | None:
        """The next item for this rater; None if the campaign has stopped or no item is left.

        A rater stays on a segment until all undecided systems are rated on it, so that the same person compares them.
        `busy` holds the cells (segment, system) that other raters are rating now.
        """
        return ItemSelection(self._state(), check_rater(rater), busy).next()

    def rate(self, rater: str, item: RatingItem, score: float) -> None:
        """Store a rating from 0 to 100."""
        (value,) = rating_values("score", {"scores": [score]}, item.texts)
        self._append(rater, item, Scores(dict.fromkeys(item.systems, value), check_rater(rater)))

    def skip(self, rater: str, item: RatingItem) -> None:
        """Do not show the item to this rater again, unless it is undone. Other raters can still rate it."""
        self._append(rater, item, None)

    def undo(self, rater: str) -> Step | None:
        """Take back the last act of the rater, a rating or a skip, and return it; None if there is none.

        The item will be shown again.
        """
        given = _valid_steps(self.log.events().get(rater))
        if not given:
            return None
        self.log.append(rater, Retract(given[-1].index))
        return given[-1]

    def done(self, rater: str) -> int:
        """The number of ratings of a rater."""
        return sum(step.feedback is not None for step in _valid_steps(self.log.events().get(rater)))

    def left(self, rater: str) -> int | None:
        """The number of translations that this rater may still get; None if a stopping rule decides about it."""
        return None if self.plan.stops else ItemSelection(self._state(), check_rater(rater)).rounds_left()

    def status(self) -> CampaignStatus:
        """The current state of the campaign."""
        return self._state().status()

    def ratings(self) -> list[Rating]:
        """All ratings that were not retracted, not standardised."""
        return self._state().ratings

    def _state(self) -> CampaignState:
        return CampaignState(self.plan, _turns(self.log.events()))

    def _append(self, rater: str, item: RatingItem, feedback: Scores | None) -> None:
        trace = self.log.events().get(check_rater(rater))
        index = len(trace.steps) if trace else 0
        choice = item.choice or Choice(item.systems[0])
        memo: dict[str, JSON] = {"asked": [*item.systems]}
        if choice.context:
            memo["context"] = [*choice.context]
        segment = self.plan.segment(int(item.segment) - 1)
        proposal = Proposal(segment, item.text, system=choice.system, probability=choice.probability, memo=memo)
        self.log.append(rater, Step(index, proposal, feedback))


def _turns(traces: Mapping[str, Trace]) -> list[RatingTurn]:
    """What every rater was shown and answered, without what was taken back."""
    return [_turn(rater, step) for rater, trace in traces.items() for step in _valid_steps(trace)]


def _turn(rater: str, step: Step) -> RatingTurn:
    proposal, asked = step.proposal, _names(step.proposal.memo.get("asked")) or (step.proposal.system,)
    context = tuple(float(str(one)) for one in _items(proposal.memo.get("context")))
    choice = Choice(proposal.system, proposal.probability, {}, asked, proposal.segment.id, context)
    shown = (ShownTranslation(proposal.text, asked),)
    item = RatingItem(proposal.segment.id, proposal.segment.source, shown, choice=choice)
    values = tuple(step.feedback.values.values())[:1] if isinstance(step.feedback, Scores) else None
    return RatingTurn(rater, item, values, skipped=values is None)


def _valid_steps(trace: Trace | None) -> Sequence[Step]:
    """Ratings and skipped items that were not taken back."""
    if trace is None:
        return []
    retracted = {event.step for event in trace.events if isinstance(event, Retract)}
    return [step for step in trace.steps if step.index not in retracted]


def _items(value: JSON) -> list[JSON]:
    return value if isinstance(value, list) else []


def _names(value: JSON) -> tuple[str, ...]:
    return tuple(map(str, _items(value)))
