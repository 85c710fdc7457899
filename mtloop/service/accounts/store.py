"""All SQL about participants, their keys, sessions and allowances."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from mtloop.core.errors import InputError
from mtloop.service.accounts.models import KeyOwner, Participant
from mtloop.service.accounts.tables import allowances, keys, participants, sessions
from mtloop.service.audit.models import Actor, utc
from mtloop.service.audit.store import record
from mtloop.service.database import CACHE_VERSION, Database, find_id, insert_row, invalidate_caches, name_exists

MAX_SESSIONS = 10  # of one key
_PARTICIPANT = (participants.c.id, participants.c.name, participants.c.organiser)
_BY_KEY = (
    sa.select(*_PARTICIPANT, CACHE_VERSION.label("version"), keys.c.expires)
    .join(keys, keys.c.participant_id == participants.c.id)
    .where(keys.c.hash == sa.bindparam("hash"), keys.c.revoked.is_(None))
)


class AccountStore:
    """Participants in the database. Only hashes of keys and sessions are stored.

    `by` is who acts, for the audit log; without it, the user who runs this process.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._use_allowance = self._upsert_allowance()

    async def add_participant(
        self,
        name: str,
        key_hash: str,
        organiser: bool = False,
        expires: float | None = None,
        by: Actor | None = None,
    ) -> Participant:
        row = {"name": name, "organiser": organiser, "created": time.time()}
        async with self._database.writing() as connection:
            if await name_exists(connection, participants, name):
                raise InputError(f"participant {name!r} exists already; for a new key: mtloop participant rotate")
            number = await insert_row(connection, participants, row)
            await _add_key(connection, number, key_hash, expires)
            await record(connection, by, "participant.add", name, {"organiser": organiser} | _shown(expires))
        return Participant(number, name, organiser)

    async def rotate_key(self, name: str, key_hash: str, expires: float | None = None, by: Actor | None = None) -> None:
        """Revoke all keys of a participant and add a new one."""
        async with self._database.writing() as connection:
            number = await find_id(connection, "participant", participants, name)
            await _revoke(connection, number)
            await _add_key(connection, number, key_hash, expires)
            await record(connection, by, "participant.rotate", name, _shown(expires))

    async def revoke_keys(self, name: str, by: Actor | None = None) -> int:
        """Revoke all keys of a participant. Return how many there were."""
        async with self._database.writing() as connection:
            count = await _revoke(connection, await find_id(connection, "participant", participants, name))
            if count:
                await record(connection, by, "participant.revoke", name, {"keys": count})
        return count

    async def renew_keys(self, name: str, expires: float | None, by: Actor | None = None) -> int:
        """Give the keys of a participant another time to expire, those that have expired too. Return how many."""
        async with self._database.writing() as connection:
            number = await find_id(connection, "participant", participants, name)
            there = sa.select(sa.func.count()).select_from(keys).where(_not_revoked(number))
            count = int((await connection.execute(there)).scalar_one())
            others = sa.update(keys).where(_not_revoked(number), keys.c.expires.is_distinct_from(expires))
            changed = (await connection.execute(others.values(expires=expires))).rowcount
            if changed:
                await invalidate_caches(connection)
                await record(connection, by, "participant.renew", name, {"keys": changed} | _shown(expires))
        return count

    async def find_participant(self, name: str) -> Participant | None:
        columns = participants.c.id, participants.c.name, participants.c.organiser
        row = await self._database.row(sa.select(*columns).where(participants.c.name == name))
        return None if row is None else Participant(*row)

    async def participant(self, participant_id: int) -> Participant | None:
        columns = participants.c.id, participants.c.name, participants.c.organiser
        row = await self._database.row(sa.select(*columns).where(participants.c.id == participant_id))
        return None if row is None else Participant(*row)

    async def participant_list(self, skipped: int = 0, limit: int | None = None) -> list[dict[str, Any]]:
        """The participants by name, each with the number of valid keys, and the time when the last of them expires.

        `skipped` of them come before; at most `limit` are returned.
        """
        valid = sa.and_(keys.c.participant_id == participants.c.id, keys.c.revoked.is_(None))
        unexpired = sa.and_(valid, _unexpired(time.time()))
        never = sa.select(keys.c.hash).where(valid, keys.c.expires.is_(None)).exists()
        last = sa.select(sa.func.max(keys.c.expires)).where(valid, ~never).scalar_subquery()
        count = sa.select(sa.func.count()).select_from(keys).where(unexpired).scalar_subquery()
        query = sa.select(participants, count.label("keys"), last.label("expires")).order_by(participants.c.name)
        query = query.offset(skipped).limit(limit)
        return [dict(row._mapping) for row in await self._database.rows(query)]

    async def key_list(self, name: str | None = None) -> list[dict[str, Any]]:
        """The keys of all participants or of one, each with the first digits of its hash, the oldest first."""
        columns = (participants.c.name, keys.c.hash, keys.c.created, keys.c.expires, keys.c.revoked)
        query = sa.select(*columns).join(participants, participants.c.id == keys.c.participant_id)
        if name is not None:
            async with self._database.reading() as connection:
                query = query.where(participants.c.id == await find_id(connection, "participant", participants, name))
        rows = await self._database.rows(query.order_by(participants.c.name, keys.c.created))
        return [dict(row._mapping) | {"hash": row.hash[:8]} for row in rows]

    async def key_owner(self, key_hash: str) -> KeyOwner | None:
        """The owner of a key that is not revoked. The key may have expired."""
        row = await self._database.row(_BY_KEY, {"hash": key_hash})
        return None if row is None else KeyOwner(Participant(*row[:3]), row.version, row.expires)

    async def add_session(self, session_hash: str, key_hash: str, expires: float) -> None:
        """Add a session. A key has at most `MAX_SESSIONS`: the oldest ones end."""
        async with self._database.writing() as connection:
            owner = sa.select(keys.c.hash).where(keys.c.hash == key_hash).with_for_update()
            await connection.execute(owner)  # locked: two sign-ins at the same time must not both see the last place
            await connection.execute(sa.delete(sessions).where(sessions.c.expires < time.time()))
            of_key = sessions.c.key_hash == key_hash
            newest = sa.select(sessions.c.hash).where(of_key).order_by(sessions.c.expires.desc(), sessions.c.hash)
            kept = newest.limit(MAX_SESSIONS - 1).scalar_subquery()
            await connection.execute(sa.delete(sessions).where(of_key, sessions.c.hash.not_in(kept)))
            row = {"hash": session_hash, "key_hash": key_hash, "expires": expires}
            await connection.execute(sa.insert(sessions), row)

    async def session(self, session_hash: str) -> Participant | None:
        """Who is signed in. None once the session or its key has expired, or the key is revoked."""
        now = time.time()
        query = (
            sa.select(*_PARTICIPANT)
            .join(keys, keys.c.participant_id == participants.c.id)
            .join(sessions, sessions.c.key_hash == keys.c.hash)
            .where(sessions.c.hash == session_hash, sessions.c.expires > now, keys.c.revoked.is_(None), _unexpired(now))
        )
        row = await self._database.row(query)
        return None if row is None else Participant(row.id, row.name, row.organiser)

    async def session_key(self, session_hash: str) -> str | None:
        """The hash of the key with which a session began. None once the session has expired."""
        mine = sa.and_(sessions.c.hash == session_hash, sessions.c.expires > time.time())
        row = await self._database.row(sa.select(sessions.c.key_hash).where(mine))
        return None if row is None else str(row.key_hash)

    async def end_session(self, session_hash: str) -> None:
        async with self._database.writing() as connection:
            await connection.execute(sa.delete(sessions).where(sessions.c.hash == session_hash))

    async def take_requests(
        self, participant_id: int, period_seconds: int, period: int, wanted: int, limit: int
    ) -> tuple[int, int]:
        """Take up to `wanted` requests from the allowance of a period. Return how many were left, and of what period.

        A period never goes back: if the stored one is later, because a clock was set back, it stays the current one.
        """
        row = {"participant_id": participant_id, "period_seconds": period_seconds, "period": period, "used": wanted}
        async with self._database.writing() as connection:
            used, current = (await connection.execute(self._use_allowance, row)).one()
            taken = int(max(0, min(wanted, limit - (used - wanted))))
            if taken < wanted:  # the row is locked: `used` never exceeds the limit for others
                await connection.execute(_less_used(participant_id, period_seconds, current, wanted - taken))
        return taken, int(current)

    async def return_requests(self, unused: Iterable[tuple[int, int, int, int]]) -> None:
        """Give requests that were taken but not served back: participant, seconds of the period, period, count.

        A period that is over is left alone. Sorted rows, so that two workers never wait for each other.
        """
        async with self._database.writing() as connection:
            for one in unused:
                await connection.execute(_less_used(*one))

    async def valid_hashes(self) -> set[str]:
        """The hashes of all keys and sessions that are valid now."""
        now = time.time()
        valid = sa.and_(keys.c.revoked.is_(None), _unexpired(now))
        of_sessions = sa.select(sessions.c.hash).join(keys, keys.c.hash == sessions.c.key_hash)
        query = sa.union_all(sa.select(keys.c.hash).where(valid), of_sessions.where(valid, sessions.c.expires > now))
        return {row.hash for row in await self._database.rows(query)}

    def _upsert_allowance(self) -> Any:
        new = self._database.insert(allowances)
        later = new.excluded.period > allowances.c.period
        used = sa.case((later, new.excluded.used), else_=allowances.c.used + new.excluded.used)
        changes = {"used": used, "period": sa.case((later, new.excluded.period), else_=allowances.c.period)}
        key = [allowances.c.participant_id, allowances.c.period_seconds]
        upsert = new.on_conflict_do_update(index_elements=key, set_=changes)
        return upsert.returning(allowances.c.used, allowances.c.period)


def _less_used(participant_id: int, period_seconds: int, period: int, count: int) -> sa.Update:
    of_period = (allowances.c.period_seconds == period_seconds, allowances.c.period == period)
    return (
        sa.update(allowances)
        .where(allowances.c.participant_id == participant_id, *of_period)
        .values(used=allowances.c.used - count)
    )


def _unexpired(now: float) -> sa.ColumnElement[bool]:
    return sa.or_(keys.c.expires.is_(None), keys.c.expires > now)


def _not_revoked(participant_id: int) -> sa.ColumnElement[bool]:
    return sa.and_(keys.c.participant_id == participant_id, keys.c.revoked.is_(None))


def _shown(expires: float | None) -> dict[str, str | None]:
    return {"expires": None if expires is None else utc(expires)}


async def _add_key(connection: AsyncConnection, participant_id: int, key_hash: str, expires: float | None) -> None:
    row = {"hash": key_hash, "participant_id": participant_id, "created": time.time(), "expires": expires}
    await connection.execute(sa.insert(keys), row)
    await invalidate_caches(connection)


async def _revoke(connection: AsyncConnection, participant_id: int) -> int:
    changed = sa.update(keys).where(_not_revoked(participant_id)).values(revoked=time.time())
    result = await connection.execute(changed)
    await invalidate_caches(connection)
    return int(result.rowcount)
