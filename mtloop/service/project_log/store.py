"""All SQL about projects: their members, events, open proposals and snapshots.

An event takes the next number of its project in the transaction that stores it. The row of the project is locked
meanwhile, so numbers have no gaps and their order is the order of the commits.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from mtloop.core.errors import InputError
from mtloop.core.serialisation import decode, encode
from mtloop.core.types import Proposal
from mtloop.service.accounts.tables import participants
from mtloop.service.audit.models import Actor
from mtloop.service.audit.store import record
from mtloop.service.database import Database, find_id, in_list, insert_row, name_exists
from mtloop.service.project_log.event_log import (
    Configured,
    Confirmed,
    Event,
    GlossaryChanged,
    Rated,
    event_body,
    event_kind,
    read_event,
)
from mtloop.service.project_log.models import (
    LastOrganiser,
    ProjectFull,
    ProjectGone,
    Role,
    SnapshotInfo,
    StoredEvent,
    StoredGlossary,
    TooManyProjects,
    TranslationProject,
)
from mtloop.service.project_log.tables import (
    project_events,
    project_members,
    project_proposals,
    project_snapshots,
    projects,
)

EVENTS_PER_QUERY = 1000
RECENT_EVENTS = 200
ROWS_PER_UPDATE = 300
MAX_PROPOSALS = 10_000  # open proposals of a project; the oldest are dropped
HIDDEN = "."  # begins the name of a copy that is not complete. No name of a project begins with it.
_DUPLICATES = ("SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY", "23505")
_PROJECT_COLUMNS = tuple(column for column in projects.c if column.name != "proposals")
_EVENTS = project_events.c
_BY_NUMBER = (
    sa.select(_EVENTS.number, _EVENTS.kind, _EVENTS.body)
    .where(_EVENTS.project_id == sa.bindparam("project"), _EVENTS.number > sa.bindparam("after"))
    .order_by(_EVENTS.number)
    .limit(EVENTS_PER_QUERY)
)
_ROLE = (
    sa.select(*_PROJECT_COLUMNS, project_members.c.role)
    .join(
        project_members,
        sa.and_(
            project_members.c.project_id == projects.c.id,
            project_members.c.participant_id == sa.bindparam("participant"),
        ),
        isouter=True,
    )
    .where(projects.c.name == sa.bindparam("name"))
)


class ProjectStore:
    """Projects in the database. `by` is who acts, for the audit log; without it, the user who runs this process."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # Projects and members

    async def create(
        self,
        name: str,
        languages: tuple[str, str],
        configured: Configured,
        by: Actor | None = None,
        owner: int | None = None,
        most: int = 0,
    ) -> TranslationProject:
        """Create a project, whose first event is its settings. `owner` may organise it.

        Raise InputError if there is one of this name, and TooManyProjects if the owner has created `most` projects
        already; 0: no limit.
        """
        with unique_name(name):
            async with self._database.writing() as connection:
                await check_new(connection, name, owner, most)
                row = project_row(name, languages, configured)
                number = await insert_row(connection, projects, row)
                await insert_beginning(connection, number, name, configured, by, owner)
        return TranslationProject(id=number, **row)

    async def find(self, name: str) -> TranslationProject | None:
        row = await self._database.row(sa.select(*_PROJECT_COLUMNS).where(projects.c.name == name))
        return None if row is None else TranslationProject(**row._mapping)

    async def find_by_id(self, project_id: int) -> TranslationProject | None:
        row = await self._database.row(sa.select(*_PROJECT_COLUMNS).where(projects.c.id == project_id))
        return None if row is None else TranslationProject(**row._mapping)

    async def find_for(self, name: str, participant_id: int) -> tuple[TranslationProject, Role | None] | None:
        """A project, and the role of a participant in it."""
        row = await self._database.row(_ROLE, {"name": name, "participant": participant_id})
        if row is None:
            return None
        *values, role = row
        return TranslationProject(*values), Role(role) if role else None

    async def list_for(
        self, participant_id: int | None, after: str = "", limit: int = 100
    ) -> list[tuple[TranslationProject, Role | None]]:
        """The projects of a participant with the role in them, by name; None: all projects."""
        visible = ~projects.c.name.startswith(HIDDEN, autoescape=True)
        query = sa.select(*_PROJECT_COLUMNS, project_members.c.role).where(projects.c.name > after, visible)
        mine = sa.and_(
            project_members.c.project_id == projects.c.id, project_members.c.participant_id == (participant_id or 0)
        )
        query = query.join(project_members, mine, isouter=participant_id is None).order_by(projects.c.name).limit(limit)
        found = await self._database.rows(query)
        return [(TranslationProject(*row[:-1]), Role(row[-1]) if row[-1] else None) for row in found]

    async def delete(self, name: str, by: Actor | None = None) -> None:
        """Delete the project that has this name, with everything that belongs to it."""
        async with self._database.writing() as connection:
            number = await find_id(connection, "project", projects, name)
            await connection.execute(sa.delete(projects).where(projects.c.id == number))
            await record(connection, by, "project.delete", name)
        await self._database.forget_deleted()

    async def delete_found(self, project: TranslationProject, by: Actor) -> None:
        """Delete a project that was found before. Another one that has its name by now stays.

        Raise ProjectGone if it does not exist any more.
        """
        async with self._database.writing() as connection:
            deleted = await connection.execute(sa.delete(projects).where(projects.c.id == project.id))
            if not deleted.rowcount:
                raise ProjectGone
            await record(connection, by, "project.delete", project.name)
        await self._database.forget_deleted()

    async def set_member(self, project: TranslationProject, participant: str, role: Role | None, by: Actor) -> None:
        """Give a participant a role; None: take it away. Raise ProjectGone if there is no such project.

        Raise LastOrganiser if nobody could organise the project any more.
        """
        async with self._database.writing() as connection:
            if await take_numbers(connection, project.id, 0) is None:  # locks the project: one change at a time
                raise ProjectGone
            number = await find_id(connection, "participant", participants, participant)
            if role is not Role.ORGANISE and await _organisers(connection, project.id) == [number]:
                raise LastOrganiser
            mine = sa.and_(project_members.c.project_id == project.id, project_members.c.participant_id == number)
            await connection.execute(sa.delete(project_members).where(mine))
            if role is not None:
                row = {"project_id": project.id, "participant_id": number, "role": role}
                await connection.execute(sa.insert(project_members), row)
            detail = {"participant": participant, "role": role}
            await record(connection, by, "project.member", project.name, detail)

    async def members(
        self, project: TranslationProject, after: str = "", limit: int | None = None
    ) -> list[tuple[str, Role]]:
        """The members by name, after a name; at most `limit` of them."""
        query = (
            sa.select(participants.c.name, project_members.c.role)
            .join(project_members, project_members.c.participant_id == participants.c.id)
            .where(project_members.c.project_id == project.id, participants.c.name > after)
            .order_by(participants.c.name)
            .limit(limit)
        )
        return [(row.name, Role(row.role)) for row in await self._database.rows(query)]

    # Events

    async def change(
        self,
        old: TranslationProject,
        events: Sequence[Event],
        participant_id: int | None = None,
        by: Actor | None = None,
    ) -> bool | None:
        """Add events that were made for the settings that a project had.

        False: it has others by now, and nothing was added. None: it does not exist any more.
        """
        async with self._database.writing() as connection:
            last = await take_numbers(connection, old.id, len(events))  # locks the project
            row = (await connection.execute(sa.select(*_PROJECT_COLUMNS).where(projects.c.id == old.id))).first()
            if last is None or row is None:
                return None
            if TranslationProject(**row._mapping).configured != old.configured:
                await take_numbers(connection, old.id, -len(events))  # still locked: nobody has seen the numbers
                return False
            if any(isinstance(one, Configured) and one.learner != old.configured.learner for one in events):
                await _forget_base_translations(connection, old.id)
            await insert_events(connection, old.id, last - len(events) + 1, events, participant_id)
            await record(connection, by, "project.change", old.name, change_detail(events))
        return True

    async def glossary(self, project_id: int) -> dict[str, str]:
        """The terms of a project, with their translations."""
        found = await self.newest_glossary(project_id)
        return {} if found is None else dict(found.event.terms)

    async def newest_glossary(self, project_id: int) -> StoredGlossary | None:
        """The glossary of a project. None: there never was one."""
        return (await self.newest_glossaries([project_id])).get(project_id)

    async def newest_glossaries(self, project_ids: Sequence[int]) -> dict[int, StoredGlossary]:
        """The glossaries of projects, by the id of the project. Those that never had one are left out."""
        newest = sa.and_(_EVENTS.project_id == projects.c.id, _EVENTS.number == _newest_glossary(projects.c.id))
        columns = _EVENTS.project_id, _EVENTS.number, _EVENTS.body, _EVENTS.time
        query = sa.select(*columns).join_from(projects, project_events, newest)
        rows = await self._database.rows(query.where(in_list(projects.c.id)), {"ids": list(project_ids)})
        return {row.project_id: StoredGlossary(row.number, GlossaryChanged(**row.body), row.time) for row in rows}

    async def glossary_number(self, project_id: int) -> int:
        """The number of the event that changed the glossary last; 0: none did."""
        async with self._database.reading() as connection:
            return await _glossary_number(connection, project_id)

    async def change_glossary(
        self,
        project_id: int,
        change: Callable[[GlossaryChanged], GlossaryChanged],
        participant_id: int | None = None,
        by: Actor | None = None,
    ) -> StoredGlossary | None:
        """Replace the glossary of a project by what `change` makes of it. Nothing is stored if it raises an exception.

        `change` may take long: it runs in a thread, before the transaction. If somebody else changes the glossary
        meanwhile, it runs again. Return the new glossary. None: the project does not exist any more.
        """
        while True:
            old = await self.newest_glossary(project_id) or StoredGlossary(0, GlossaryChanged({}), 0.0)
            new = await asyncio.to_thread(change, old.event)
            is_same = new == old.event
            async with self._database.writing() as connection:
                last = await take_numbers(connection, project_id, 0)  # locks the project: nobody else changes it
                if last is None:
                    return None
                if await _glossary_number(connection, project_id) != old.number:
                    continue
                if is_same:
                    return old
                await take_numbers(connection, project_id, 1)
                made = StoredGlossary(last + 1, new, time.time())
                row = event_row(project_id, made.number, new, made.time, participant_id)
                await connection.execute(sa.insert(project_events), row)
                name = sa.select(projects.c.name).where(projects.c.id == project_id)
                subject = (await connection.execute(name)).scalar_one()
                await record(connection, by, "project.change", subject, change_detail([new]))
            return made

    async def append_rating(
        self, project_id: int, rated: Rated, participant_id: int | None, most: int = 0
    ) -> int | None:
        """Rate a proposal that was kept, and return the number of the event. None: there is no such proposal.

        The same rating twice is one. A proposal whose rating was taken back can be rated again.
        Raise ProjectFull if a new one finds `most` events.
        """
        async with self._database.writing() as connection:
            last = await take_numbers(connection, project_id, 0)  # locks the project
            if last is None:
                return None
            known = await _ratings(connection, project_id, rated.token)
            if (counting := next((row for row in known if not row.undone), None)) is not None:
                return int(counting.number) if counting.body["value"] == rated.value else None
            body = known[0].body["proposal"] if known else await _taken_proposal(connection, project_id, rated.token)
            if body is None:
                return None
            if most and last >= most:
                raise ProjectFull
            await take_numbers(connection, project_id, 1)
            event = replace(rated, proposal=decode(Proposal, body))
            new = event_row(project_id, last + 1, event, time.time(), participant_id)
            await connection.execute(sa.insert(project_events), new)
        return last + 1

    async def events_after(self, project_id: int, after: int) -> list[tuple[int, Event]]:
        """Events with greater numbers, in order; at most `EVENTS_PER_QUERY`."""
        rows = await self._database.rows(_BY_NUMBER, {"project": project_id, "after": after})
        return [(row.number, read_event(row.kind, row.body)) for row in rows]

    async def event(self, project_id: int, number: int) -> StoredEvent | None:
        found = await self._stored(_EVENTS.project_id == project_id, _EVENTS.number == number, limit=1)
        return found[0] if found else None

    async def confirmations(self, project_id: int, before: int | None = None, limit: int = 100) -> list[StoredEvent]:
        """Confirmations, the newest first; with `before` those with smaller numbers."""
        conditions = [_EVENTS.project_id == project_id, _EVENTS.kind == "confirm"]
        if before is not None:
            conditions.append(_EVENTS.number < before)
        return await self._stored(*conditions, limit=limit)

    async def _stored(self, *conditions: Any, limit: int) -> list[StoredEvent]:
        query = (
            sa.select(_EVENTS.number, _EVENTS.kind, _EVENTS.body, _EVENTS.time, participants.c.name, _EVENTS.learned)
            .join(participants, participants.c.id == _EVENTS.participant_id, isouter=True)
            .where(*conditions)
            .order_by(_EVENTS.number.desc())
            .limit(limit)
        )
        return [
            StoredEvent(row.number, read_event(row.kind, row.body), row.time, row.name, row.learned)
            for row in await self._database.rows(query)
        ]

    async def last_numbers(self, project_ids: Sequence[int]) -> dict[int, int]:
        """The number of the newest event of each project that exists."""
        query = sa.select(projects.c.id, projects.c.number).where(projects.c.id.in_(project_ids))
        return {row.id: row.number for row in await self._database.rows(query)}

    async def set_learned(self, project_id: int, learned: Mapping[int, Mapping[str, Any]]) -> None:
        """Store what the engine made of lessons, by event number. Each transaction is short."""
        numbers = list(learned)
        for start in range(0, len(numbers), ROWS_PER_UPDATE):
            part = {number: learned[number] for number in numbers[start : start + ROWS_PER_UPDATE]}
            async with self._database.writing() as connection:
                await keep_project(connection, project_id)
                await _set_learned(connection, project_id, part)

    async def learned(self, project_id: int, number: int) -> Mapping[str, Any] | None:
        row = await self._database.row(
            sa.select(_EVENTS.learned).where(_EVENTS.project_id == project_id, _EVENTS.number == number)
        )
        return None if row is None else row.learned

    async def rejections(self, project_id: int) -> dict[int, str]:
        """Why lessons were rejected, by event number, as far as it is stored."""
        reason = _EVENTS.learned["rejected"].as_string()
        query = sa.select(_EVENTS.number, reason.label("reason"))
        query = query.where(_EVENTS.project_id == project_id, reason.is_not(None))
        return {int(row.number): str(row.reason) for row in await self._database.rows(query)}

    # Proposals that can be rated

    async def take_proposal_numbers(self, project_id: int, count: int) -> int:
        """Take the next numbers of proposals, and return the last one. Raise ProjectGone if there is no such project.

        A number is taken once, also if nobody rates its proposal.
        """
        later = projects.c.proposals + count
        taken = sa.update(projects).where(projects.c.id == project_id).values(proposals=later)
        async with self._database.writing() as connection:
            row = (await connection.execute(taken.returning(projects.c.proposals))).first()
        if row is None:
            raise ProjectGone
        return int(row.proposals)

    async def add_proposals(self, project_id: int, proposals: Sequence[Proposal]) -> list[str]:
        """Keep proposals until they are rated, and return their names. Raise ProjectGone if there is no such project.

        All of them are one transaction.
        """
        if not proposals:
            return []
        tokens, now = [secrets.token_hex(16) for _ in proposals], time.time()
        rows = [
            {"project_id": project_id, "token": token, "body": encode(proposal), "created": now}
            for token, proposal in zip(tokens, proposals, strict=True)
        ]
        mine = project_proposals.c.project_id == project_id
        newest = sa.select(project_proposals.c.id).where(mine).order_by(project_proposals.c.id.desc())
        limit = newest.offset(MAX_PROPOSALS).limit(1).scalar_subquery()
        async with self._database.writing() as connection:
            if not await keep_project(connection, project_id):
                raise ProjectGone
            await connection.execute(sa.insert(project_proposals), rows)
            await connection.execute(sa.delete(project_proposals).where(mine, project_proposals.c.id <= limit))
        return tokens

    # Snapshots

    async def snapshots(self, project_id: int) -> dict[str, SnapshotInfo]:
        """All snapshots of a project, by digest."""
        columns = (project_snapshots.c.digest, project_snapshots.c.lessons, project_snapshots.c.platform)
        query = sa.select(*columns).where(project_snapshots.c.project_id == project_id)
        return {row.digest: SnapshotInfo(row.lessons, row.platform) for row in await self._database.rows(query)}

    async def read_snapshot(self, project_id: int, digest: str) -> bytes | None:
        row = await self._database.row(sa.select(project_snapshots.c.data).where(*_snapshot(project_id, digest)))
        return None if row is None else bytes(row.data)

    async def write_snapshot(
        self,
        project_id: int,
        digest: str,
        info: SnapshotInfo,
        data: bytes,
        learned: Mapping[int, Mapping[str, Any]] | None = None,
    ) -> bool:
        """Store a snapshot, unless it is there already. False: the project does not exist any more.

        `learned` is what the engine made of lessons, by event number. It is stored in the same transaction.
        """
        row = {"project_id": project_id, "digest": digest, "lessons": info.lessons, "platform": info.platform}
        row |= {"data": data, "created": time.time()}
        async with self._database.writing() as connection:
            if not await keep_project(connection, project_id):
                return False
            insert = self._database.insert(project_snapshots)
            await connection.execute(insert.on_conflict_do_nothing(), row)
            await _set_learned(connection, project_id, learned or {})
        return True

    async def delete_snapshots(self, project_id: int, digests: Sequence[str]) -> None:
        if digests:
            async with self._database.writing() as connection:
                old = project_snapshots.c.digest.in_(digests)
                mine = project_snapshots.c.project_id == project_id
                await keep_project(connection, project_id)
                await connection.execute(sa.delete(project_snapshots).where(mine, old))


@contextmanager
def unique_name(name: str) -> Iterator[None]:
    """Raise InputError if another transaction has used the name for a project meanwhile."""
    try:
        yield
    except sa.exc.IntegrityError as error:
        code = getattr(error.orig, "sqlite_errorname", None) or getattr(error.orig, "sqlstate", None)
        if code not in _DUPLICATES:
            raise
        raise _name_taken(name) from None


def change_detail(events: Sequence[Event]) -> dict[str, Any]:
    """What the audit log says about changes of a project: its settings, and how many terms its glossary has."""
    detail: dict[str, Any] = {}
    for event in events:
        if isinstance(event, Configured):
            detail |= {"method": event.method, "settings": dict(event.settings), "review": event.review}
        elif isinstance(event, GlossaryChanged):
            detail["terms"] = len(event.terms)
    return detail


async def check_new(connection: AsyncConnection, name: str, owner: int | None, most: int) -> None:
    """Raise InputError if there is a project of this name, and TooManyProjects if the owner may create no more."""
    if owner is not None and most and await _created_by(connection, owner) >= most:
        raise TooManyProjects
    if await name_exists(connection, projects, name):
        raise _name_taken(name)


def _name_taken(name: str) -> InputError:
    return InputError(f"project {name!r} exists already; choose another name")


def project_row(name: str, languages: tuple[str, str], configured: Configured, number: int = 1) -> dict[str, Any]:
    """A new project as a row of its table."""
    pair = {"source_language": languages[0], "target_language": languages[1]}
    return {"name": name, "number": number, "created": time.time()} | pair | _settings_row(configured)


async def insert_beginning(
    connection: AsyncConnection, project_id: int, name: str, configured: Configured, by: Actor | None, owner: int | None
) -> None:
    """Store the first event of a project and its owner, and note in the audit log that it was created."""
    await connection.execute(sa.insert(project_events), event_row(project_id, 1, configured, time.time(), owner))
    if owner is not None:
        member = {"project_id": project_id, "participant_id": owner, "role": Role.ORGANISE}
        await connection.execute(sa.insert(project_members), member)
    await record(connection, by, "project.create", name, {"method": configured.method})


async def _created_by(connection: AsyncConnection, participant_id: int) -> int:
    """How many projects a participant has created. The participant is locked, so two at once are counted in turn."""
    creator = sa.select(participants.c.id).where(participants.c.id == participant_id)
    await connection.execute(creator.with_for_update(key_share=True))
    first = sa.and_(_EVENTS.participant_id == participant_id, _EVENTS.number == 1)
    return int((await connection.execute(sa.select(sa.func.count()).where(first))).scalar_one())


async def _forget_base_translations(connection: AsyncConnection, project_id: int) -> None:
    """Other settings may let the base model translate in another way."""
    kept = sa.and_(_EVENTS.project_id == project_id, _EVENTS.base_translation.is_not(None))
    await connection.execute(sa.update(project_events).where(kept).values(base_translation=None))


async def _set_learned(connection: AsyncConnection, project_id: int, learned: Mapping[int, Mapping[str, Any]]) -> None:
    one = sa.and_(_EVENTS.project_id == project_id, _EVENTS.number == sa.bindparam("lesson"))
    row = sa.update(project_events).where(one).values(learned=sa.bindparam("what"))
    if rows := [{"lesson": number, "what": dict(what)} for number, what in learned.items()]:
        await connection.execute(row, rows)


async def _organisers(connection: AsyncConnection, project_id: int) -> list[int]:
    mine = sa.and_(project_members.c.project_id == project_id, project_members.c.role == Role.ORGANISE)
    return list((await connection.execute(sa.select(project_members.c.participant_id).where(mine))).scalars())


async def insert_events(
    connection: AsyncConnection, project_id: int, first: int, events: Sequence[Event], participant_id: int | None
) -> None:
    """Store events from a number on. The project has the settings of the last ones."""
    now = time.time()
    rows = [event_row(project_id, number, event, now, participant_id) for number, event in enumerate(events, first)]
    await connection.execute(sa.insert(project_events), rows)
    for event in events:
        if isinstance(event, Configured):
            changed = sa.update(projects).where(projects.c.id == project_id)
            await connection.execute(changed.values(**_settings_row(event)))


def _newest_glossary(project_id: Any) -> sa.ScalarSelect[int]:
    """The number of the event that changed the glossary of a project last."""
    one: Any = project_events.alias("glossary").c
    mine = sa.select(one.number).where(one.project_id == project_id, one.kind == "glossary")
    return mine.order_by(one.number.desc()).limit(1).correlate(projects).scalar_subquery()


async def _glossary_number(connection: AsyncConnection, project_id: int) -> int:
    number = (await connection.execute(sa.select(_newest_glossary(project_id)))).scalar_one()
    return number or 0


def _snapshot(project_id: int, digest: str) -> tuple[Any, Any]:
    return project_snapshots.c.project_id == project_id, project_snapshots.c.digest == digest


def _settings_row(event: Configured) -> dict[str, Any]:
    return {"model": event.model, "method": event.method, "settings": dict(event.settings), "review": event.review}


def event_row(project_id: int, number: int, event: Event, now: float, participant_id: int | None) -> dict[str, Any]:
    """An event as a row of its table."""
    return {
        "project_id": project_id,
        "number": number,
        "kind": event_kind(event),
        "body": event_body(event),
        "segment": event.segment_key if isinstance(event, Confirmed | Rated) else None,
        "of": getattr(event, "of", None),
        "time": now,
        "participant_id": participant_id,
    }


async def keep_project(connection: AsyncConnection, project_id: int) -> bool:
    """Let nobody delete a project before the transaction ends. Return whether it exists.

    Every transaction locks the project before it changes what belongs to it, and so does a deletion: two of them never
    wait for each other. Confirmations do not wait for this lock, nor do others that take it: who looks what is there,
    and then changes it, needs `lock_project`.
    """
    query = sa.select(projects.c.id).where(projects.c.id == project_id).with_for_update(read=True, key_share=True)
    return (await connection.execute(query)).first() is not None


async def lock_project(connection: AsyncConnection, project_id: int) -> bool:
    """Let nobody else change a project before the transaction ends. Return whether it exists."""
    return await take_numbers(connection, project_id, 0) is not None


async def take_numbers(connection: AsyncConnection, project_id: int, count: int) -> int | None:
    """Lock the project, take the next numbers, and return the last one. None: there is no such project."""
    taken = sa.update(projects).where(projects.c.id == project_id).values(number=projects.c.number + count)
    row = (await connection.execute(taken.returning(projects.c.number))).first()
    return None if row is None else int(row.number)


def newest_about(event: Any, kinds: Sequence[str], name: str) -> sa.ScalarSelect[Any]:
    """A column of the newest event of these kinds about an event; `accepted` is that of a review."""
    later: Any = project_events.alias().c
    column = later.body["accepted"].as_boolean() if name == "accepted" else later[name]
    after = sa.and_(later.project_id == event.project_id, later.of == event.number, later.number > event.number)
    about = sa.and_(after, later.kind.in_(kinds))
    return sa.select(column).where(about).order_by(later.number.desc()).limit(1).scalar_subquery()


def is_undone(event: Any) -> sa.ColumnElement[bool]:
    """Whether an event was taken back, and no redo followed."""
    return sa.func.coalesce(newest_about(event, ("undo", "redo"), "kind"), "redo") == "undo"


async def _ratings(connection: AsyncConnection, project_id: int, token: str) -> Sequence[Any]:
    """The ratings of a proposal: number, body, and whether each was taken back."""
    mine = sa.and_(_EVENTS.project_id == project_id, _EVENTS.kind == "rate", _EVENTS.segment == token)
    columns = _EVENTS.number, _EVENTS.body, is_undone(_EVENTS).label("undone")
    return (await connection.execute(sa.select(*columns).where(mine))).all()


async def _taken_proposal(connection: AsyncConnection, project_id: int, token: str) -> Any:
    """Take a proposal that was kept. None: there is no such proposal."""
    mine = sa.and_(project_proposals.c.project_id == project_id, project_proposals.c.token == token)
    taken = sa.delete(project_proposals).where(mine).returning(project_proposals.c.body)
    return (await connection.execute(taken)).scalar()


async def confirmed_since(connection: AsyncConnection, project_id: int, last: int, since: float) -> int:
    """The number of confirmations since a time, among the newest `RECENT_EVENTS` events. Imported ones do not count."""
    recent = sa.and_(_EVENTS.project_id == project_id, _EVENTS.number > last - RECENT_EVENTS)
    imported = sa.func.coalesce(_EVENTS.body["imported"].as_boolean(), sa.false())
    query = sa.select(sa.func.count()).where(recent, _EVENTS.kind == "confirm", _EVENTS.time > since, ~imported)
    return int((await connection.execute(query)).scalar_one())
