"""All SQL about rating campaigns.

An event takes the next number of its campaign in the transaction that stores it, if no other event came meanwhile. So
two raters at once never see the same state and act on it both.
"""

from __future__ import annotations

import time
from typing import Any

import sqlalchemy as sa

from mtloop.core.errors import InputError
from mtloop.service.audit.models import Actor
from mtloop.service.audit.store import record
from mtloop.service.campaigns.models import (
    CampaignEvent,
    CampaignGone,
    NewEvent,
    RaterExists,
    StoredCampaign,
    StoredRater,
)
from mtloop.service.campaigns.tables import campaign_events, campaign_raters, campaigns
from mtloop.service.database import Database, insert_row, name_exists

EVENTS_PER_QUERY = 500  # their JSON is read in the event loop: other requests have their turn between two queries
_CAMPAIGN = (campaigns.c.id, campaigns.c.name, campaigns.c.number, campaigns.c.stopped, campaigns.c.created)
_RATER = (campaign_raters.c.id, campaign_raters.c.campaign_id, campaign_raters.c.name, campaign_raters.c.created)
_E = campaign_events.c
_EVENT = (_E.number, _E.rater_id, _E.kind, _E.of, _E.body, _E.time)


class CampaignStore:
    """Campaigns in the database. `by` is who acts, for the audit log."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, name: str, plan: str, by: Actor | None = None) -> StoredCampaign:
        """Create a campaign. Raise InputError if there is one of this name."""
        row: dict[str, Any] = {"name": name, "number": 0, "stopped": False, "created": time.time()}
        async with self._database.writing() as connection:
            if await name_exists(connection, campaigns, name):
                raise InputError(f"there is a campaign {name!r} already; choose another name")
            number = await insert_row(connection, campaigns, row | {"plan": plan})
            await record(connection, by, "campaign.create", name)
        return StoredCampaign(number, **row)

    async def page(self, after: str, limit: int) -> list[StoredCampaign]:
        """Campaigns by name, after a name."""
        query = sa.select(*_CAMPAIGN).where(campaigns.c.name > after).order_by(campaigns.c.name).limit(limit)
        return [StoredCampaign(*row) for row in await self._database.rows(query)]

    async def by_name(self, name: str) -> StoredCampaign | None:
        row = await self._database.row(sa.select(*_CAMPAIGN).where(campaigns.c.name == name))
        return None if row is None else StoredCampaign(*row)

    async def by_id(self, campaign_id: int) -> StoredCampaign | None:
        row = await self._database.row(sa.select(*_CAMPAIGN).where(campaigns.c.id == campaign_id))
        return None if row is None else StoredCampaign(*row)

    async def plan(self, campaign_id: int) -> str:
        """The plan as JSON. Raise CampaignGone if the campaign does not exist any more."""
        row = await self._database.row(sa.select(campaigns.c.plan).where(campaigns.c.id == campaign_id))
        if row is None:
            raise CampaignGone
        return str(row.plan)

    async def set_stopped(self, campaign: StoredCampaign, stopped: bool, by: Actor) -> None:
        """Stop or resume a campaign."""
        async with self._database.writing() as connection:
            changed = sa.update(campaigns).where(campaigns.c.id == campaign.id).values(stopped=stopped)
            if (await connection.execute(changed)).rowcount:
                await record(connection, by, "campaign.change", campaign.name, {"stopped": stopped})

    async def delete(self, campaign: StoredCampaign, by: Actor) -> None:
        """Delete a campaign with its raters and ratings."""
        async with self._database.writing() as connection:
            gone = await connection.execute(sa.delete(campaigns).where(campaigns.c.id == campaign.id))
            if gone.rowcount:
                await record(connection, by, "campaign.delete", campaign.name)

    # Raters

    async def add_rater(
        self, campaign: StoredCampaign, name: str, token_hash: str, by: Actor, renew: bool = False
    ) -> StoredRater:
        """Add a rater with a link, or renew the link of a known one; the old link then works no longer.

        Raise RaterExists if the rater is known and `renew` is off, and CampaignGone if there is no such campaign.
        """
        mine = sa.and_(campaign_raters.c.campaign_id == campaign.id, campaign_raters.c.name == name)
        async with self._database.writing() as connection:
            lock = sa.update(campaigns).where(campaigns.c.id == campaign.id).values(number=campaigns.c.number)
            if not (await connection.execute(lock)).rowcount:
                raise CampaignGone
            known = (await connection.execute(sa.select(*_RATER).where(mine))).first()
            if known is not None and not renew:
                raise RaterExists
            if known is not None:
                await connection.execute(sa.update(campaign_raters).where(mine).values(token_hash=token_hash))
                rater = StoredRater(*known)
            else:
                row = {"campaign_id": campaign.id, "name": name, "created": time.time()}
                number = await insert_row(connection, campaign_raters, row | {"token_hash": token_hash})
                rater = StoredRater(id=number, **row)  # type: ignore[arg-type]
            await record(connection, by, "campaign.rater", campaign.name, {"rater": name, "renewed": known is not None})
        return rater

    async def raters(self, campaign_id: int) -> list[StoredRater]:
        """The raters of a campaign, in the order in which they were added."""
        query = sa.select(*_RATER).where(campaign_raters.c.campaign_id == campaign_id).order_by(campaign_raters.c.id)
        return [StoredRater(*row) for row in await self._database.rows(query)]

    async def rater_by_token(self, token_hash: str) -> StoredRater | None:
        row = await self._database.row(sa.select(*_RATER).where(campaign_raters.c.token_hash == token_hash))
        return None if row is None else StoredRater(*row)

    async def valid_hashes(self) -> set[str]:
        """The hashes of all links of raters."""
        return {row.token_hash for row in await self._database.rows(sa.select(campaign_raters.c.token_hash))}

    # Events

    async def events_after(self, campaign_id: int, number: int) -> list[CampaignEvent]:
        """All events after a number, in order."""
        found: list[CampaignEvent] = []
        while True:
            after = found[-1].number if found else number
            query = sa.select(*_EVENT).where(_E.campaign_id == campaign_id, _E.number > after)
            rows = await self._database.rows(query.order_by(_E.number).limit(EVENTS_PER_QUERY))
            found += [CampaignEvent(*row) for row in rows]
            if len(rows) < EVENTS_PER_QUERY:
                return found

    async def append(self, campaign_id: int, event: NewEvent, after: int) -> CampaignEvent | None:
        """Store an event, if `after` is still the newest number of a campaign that is not stopped. None: it is not."""
        unchanged = sa.and_(campaigns.c.id == campaign_id, campaigns.c.number == after, ~campaigns.c.stopped)
        row = {"number": after + 1, **vars(event), "body": dict(event.body), "time": time.time()}
        async with self._database.writing() as connection:
            taken = await connection.execute(sa.update(campaigns).where(unchanged).values(number=after + 1))
            if taken.rowcount != 1:
                return None
            await connection.execute(sa.insert(campaign_events), row | {"campaign_id": campaign_id})
        return CampaignEvent(**row)
