"""What raters and organisers do in a campaign. A worker keeps the logs of the campaigns that it served last.

A call reads the events that are new, decides, and stores its own event if no other came meanwhile; else it decides
again. In one worker the calls of a campaign wait for each other.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mtloop.selection.campaign_plan import CampaignPlan
from mtloop.selection.campaign_state import CampaignState
from mtloop.selection.item_selection import ItemSelection
from mtloop.selection.rating_kinds import rating_values
from mtloop.service.accounts.keys import hash_key, new_token
from mtloop.service.cache import LRUCache
from mtloop.service.campaigns.campaign_log import CampaignLog, ShownItem, item_body
from mtloop.service.campaigns.models import CampaignGone, NewEvent, StoredCampaign, StoredRater
from mtloop.service.campaigns.store import CampaignStore
from mtloop.service.problems import (
    CAMPAIGN_STOPPED,
    NOTHING_TO_UNDO,
    RATED_ALREADY,
    UNKNOWN_CAMPAIGN,
    UNKNOWN_ITEM,
    UNKNOWN_RATING_LINK,
    ProblemError,
)

MAX_CAMPAIGNS = 20  # in the memory of a worker
FEW_EVENTS = 100  # are added to a log in the event loop; more of them in a thread
STATE_SECONDS = 60  # after that, a state is made again: items that nobody answered are given to others
_KEPT = ("scores", "thumbs", "better", "spans")


@dataclass
class _Opened:
    """A campaign in the memory of a worker; `state_of` is the number of its state and when it was made."""

    log: CampaignLog
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    state: CampaignState | None = None
    state_of: tuple[int, float] = (-1, 0.0)


@dataclass(frozen=True)
class RaterProgress:
    """How far a rater is. `left` is None if a stopping rule decides how much is rated; `target` is the least number."""

    done: int
    left: int | None
    target: int

    def to_json(self) -> dict[str, Any]:
        return {"done": self.done, "left": self.left, "target": self.target}


class Campaigns:
    """The campaigns of a worker."""

    def __init__(self, store: CampaignStore, clock: Callable[[], float] = time.time) -> None:
        self._store, self._clock = store, clock
        self._opened: LRUCache[int, _Opened] = LRUCache(MAX_CAMPAIGNS)

    async def rater(self, token: str) -> tuple[StoredCampaign, StoredRater]:
        """The rater whose link has this token, and the campaign. A wrong token raises the problem 404."""
        rater = await self._store.rater_by_token(hash_key(token))
        campaign = None if rater is None else await self._store.by_id(rater.campaign_id)
        if rater is None or campaign is None:
            raise ProblemError(UNKNOWN_RATING_LINK)
        return campaign, rater

    async def plan(self, campaign: StoredCampaign) -> CampaignPlan:
        """The plan of a campaign, which was read once. Raise the problem 404 if the campaign was deleted meanwhile."""
        return (await self._current(campaign)).log.plan

    async def log(self, campaign: StoredCampaign) -> CampaignLog:
        """The log of a campaign with all events so far. It does not change any more."""
        return (await self._current(campaign)).log.copy()

    async def state(self, campaign: StoredCampaign) -> CampaignState:
        """The state of a campaign."""
        _, state = await self._opened_state(campaign)
        return state

    async def log_and_state(self, campaign: StoredCampaign) -> tuple[CampaignLog, CampaignState]:
        """The log and the state of a campaign. The log does not change any more."""
        log, state = await self._opened_state(campaign)
        return log.copy(), state

    async def _opened_state(self, campaign: StoredCampaign) -> tuple[CampaignLog, CampaignState]:
        opened = await self._current(campaign)
        async with opened.lock:
            await self._refresh(opened, campaign)
            return opened.log, await self._state(opened)

    async def next(self, campaign: StoredCampaign, rater: StoredRater) -> ShownItem | None:
        """The item that a rater is to answer: the open one, or a new one. None: there is none."""
        opened = await self._current(campaign)
        async with opened.lock:
            while True:
                await self._refresh(opened, campaign)
                if (found := opened.log.open_item(rater.id)) is not None:
                    return found
                state = await self._state(opened)
                item = await asyncio.to_thread(ItemSelection(state, rater.name).next)
                if item is None:
                    return None
                event = NewEvent(rater.id, "item", body=item_body(item, new_token()))
                await self._append(opened, campaign, event)

    async def rate(
        self, campaign: StoredCampaign, rater: StoredRater, token: str, answer: Mapping[str, Any]
    ) -> RaterProgress:
        """Store a rating. The same rating of an item twice is one; another one raises the problem 409."""
        return await self._answer(campaign, rater, token, "rating", answer)

    async def skip(self, campaign: StoredCampaign, rater: StoredRater, token: str) -> RaterProgress:
        """Do not show an item to this rater again, unless it is undone."""
        return await self._answer(campaign, rater, token, "skip", {})

    async def undo(self, campaign: StoredCampaign, rater: StoredRater) -> RaterProgress:
        """Take back the last act of a rater, a rating or a skip. Its item comes again."""
        opened = await self._current(campaign)
        async with opened.lock:
            while True:
                await self._refresh(opened, campaign)
                last = opened.log.last_answer(rater.id)
                if last is None:
                    raise ProblemError(NOTHING_TO_UNDO)
                if await self._append(opened, campaign, NewEvent(rater.id, "undo", last.number)):
                    return await self._progress(opened, rater)

    async def progress(self, campaign: StoredCampaign, rater: StoredRater) -> RaterProgress:
        """How far a rater is."""
        opened = await self._current(campaign)
        async with opened.lock:
            return await self._progress(opened, rater)

    def forget(self, campaign_id: int) -> None:
        """The campaign was deleted."""
        self._opened.remove(campaign_id)

    async def _answer(
        self, campaign: StoredCampaign, rater: StoredRater, token: str, kind: Any, answer: Mapping[str, Any]
    ) -> RaterProgress:
        opened = await self._current(campaign)
        async with opened.lock:
            while True:
                await self._refresh(opened, campaign)
                shown = opened.log.item(token, rater.id)
                if shown is None:
                    raise ProblemError(UNKNOWN_ITEM)
                if kind == "rating":
                    rating_values(opened.log.plan.kind, answer, shown.item.texts)  # raises InputError
                if shown.answer is not None:
                    if shown.answer.kind != kind or _content(shown.answer.body) != _content(answer):
                        raise ProblemError(RATED_ALREADY)
                    return await self._progress(opened, rater)
                event = NewEvent(rater.id, kind, shown.event.number, answer)
                if await self._append(opened, campaign, event):
                    return await self._progress(opened, rater)

    async def _append(self, opened: _Opened, campaign: StoredCampaign, event: NewEvent) -> bool:
        """Store an event. False: others came first, or the campaign was stopped."""
        stored = await self._store.append(campaign.id, event, opened.log.number)
        if stored is None:
            await self._check_open(campaign.id)
            return False
        opened.log.add([stored])
        return True

    async def _check_open(self, campaign_id: int) -> None:
        now = await self._store.by_id(campaign_id)
        if now is None:
            self.forget(campaign_id)
            raise ProblemError(UNKNOWN_CAMPAIGN)
        if now.stopped:
            raise ProblemError(CAMPAIGN_STOPPED)

    async def _current(self, campaign: StoredCampaign) -> _Opened:
        found = self._opened.get(campaign.id)
        if found is None:
            try:
                text = await self._store.plan(campaign.id)
            except CampaignGone:
                raise ProblemError(UNKNOWN_CAMPAIGN) from None
            plan = await asyncio.to_thread(CampaignPlan.from_json, text)
            found = self._opened.get(campaign.id) or _Opened(CampaignLog(plan))
            self._opened.update({campaign.id: found})
        async with found.lock:
            await self._refresh(found, campaign)
        return found

    async def _refresh(self, opened: _Opened, campaign: StoredCampaign) -> None:
        """Read what other workers added."""
        events = await self._store.events_after(campaign.id, opened.log.number)
        if any(event.rater_id not in opened.log.raters for event in events) or not events:
            opened.log.raters = {rater.id: rater for rater in await self._store.raters(campaign.id)}
        if len(events) <= FEW_EVENTS:
            opened.log.add(events)
        else:  # a worker reads the whole log when it opens a campaign
            opened.log = await asyncio.to_thread(opened.log.with_events, events)

    async def _state(self, opened: _Opened) -> CampaignState:
        """The state after the newest event, computed once."""
        number, made = opened.state_of
        now = self._clock()
        if opened.state is None or number != opened.log.number or now >= made + STATE_SECONDS:
            state = await asyncio.to_thread(_computed, opened.log, now)
            opened.state, opened.state_of = state, (opened.log.number, now)
        return opened.state

    async def _progress(self, opened: _Opened, rater: StoredRater) -> RaterProgress:
        """How far a rater is. The caller holds the lock, so that the log does not change meanwhile."""
        plan, done, left = opened.log.plan, opened.log.done(rater.id), None
        if not plan.stops:
            state = await self._state(opened)
            left = await asyncio.to_thread(lambda: ItemSelection(state, rater.name).rounds_left())
        return RaterProgress(done, left, plan.min_per_rater)


def _computed(log: CampaignLog, now: float) -> CampaignState:
    """The state of a campaign with its verdict. A campaign of many ratings takes a while."""
    state = log.state(now)
    _ = state.verdict  # it is kept
    return state


def _content(body: Mapping[str, Any]) -> dict[str, Any]:
    """An answer without the time that it took."""
    return {name: body[name] for name in _KEPT if name in body}
