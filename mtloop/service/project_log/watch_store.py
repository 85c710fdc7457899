"""All SQL for clients that watch projects: one look at all of them together."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass

import sqlalchemy as sa

from mtloop.service.accounts.tables import keys, participants
from mtloop.service.database import Database
from mtloop.service.project_log.tables import project_members, projects


@dataclass(frozen=True)
class WatchedState:
    """The number of each project's newest event, and who may see it: members and organisers, by the hash of a key."""

    numbers: dict[int, int]
    members: frozenset[tuple[int, str]]
    organisers: frozenset[str]

    def allows(self, project_id: int, key: str) -> bool:
        return key in self.organisers or (project_id, key) in self.members


class WatchStore:
    """Reads the state of projects that somebody watches."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def look(self, project_ids: Collection[int], key_hashes: Collection[str]) -> WatchedState:
        """The state of these projects, as far as these keys may see it."""
        numbers = sa.select(projects.c.id, projects.c.number).where(projects.c.id.in_(project_ids))
        valid = sa.and_(
            keys.c.hash.in_(key_hashes),
            keys.c.revoked.is_(None),
            sa.or_(keys.c.expires.is_(None), keys.c.expires > time.time()),
        )
        members = (
            sa.select(project_members.c.project_id, keys.c.hash)
            .join(keys, keys.c.participant_id == project_members.c.participant_id)
            .where(valid, project_members.c.project_id.in_(project_ids))
        )
        organisers = (
            sa.select(keys.c.hash)
            .join(participants, participants.c.id == keys.c.participant_id)
            .where(valid, participants.c.organiser)
        )
        async with self._database.reading() as connection:
            found = [(await connection.execute(query)).all() for query in (numbers, members, organisers)]
        return WatchedState(
            {row.id: row.number for row in found[0]},
            frozenset((row.project_id, row.hash) for row in found[1]),
            frozenset(row.hash for row in found[2]),
        )
