"""All SQL about participants, their keys, sessions and allowances."""

from __future__ import annotations

import time
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from mtloop.core.errors import InputError
from mtloop.service.accounts.models import Participant
from mtloop.service.accounts.tables import allowances, keys, participants, sessions
from mtloop.service.database import CACHE_VERSION, Database, find_id, insert_row, invalidate_caches, name_exists

_PARTICIPANT = (participants.c.id, participants.c.name, participants.c.organiser)
_BY_KEY = (
    sa.select(*_PARTICIPANT, CACHE_VERSION.label("version"))
    .join(keys, keys.c.participant_id == participants.c.id)
    .where(keys.c.hash == sa.bindparam("hash"), keys.c.revoked.is_(None))
)


class AccountStore:
    """Participants in the database. Only hashes of keys and sessions are stored."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._use_allowance = self._upsert_allowance()

    async def add_participant(self, name: str, key_hash: str, organiser: bool = False) -> Participant:
        row = {"name": name, "organiser": organiser, "created": time.time()}
        async with self._database.writing() as connection:
            if await name_exists(connection, participants, name):
                raise InputError(f"participant {name!r} exists already; for a new key: mtloop participant rotate")
            number = await insert_row(connection, participants, row)
            await _add_key(connection, number, key_hash)
        return Participant(number, name, organiser)

    async def rotate_key(self, name: str, key_hash: str) -> None:
        """Revoke all keys of a participant and add a new one."""
        async with self._database.writing() as connection:
            number = await find_id(connection, "participant", participants, name)
            await _revoke(connection, number)
            await _add_key(connection, number, key_hash)

    async def revoke_keys(self, name: str) -> int:
        """Revoke all keys of a participant. Return how many were valid."""
        async with self._database.writing() as connection:
            return await _revoke(connection, await find_id(connection, "participant", participants, name))

    async def participant_list(self) -> list[dict[str, Any]]:
        """Every participant with the number of valid keys."""
        valid = sa.select(sa.func.count()).where(keys.c.participant_id == participants.c.id, keys.c.revoked.is_(None))
        query = sa.select(participants, valid.scalar_subquery().label("keys")).order_by(participants.c.name)
        return [dict(row._mapping) for row in await self._database.rows(query)]

    async def participant(self, key_hash: str) -> tuple[Participant, int] | None:
        """The owner of a valid key, and the cache version at which this was read."""
        row = await self._database.row(_BY_KEY, {"hash": key_hash})
        return None if row is None else (Participant(row.id, row.name, row.organiser), row.version)

    async def add_session(self, session_hash: str, key_hash: str, expires: float) -> None:
        async with self._database.writing() as connection:
            await connection.execute(sa.delete(sessions).where(sessions.c.expires < time.time()))
            row = {"hash": session_hash, "key_hash": key_hash, "expires": expires}
            await connection.execute(sa.insert(sessions), row)

    async def session(self, session_hash: str) -> Participant | None:
        """Who is signed in. None once the session has expired or its key is revoked."""
        query = (
            sa.select(*_PARTICIPANT)
            .join(keys, keys.c.participant_id == participants.c.id)
            .join(sessions, sessions.c.key_hash == keys.c.hash)
            .where(sessions.c.hash == session_hash, sessions.c.expires > time.time(), keys.c.revoked.is_(None))
        )
        row = await self._database.row(query)
        return None if row is None else Participant(row.id, row.name, row.organiser)

    async def end_session(self, session_hash: str) -> None:
        async with self._database.writing() as connection:
            await connection.execute(sa.delete(sessions).where(sessions.c.hash == session_hash))

    async def take_requests(
        self, participant_id: int, period_seconds: int, period: int, wanted: int, limit: int
    ) -> int:
        """Take up to `wanted` requests from the allowance of a period. Return how many were left to take."""
        row = {"participant_id": participant_id, "period_seconds": period_seconds, "period": period, "used": wanted}
        async with self._database.writing() as connection:
            used = (await connection.execute(self._use_allowance, row)).scalar_one()
        return int(max(0, min(wanted, limit - (used - wanted))))

    def _upsert_allowance(self) -> Any:
        new = self._database.insert(allowances)
        same = allowances.c.period == new.excluded.period
        used = sa.case((same, allowances.c.used + new.excluded.used), else_=new.excluded.used)
        changes = {"used": used, "period": new.excluded.period}
        key = [allowances.c.participant_id, allowances.c.period_seconds]
        return new.on_conflict_do_update(index_elements=key, set_=changes).returning(allowances.c.used)


async def _add_key(connection: AsyncConnection, participant_id: int, key_hash: str) -> None:
    row = {"hash": key_hash, "participant_id": participant_id, "created": time.time()}
    await connection.execute(sa.insert(keys), row)
    await invalidate_caches(connection)


async def _revoke(connection: AsyncConnection, participant_id: int) -> int:
    valid = sa.and_(keys.c.participant_id == participant_id, keys.c.revoked.is_(None))
    result = await connection.execute(sa.update(keys).where(valid).values(revoked=time.time()))
    await invalidate_caches(connection)
    return int(result.rowcount)
