"""All SQL about the audit log."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from mtloop.service.audit.models import Actor, AuditEntry
from mtloop.service.audit.tables import audit
from mtloop.service.database import Database

MAX_ID = 2**63 - 1  # of a row in the database


async def record(
    connection: AsyncConnection,
    by: Actor | None,
    action: str,
    subject: str,
    detail: Mapping[str, Any] | None = None,
) -> None:
    """Add an entry in the transaction of the act itself: neither is stored without the other.

    Without an actor it is the user who runs this process.
    """
    who = by or Actor.of_process()
    row = {"time": time.time(), "actor": who.name, "via": who.via}
    row |= {"action": action, "subject": subject, "detail": dict(detail or {})}
    await connection.execute(sa.insert(audit), row)


class AuditStore:
    """The audit log in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def entries(self, limit: int, after: int | None = None) -> list[AuditEntry]:
        """At most `limit` entries, the newest first; with `after` the older ones that follow this id."""
        query = sa.select(audit).order_by(audit.c.id.desc()).limit(min(limit, MAX_ID))
        if after is not None:
            query = query.where(audit.c.id <= min(after - 1, MAX_ID))
        return [AuditEntry(**row._mapping) for row in await self._database.rows(query)]

    async def record(self, by: Actor | None, action: str, subject: str, detail: Mapping[str, Any]) -> None:
        """Add an entry about an act that changes nothing in the database."""
        async with self._database.writing() as connection:
            await record(connection, by, action, subject, detail)
