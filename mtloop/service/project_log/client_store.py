"""All SQL about what clients of compatible APIs keep in a project: memories, files, uploads, webhooks."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from mtloop.service.accounts.models import Participant
from mtloop.service.accounts.tables import keys, participants
from mtloop.service.audit.models import Actor
from mtloop.service.audit.store import record
from mtloop.service.database import Database, in_list, insert_row
from mtloop.service.project_log.models import ProjectGone, TooManyFiles, TooManyMemories, TranslationProject
from mtloop.service.project_log.store import keep_project, lock_project
from mtloop.service.project_log.tables import (
    project_deliveries,
    project_events,
    project_files,
    project_memories,
    project_uploads,
    project_webhooks,
)

_MEMORY = tuple(project_memories.c)
_FILE_BYTES = sa.func.coalesce(sa.func.length(project_files.c.result), project_files.c.characters)
_E: Any = project_events.alias("correction").c
MEMORY_DOCUMENT = "memory/"  # with the id of a memory: the document of its corrections
FILE_SECONDS = 86_400  # a translated file is kept so long
MAX_FILES = 100  # of a project
MAX_MEMORIES = 1_000  # of a project; it has at most as many uploads, which are memories of another API


@dataclass(frozen=True)
class TranslationMemory:
    """A name for some corrections of a project."""

    id: int
    project_id: int
    name: str
    description: str
    external_id: str | None
    created: float

    @property
    def document(self) -> str:
        """The document of its corrections."""
        return f"{MEMORY_DOCUMENT}{self.id}"


@dataclass(frozen=True)
class StoredFile:
    """A file that is translated as a whole."""

    token: str
    project_id: int
    key_hash: str
    name: str
    status: str
    characters: int
    result: bytes | None
    error: str
    created: float


@dataclass(frozen=True)
class StoredUpload:
    """A translation memory that a client uploads. `first` and `last` are the numbers of its corrections."""

    job: str
    address_hash: str
    project_id: int
    participant_id: int
    name: str
    status: str
    first: int | None
    last: int | None
    error: str
    expires: float
    created: float


@dataclass(frozen=True)
class StoredWebhook:
    """The secret of a project's webhook, who made it and when. It works while the key it was made with is valid."""

    secret: str
    participant: Participant
    created: float
    works: bool


def _valid_key_of_webhook(now: float) -> sa.ColumnElement[bool]:
    """Whether the key with which a webhook was made is valid. A newer key of the same participant does not count."""
    older = sa.and_(
        keys.c.participant_id == project_webhooks.c.participant_id, keys.c.created <= project_webhooks.c.created
    )
    unexpired = sa.or_(keys.c.expires.is_(None), keys.c.expires > now)
    return sa.select(keys.c.hash).where(older, keys.c.revoked.is_(None), unexpired).exists()


def _newest_undo_or_redo() -> sa.ColumnElement[str]:
    """The kind of the newest undo or redo of a correction; `redo` if there is none."""
    later: Any = project_events.alias().c
    about = sa.and_(later.project_id == _E.project_id, later.of == _E.number, later.kind.in_(("undo", "redo")))
    newest = sa.select(later.kind).where(about).order_by(later.number.desc()).limit(1).scalar_subquery()
    return sa.func.coalesce(newest, "redo")


class ClientStore:
    """What clients of compatible APIs keep in the database, beside the corrections."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # Memories

    async def memories(self, *project_ids: int) -> list[TranslationMemory]:
        """The memories of these projects."""
        query = sa.select(*_MEMORY).where(in_list(project_memories.c.project_id)).order_by(project_memories.c.id)
        return [TranslationMemory(*row) for row in await self._database.rows(query, {"ids": list(project_ids)})]

    async def corrections_of(self, memory: TranslationMemory, after: int, limit: int) -> list[int]:
        """The numbers of corrections of a memory that are not undone, the oldest first, after a number."""
        mine = sa.and_(_E.project_id == memory.project_id, _E.number > after, _E.kind == "confirm")
        its = sa.and_(mine, _E.body["document"].as_string() == memory.document, _newest_undo_or_redo() != "undo")
        rows = await self._database.rows(sa.select(_E.number).where(its).order_by(_E.number).limit(limit))
        return [int(row.number) for row in rows]

    async def newest_confirmation(self, project_id: int, segment: str) -> int | None:
        """The number of the newest confirmation of a segment, by its key, that is neither refused nor undone."""
        mine = sa.and_(_E.project_id == project_id, _E.segment == segment, _E.kind == "confirm")
        counts = sa.and_(_E.body["refused"].as_string() == "", _newest_undo_or_redo() != "undo")
        query = sa.select(_E.number).where(mine, counts)
        row = await self._database.row(query.order_by(_E.number.desc()).limit(1))
        return None if row is None else int(row.number)

    async def add_memory(
        self, project_id: int, name: str, description: str = "", external_id: str | None = None
    ) -> TranslationMemory | None:
        """Make a memory, or find the one with this external id. None: the project does not exist any more.

        Raise TooManyMemories if it has `MAX_MEMORIES` already.
        """
        row: dict[str, Any] = {"project_id": project_id, "name": name, "description": description}
        row |= {"external_id": external_id, "created": time.time()}
        async with self._database.writing() as connection:
            if not await lock_project(connection, project_id):
                return None
            known = sa.select(*_MEMORY).where(
                project_memories.c.project_id == project_id, project_memories.c.external_id == external_id
            )
            found = (await connection.execute(known)).first() if external_id is not None else None
            if found is not None:
                return TranslationMemory(*found)
            mine = sa.select(sa.func.count()).where(project_memories.c.project_id == project_id)
            if (await connection.execute(mine)).scalar_one() >= MAX_MEMORIES:
                raise TooManyMemories
            number = await insert_row(connection, project_memories, row)
        return TranslationMemory(id=number, **row)

    async def change_memory(self, memory: TranslationMemory, name: str, description: str) -> None:
        changed = sa.update(project_memories).where(project_memories.c.id == memory.id)
        async with self._database.writing() as connection:
            await connection.execute(changed.values(name=name, description=description))

    async def delete_memory(self, memory: TranslationMemory) -> None:
        async with self._database.writing() as connection:
            await connection.execute(sa.delete(project_memories).where(project_memories.c.id == memory.id))

    # Files

    async def add_file(self, file: StoredFile, most_bytes: int = 0) -> bool:
        """Store a file, and delete old ones. False: the project does not exist any more.

        Raise TooManyFiles if the files of the project would take more than `most_bytes`; 0: no limit.
        """
        await self._delete_old_files()
        mine = project_files.c.project_id == file.project_id
        newest = sa.select(project_files.c.token).where(mine).order_by(project_files.c.created.desc())
        superfluous = project_files.c.token.in_(newest.offset(MAX_FILES - 1).limit(MAX_FILES))
        async with self._database.writing() as connection:
            if not await lock_project(connection, file.project_id):
                return False
            await connection.execute(sa.delete(project_files).where(mine, superfluous))
            stored = (await connection.execute(sa.select(sa.func.sum(_FILE_BYTES)).where(mine))).scalar_one() or 0
            if most_bytes and stored + max(len(file.result or b""), file.characters) > most_bytes:
                raise TooManyFiles
            await connection.execute(sa.insert(project_files), vars(file))
        return True

    async def _delete_old_files(self) -> None:
        """Delete the files of all projects that are kept no longer. Each transaction changes one project."""
        old = project_files.c.created < time.time() - FILE_SECONDS
        for row in await self._database.rows(sa.select(project_files.c.project_id).where(old).distinct()):
            async with self._database.writing() as connection:
                await lock_project(connection, row.project_id)
                await connection.execute(
                    sa.delete(project_files).where(old, project_files.c.project_id == row.project_id)
                )

    async def file(self, token: str) -> StoredFile | None:
        row = await self._database.row(sa.select(*project_files.c).where(project_files.c.token == token))
        return None if row is None else StoredFile(*row)

    async def change_file(self, token: str, **values: Any) -> None:
        async with self._database.writing() as connection:
            await connection.execute(sa.update(project_files).where(project_files.c.token == token).values(**values))

    # Uploads

    async def add_upload(self, upload: StoredUpload) -> bool:
        """Store an upload that is to come. False: the project does not exist any more.

        Raise TooManyMemories if it has `MAX_MEMORIES` already.
        """
        mine = sa.select(sa.func.count()).where(project_uploads.c.project_id == upload.project_id)
        async with self._database.writing() as connection:
            if not await lock_project(connection, upload.project_id):
                return False
            if (await connection.execute(mine)).scalar_one() >= MAX_MEMORIES:
                raise TooManyMemories
            await connection.execute(sa.insert(project_uploads), vars(upload))
        return True

    async def take_upload(self, address_hash: str, awaited: str, taken: str) -> StoredUpload | None:
        """The upload of an address, which works once: its status becomes `taken`. None: it is unknown, used or late."""
        mine = project_uploads.c.address_hash == address_hash
        fresh = sa.and_(mine, project_uploads.c.status == awaited, project_uploads.c.expires > time.time())
        async with self._database.writing() as connection:
            result = await connection.execute(sa.update(project_uploads).where(fresh).values(status=taken))
            if result.rowcount != 1:
                return None
            row = (await connection.execute(sa.select(*project_uploads.c).where(mine))).one()
        return StoredUpload(*row)

    async def change_upload(self, job: str, **values: Any) -> None:
        async with self._database.writing() as connection:
            await connection.execute(sa.update(project_uploads).where(project_uploads.c.job == job).values(**values))

    async def uploads(self, *project_ids: int) -> Sequence[StoredUpload]:
        """The uploads of these projects, the oldest first."""
        mine = in_list(project_uploads.c.project_id)
        query = sa.select(*project_uploads.c).where(mine).order_by(project_uploads.c.created)
        return [StoredUpload(*row) for row in await self._database.rows(query, {"ids": list(project_ids)})]

    async def delete_old_uploads(self, project_id: int, statuses: Sequence[str], expired_before: float) -> None:
        """Delete the uploads of a project that have one of these statuses and expired before a time."""
        old = sa.and_(project_uploads.c.project_id == project_id, project_uploads.c.expires < expired_before)
        async with self._database.writing() as connection:
            await connection.execute(sa.delete(project_uploads).where(old, project_uploads.c.status.in_(statuses)))

    async def delete_upload(self, job: str) -> None:
        async with self._database.writing() as connection:
            await connection.execute(sa.delete(project_uploads).where(project_uploads.c.job == job))

    # Webhooks

    async def set_webhook(self, project: TranslationProject, secret: str, participant_id: int, by: Actor) -> None:
        """Store the secret of a project; it replaces an earlier one. Raise ProjectGone if there is no such project."""
        row: Mapping[str, Any] = {
            "project_id": project.id,
            "secret": secret,
            "participant_id": participant_id,
            "created": time.time(),
        }
        async with self._database.writing() as connection:
            if not await lock_project(connection, project.id):
                raise ProjectGone
            await connection.execute(sa.delete(project_webhooks).where(project_webhooks.c.project_id == project.id))
            await connection.execute(sa.insert(project_webhooks), row)
            await record(connection, by, "project.webhook", project.name, {"set": True})

    async def webhook(self, project_id: int) -> StoredWebhook | None:
        """The secret of a project, and the participant in whose name it teaches."""
        works = _valid_key_of_webhook(time.time()).label("works")
        participant = participants.c.id, participants.c.name, participants.c.organiser
        query = (
            sa.select(project_webhooks.c.secret, project_webhooks.c.created, works, *participant)
            .join(participants, participants.c.id == project_webhooks.c.participant_id)
            .where(project_webhooks.c.project_id == project_id)
        )
        row = await self._database.row(query)
        if row is None:
            return None
        return StoredWebhook(row.secret, Participant(row.id, row.name, row.organiser), row.created, bool(row.works))

    async def delete_webhook(self, project: TranslationProject, by: Actor) -> None:
        """Delete the secret of a project, if there is one."""
        mine = project_webhooks.c.project_id == project.id
        async with self._database.writing() as connection:
            result = await connection.execute(sa.delete(project_webhooks).where(mine))
            if result.rowcount:
                await record(connection, by, "project.webhook", project.name, {"set": False})

    async def has_delivery(self, project_id: int, delivery: str) -> bool:
        """Whether a delivery was noted."""
        mine = project_deliveries.c.project_id == project_id, project_deliveries.c.delivery == delivery
        return await self._database.row(sa.select(project_deliveries.c.time).where(*mine)) is not None

    async def add_delivery(self, project_id: int, delivery: str, keep_seconds: float) -> bool:
        """Note a delivery, and forget those that are older than `keep_seconds`.

        False: it came before, or the project does not exist any more.
        """
        now = time.time()
        insert = self._database.insert(project_deliveries).on_conflict_do_nothing()
        async with self._database.writing() as connection:
            if not await keep_project(connection, project_id):
                return False
            old = sa.and_(project_deliveries.c.project_id == project_id, project_deliveries.c.time < now - keep_seconds)
            await connection.execute(sa.delete(project_deliveries).where(old))
            row = {"project_id": project_id, "delivery": delivery, "time": now}
            result = await connection.execute(insert.values(**row))
        return bool(result.rowcount)
