"""The events of a campaign in memory, and what follows from them: the turns of the raters, and the open items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import median
from typing import Any

from mtloop.core.protocols import Choice
from mtloop.selection.campaign_plan import CampaignPlan
from mtloop.selection.campaign_state import CampaignState
from mtloop.selection.rating_item import RatingItem, RatingTurn, ShownTranslation
from mtloop.selection.rating_kinds import rating_values
from mtloop.service.campaigns.models import CampaignEvent, StoredRater

WAITING_SECONDS = 1800  # so long an item that a rater was given is not given to another one


@dataclass
class ShownItem:
    """An item that a rater was given. `answer` is the rating or skip that counts, and `touched` its newest event."""

    event: CampaignEvent
    item: RatingItem
    answer: CampaignEvent | None = None
    touched: int = 0

    @property
    def token(self) -> str:
        return str(self.event.body["token"])


@dataclass
class CampaignLog:
    """Everything that happened in a campaign so far. `add` takes further events, in order."""

    plan: CampaignPlan
    raters: dict[int, StoredRater] = field(default_factory=dict)
    number: int = 0
    items: dict[int, ShownItem] = field(default_factory=dict)
    answers: dict[int, CampaignEvent] = field(default_factory=dict)
    retracted: dict[int, float] = field(default_factory=dict)
    _by_token: dict[str, ShownItem] = field(default_factory=dict)

    def add(self, events: Iterable[CampaignEvent]) -> None:
        for event in events:
            self._add(event)
            self.number = event.number

    def copy(self) -> CampaignLog:
        """The log as it is now. Read it in a thread while events are added to this one."""
        return replace(
            self,
            items=dict(self.items),
            answers=dict(self.answers),
            retracted=dict(self.retracted),
            _by_token=dict(self._by_token),
        )

    def with_events(self, events: Iterable[CampaignEvent]) -> CampaignLog:
        """A copy with further events. It may be made in a thread while this log is read."""
        log = self.copy()
        log.add(events)
        return log

    def _add(self, event: CampaignEvent) -> None:
        if event.kind == "item":
            shown = ShownItem(event, read_item(self.plan, event.body), touched=event.number)
            self.items[event.number] = self._by_token[shown.token] = shown
        elif event.kind == "undo":
            undone = self.answers[event.of or 0]
            self.retracted[undone.number] = event.time
            shown = self.items[undone.of or 0]
            shown.answer, shown.touched = None, event.number
        else:
            self.answers[event.number] = event
            shown = self.items[event.of or 0]
            shown.answer, shown.touched = event, event.number

    def item(self, token: str, rater_id: int) -> ShownItem | None:
        """The item with a token, if this rater was given it."""
        found = self._by_token.get(token)
        return found if found is not None and found.event.rater_id == rater_id else None

    def open_item(self, rater_id: int) -> ShownItem | None:
        """The item that a rater is to answer: the one that came, or came back, last."""
        mine = [one for one in self.items.values() if one.event.rater_id == rater_id and one.answer is None]
        return max(mine, key=lambda one: one.touched, default=None)

    def last_answer(self, rater_id: int) -> CampaignEvent | None:
        """The last rating or skip of a rater that was not taken back."""
        mine = [one for one in self.valid_answers() if one.rater_id == rater_id]
        return max(mine, key=lambda one: one.number, default=None)

    def valid_answers(self) -> Iterator[CampaignEvent]:
        """The ratings and skips that were not taken back."""
        return (event for event in self.answers.values() if event.number not in self.retracted)

    def done(self, rater_id: int) -> int:
        """The number of ratings of a rater, attention checks included."""
        return sum(one.rater_id == rater_id and one.kind == "rating" for one in self.valid_answers())

    def values(self, answer: CampaignEvent) -> tuple[float, ...]:
        """The values of a rating, one for each translation, from 0 to 1."""
        return rating_values(self.plan.kind, answer.body, self.items[answer.of or 0].item.texts)

    def state(self, now: float) -> CampaignState:
        """The state of the campaign. `now` tells which items are still waited for."""
        return CampaignState(self.plan, [self._turn(one, now) for one in self.items.values()])

    def _turn(self, one: ShownItem, now: float) -> RatingTurn:
        rater = self.rater_name(one.event.rater_id)
        if one.answer is None:
            return RatingTurn(rater, one.item, waiting=now < one.event.time + WAITING_SECONDS)
        if one.answer.kind == "skip":
            return RatingTurn(rater, one.item, skipped=True)
        return RatingTurn(rater, one.item, self.values(one.answer))

    def rater_name(self, rater_id: int) -> str:
        return self.raters[rater_id].name


@dataclass(frozen=True)
class RaterWork:
    """What a rater did. `seconds` is the median time of a rating; mean and spread are from 0 to 1."""

    name: str
    ratings: int = 0
    skipped: int = 0
    seconds: float | None = None
    mean: float | None = None
    spread: float | None = None
    passed: int = 0
    failed: int = 0
    last: float | None = None


def work_of(log: CampaignLog, state: CampaignState, raters: Sequence[StoredRater]) -> list[RaterWork]:
    """The work of some raters. Attention checks are counted apart."""
    statistics = state.status().raters
    answers: dict[int, list[CampaignEvent]] = {rater.id: [] for rater in raters}
    for event in log.valid_answers():
        if event.rater_id in answers:
            answers[event.rater_id].append(event)
    found = []
    for rater in raters:
        mine = answers[rater.id]
        ratings = [one for one in mine if one.kind == "rating"]
        checks = [one for one in ratings if log.items[one.of or 0].item.damaged is not None]
        passed = sum(log.items[one.of or 0].item.passed(log.values(one)) for one in checks)
        seconds = [one.body["seconds"] for one in ratings if one.body.get("seconds") is not None]
        of = statistics.get(rater.name)
        found.append(
            RaterWork(
                rater.name,
                len(ratings) - len(checks),
                len(mine) - len(ratings),
                median(seconds) if seconds else None,
                of.mean if of else None,
                of.standard_deviation if of else None,
                passed,
                len(checks) - passed,
                max((one.time for one in mine), default=None),
            )
        )
    return found


def item_body(item: RatingItem, token: str) -> dict[str, Any]:
    """An item as an event holds it: everything that was shown, and what the policy needs later."""
    choice = item.choice
    body: dict[str, Any] = {
        "token": token,
        "segment": int(item.segment),
        "translations": [asdict(one) for one in item.translations],
    }
    if choice is not None:
        body["choice"] = {
            "system": choice.system,
            "probability": choice.probability,
            "asked": choice.asked,
            "context": choice.context,
        }
    else:
        body |= {"damaged": item.damaged, "own_value": item.own_value}
    return body


def read_item(plan: CampaignPlan, body: Mapping[str, Any]) -> RatingItem:
    """The item that `item_body` wrote."""
    at = body["segment"] - 1
    shown = tuple(ShownTranslation(one["text"], tuple(one["systems"])) for one in body["translations"])
    reference = plan.references[at] if plan.references else ""
    choice = None if (saved := body.get("choice")) is None else _choice(saved, str(body["segment"]))
    checks = body.get("damaged"), body.get("own_value")
    return RatingItem(str(body["segment"]), plan.sources[at], shown, reference, choice, *checks)


def _choice(saved: Mapping[str, Any], segment: str) -> Choice:
    return Choice(saved["system"], saved["probability"], {}, tuple(saved["asked"]), segment, tuple(saved["context"]))
