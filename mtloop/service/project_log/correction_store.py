"""All SQL about corrections. Their states follow from later events: the newest undo, redo or review of a correction,
and later confirmations with the same external id. `EventLog` says the same; a test compares them.

A correction that counts is `learned`, or `rejected` if the result of an engine says so. The log does not know results:
both are lessons, and another method may learn what this one rejected.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.asyncio import AsyncConnection

from mtloop.service.accounts.tables import participants
from mtloop.service.audit.models import Actor
from mtloop.service.database import Database, in_list, insert_row
from mtloop.service.project_log.event_log import (
    Configured,
    Confirmed,
    GlossaryChanged,
    Rated,
    Redone,
    Reviewed,
    Undone,
    read_event,
)
from mtloop.service.project_log.models import ProjectFull, ProjectGone, TranslationProject
from mtloop.service.project_log.store import (
    HIDDEN,
    check_new,
    confirmed_since,
    event_row,
    insert_beginning,
    is_undone,
    keep_project,
    newest_about,
    project_row,
    take_numbers,
    unique_name,
)
from mtloop.service.project_log.tables import project_events, project_snapshots, projects

STATES = ("learned", "rejected", "refused", "waiting", "undone", "replaced")
COUNTED = ("learned", "rejected")
BY_REVIEWER = "a reviewer refused it"
ROWS_PER_INSERT = ROWS_PER_PART = 500
ROWS_PER_UNDO = 300
ROWS_PER_COPY = 300  # of a copy of a project: people who confirm meanwhile wait for one transaction at most
STALE_SECONDS = 600.0  # since the last part of a copy: whoever made it was killed
_ESCAPE = "/"
Check: TypeAlias = Callable[[AsyncConnection], Awaitable[None]]
"""Runs in the transaction that adds an event, after the project is locked. If it raises, nothing is stored."""
Follow: TypeAlias = Callable[[AsyncConnection, int, Sequence[str], int | None], Awaitable[None]]
"""Runs after events were added: project, keys of the segments that they are about, participant."""


class EqualCorrection(Exception):
    """An equal correction of the same segment counts already, with nothing else in between."""


@dataclass(frozen=True)
class StoredCorrection:
    """A confirmation with its state. `rejected` is the reason of the learner, if the state is rejected."""

    number: int
    event: Confirmed
    state: str
    time: float
    participant: str | None = None
    base_translation: str | None = None
    rejected: str | None = None

    @property
    def refused(self) -> str:
        """Why it may not be learned; empty if nothing forbids it."""
        return self.event.refused or (BY_REVIEWER if self.state == "refused" else "")

    @property
    def counts(self) -> bool:
        """Whether it is among the lessons of the project."""
        return self.state in COUNTED


@dataclass(frozen=True)
class CorrectionFilter:
    """Which corrections a list shows: those with a text in source or translation, in a state, with an external id.

    `after` continues a list: those that follow this number in it. The newest come first, so their numbers are smaller.
    """

    search: str = ""
    state: str | None = None
    after: int | None = None
    external_id: str = ""


@dataclass(frozen=True)
class Appended:
    """A confirmation as it is stored, with its state. It is not new if an equal one was there before."""

    correction: StoredCorrection
    is_new: bool


async def _nothing(*_: object) -> None:
    pass


class CorrectionStore:
    """The corrections of projects in the database. `follow` changes what depends on them, in the same transaction."""

    def __init__(self, database: Database, follow: Follow = _nothing) -> None:
        self._database, self._follow = database, follow
        self._copying = asyncio.Lock()

    async def page(self, project_id: int, chosen: CorrectionFilter, limit: int) -> list[StoredCorrection]:
        """Corrections, the newest first."""
        query = _corrections(project_id).where(*_conditions(chosen)).order_by(_E.number.desc()).limit(limit)
        return list(map(_correction, await self._database.rows(query)))

    async def one(self, project_id: int, number: int) -> StoredCorrection | None:
        row = await self._database.row(_corrections(project_id).where(_E.number == number))
        return None if row is None else _correction(row)

    async def counted(self, project_id: int) -> AsyncIterator[list[StoredCorrection]]:
        """Corrections that count, in parts, in the order in which they count."""
        mine = sa.and_(_E.project_id == project_id, _E.kind == "confirm", _LIVE)
        ordered = await self._database.rows(sa.select(_E.number).where(mine).order_by(_place(_E)))
        numbers = [int(row.number) for row in ordered]
        chosen = _corrections(project_id).where(in_list(_E.number))
        for start in range(0, len(numbers), ROWS_PER_PART):
            part = numbers[start : start + ROWS_PER_PART]
            found = {row.number: _correction(row) for row in await self._database.rows(chosen, {"ids": part})}
            yield [found[number] for number in part if number in found]

    async def newest_counted(self, project_id: int, count: int) -> list[StoredCorrection]:
        """The newest corrections that count, the oldest of them first."""
        found: list[StoredCorrection] = []
        query = _corrections(project_id).where(_LIVE).order_by(_E.number.desc())
        while len(found) < count:
            limit = min(ROWS_PER_PART, count - len(found))
            before = query.where(_E.number < found[-1].number) if found else query
            part = await self._database.rows(before.limit(limit))
            found += map(_correction, part)
            if len(part) < limit:
                break
        return found[::-1]

    async def state_counts(self, project_id: int, first: int, last: int) -> dict[str, int]:
        """The number of corrections of each state, among those with these numbers."""
        mine = sa.and_(_E.project_id == project_id, _E.number.between(first, last), _E.kind == "confirm")
        states = sa.select(_STATE.label("state")).where(mine).subquery()
        query = sa.select(states.c.state, sa.func.count()).group_by(states.c.state)
        return {str(state): int(count) for state, count in await self._database.rows(query)}

    async def stored_results(self, project_id: int, first: int, last: int) -> int:
        """The number of corrections of which the database holds what an engine learned."""
        mine = sa.and_(_E.project_id == project_id, _E.number.between(first, last), _E.kind == "confirm")
        found = sa.func.json_typeof if self._database.is_postgresql else sa.func.json_type
        query = sa.select(sa.func.count()).where(mine, found(_E.learned) == "object")
        return int((await self._database.rows(query))[0][0])

    async def set_base_translations(self, project: TranslationProject, texts: Mapping[int, str]) -> None:
        """Keep the translations of the frozen base model, by the number of the correction.

        They are dropped if the project has other settings by now.
        """
        events = project_events.c
        row = sa.update(project_events).where(
            events.project_id == project.id, events.number == sa.bindparam("correction")
        )
        rows = [{"correction": number, "text": text} for number, text in texts.items()]
        async with self._database.writing() as connection:
            if rows and await _has_learner(connection, project):
                await connection.execute(row.values(base_translation=sa.bindparam("text")), rows)

    async def add(
        self,
        project_id: int,
        event: Confirmed,
        participant_id: int | None,
        refuse: Callable[[int], str] = lambda recent: "",
        check: Check = _nothing,
        most: int = 0,
    ) -> Appended | None:
        """Add a confirmation, unless an equal one is there already. None: the project does not exist any more.

        It is also added if another translation of the source was confirmed meanwhile, in whatever document. `refuse`
        gets the number of confirmations of the last second, and returns the reason not to learn this one. Raise
        ProjectFull if a new one finds `most` events.
        """
        async with self._database.writing() as connection:
            last = await take_numbers(connection, project_id, 0)  # locks the project
            if last is None:
                return None
            await check(connection)
            known = await _of_segments(connection, project_id, [event])
            same = _equal(event, known.get(event.segment_key, ()))
            if same is not None and await _says_otherwise(connection, project_id, same):
                same = None
            if same is None and most and last >= most:
                raise ProjectFull
            number, now = last + 1 if same is None else same.number, time.time()
            if same is None:
                recent = 0 if event.refused else await confirmed_since(connection, project_id, last, now - 1)
                if not event.refused and (reason := refuse(recent)):
                    event = replace(event, refused=reason, waits=False)
                await take_numbers(connection, project_id, 1)
                await _insert(connection, [event_row(project_id, number, event, now, participant_id)])
                await self._follow(connection, project_id, [event.segment_key], participant_id)
            stored = (await connection.execute(_corrections(project_id).where(_E.number == number))).one()
        return Appended(_correction(stored), same is None)

    async def add_new(
        self, project_id: int, events: Sequence[Confirmed], participant_id: int | None
    ) -> dict[int, Confirmed] | None:
        """Add confirmations in one transaction, but none that is there already. Return the new ones by number.

        None: the project does not exist any more.
        """
        async with self._database.writing() as connection:
            last = await take_numbers(connection, project_id, 0)  # locks the project
            if last is None:
                return None
            new = _unknown(events, last + 1, await _of_segments(connection, project_id, events))
            await take_numbers(connection, project_id, len(new))
            now = time.time()
            await _insert(
                connection, [event_row(project_id, number, event, now, participant_id) for number, event in new.items()]
            )
            keys = list({event.segment_key for event in new.values()})
            await self._follow(connection, project_id, keys, participant_id)
        return new

    async def add_about(
        self, project_id: int, event: Undone | Redone | Reviewed, participant_id: int | None
    ) -> int | None:
        """Add an event about a correction or rating, and return its number. None: the project does not exist any more.

        One that changes nothing is not stored: the number is that of the event that it repeats.
        Raise EqualCorrection if a redo or a review would let a correction count beside an equal one, or if a redo would
        let two ratings of one proposal count.
        """
        async with self._database.writing() as connection:
            last = await take_numbers(connection, project_id, 0)  # locks the project
            if last is None:
                return None
            if (same := await _repeated(connection, project_id, event)) is not None:
                return same
            last += 1
            if isinstance(event, Redone) or (isinstance(event, Reviewed) and event.accepted):
                await _check_single(connection, project_id, event, last)
            await take_numbers(connection, project_id, 1)
            await _insert(connection, [event_row(project_id, last, event, time.time(), participant_id)])
            keys = await _segment_of(connection, project_id, event.of)
            await self._follow(connection, project_id, keys, participant_id)
        return last

    async def undo_segment(
        self, project_id: int, segment: str, participant_id: int | None, check: Check = _nothing
    ) -> int | None:
        """Take back all confirmations of a segment, by its key, and return the number of the newest event.

        None: the project does not exist any more.
        """
        async with self._database.writing() as connection:
            last = await take_numbers(connection, project_id, 0)  # locks the project
            if last is None:
                return None
            await check(connection)
            return await self._undo(connection, project_id, last, _E.segment == segment, participant_id)

    async def undo_many(self, project_id: int, numbers: Sequence[int], participant_id: int | None) -> int | None:
        """Take back confirmations, and return the number of the newest event. Each transaction is short.

        Those that were taken back before stay as they are. None: the project does not exist any more.
        """
        last: int | None = None
        for start in range(0, len(numbers), ROWS_PER_UNDO):
            async with self._database.writing() as connection:
                last = await take_numbers(connection, project_id, 0)  # locks the project
                if last is None:
                    return None
                mine = _E.number.in_(numbers[start : start + ROWS_PER_UNDO])
                last = await self._undo(connection, project_id, last, mine, participant_id)
        return last

    async def _undo(
        self,
        connection: AsyncConnection,
        project_id: int,
        last: int,
        chosen: sa.ColumnElement[bool],
        participant_id: int | None,
    ) -> int:
        """Take back these confirmations, and return the number of the newest event."""
        mine = sa.and_(_E.project_id == project_id, _E.kind == "confirm", chosen, ~is_undone(_E))
        found = (await connection.execute(sa.select(_E.number, _E.segment).where(mine))).all()
        undone, now = enumerate(sorted(row.number for row in found), last + 1), time.time()
        await take_numbers(connection, project_id, len(found))
        rows = [event_row(project_id, number, Undone(of), now, participant_id) for number, of in undone]
        await _insert(connection, rows)
        await self._follow(connection, project_id, list({row.segment for row in found}), participant_id)
        return last + len(found)

    # A copy of a project. It has a hidden name until it is complete, and each transaction is short.

    async def fork(
        self, old: TranslationProject, name: str, configured: Configured, by: Actor, owner: int | None, most: int = 0
    ) -> TranslationProject:
        """Copy a project: its settings, its glossary, and the lessons that count, in the order in which they count.

        Its snapshots are copied too: they are those of a learner with the same lessons. Raise InputError if the name is
        taken, TooManyProjects if the owner has created `most` projects already, and ProjectGone if the old project does
        not exist any more.
        """
        for stale in await self._stale_copies():
            await self._discard(stale)
        made = await self._hidden_copy(old, name, configured, owner, most)
        try:
            last = await self._copy_events(old.id, made.id, owner)
            await self._copy_snapshots(old.id, made.id)
            with unique_name(name):
                return await self._reveal(old.id, replace(made, name=name, number=last), configured, by, owner, most)
        except BaseException:
            await asyncio.shield(self._discard(made.id))
            raise

    async def _stale_copies(self) -> list[int]:
        hidden = projects.c.name.startswith(HIDDEN, autoescape=True)
        query = sa.select(projects.c.id).where(hidden, projects.c.created < time.time() - STALE_SECONDS)
        return [int(row.id) for row in await self._database.rows(query)]

    async def _hidden_copy(
        self, old: TranslationProject, name: str, configured: Configured, owner: int | None, most: int
    ) -> TranslationProject:
        """A project without events and members. A long copy begins only if the name is free."""
        languages = old.source_language, old.target_language
        row = project_row(HIDDEN + secrets.token_hex(16), languages, configured, number=0)
        async with self._database.writing() as connection:
            if not await keep_project(connection, old.id):
                raise ProjectGone
            await check_new(connection, name, owner, most)
            return TranslationProject(id=await insert_row(connection, projects, row), **row)

    async def _copy_events(self, old: int, new: int, owner: int | None) -> int:
        """Copy the glossary and the lessons from number 2 on, and return the last number."""
        last = 1 + await self._copy_glossary(old, new, owner)
        lessons = sa.and_(_E.project_id == old, _E.kind.in_(("confirm", "rate")), _LIVE)
        ordered = await self._database.rows(sa.select(_E.number).where(lessons).order_by(_place(_E)))
        copied = _copied_event(old, new, self._database.is_postgresql)
        for start in range(0, len(ordered), ROWS_PER_COPY):
            part = enumerate(ordered[start : start + ROWS_PER_COPY], last + start + 1)
            async with self._part_of_copy(old, new) as connection:
                await connection.execute(copied, [{"place": place, "copied": row.number} for place, row in part])
        return last + len(ordered)

    async def _copy_glossary(self, old: int, new: int, owner: int | None) -> int:
        """Copy the terms, and return the number of new events. Clients know this glossary by no id yet."""
        mine = sa.select(_E.body).where(_E.project_id == old, _E.kind == "glossary")
        newest = await self._database.row(mine.order_by(_E.number.desc()).limit(1))
        if newest is None or not newest.body["terms"]:
            return 0
        async with self._part_of_copy(old, new) as connection:
            event = GlossaryChanged(newest.body["terms"])
            await _insert(connection, [event_row(new, 2, event, time.time(), owner)])
        return 1

    async def _copy_snapshots(self, old: int, new: int) -> None:
        stored = project_snapshots.c
        for row in await self._database.rows(sa.select(stored.digest).where(stored.project_id == old)):
            async with self._part_of_copy(old, new) as connection:
                await connection.execute(_copied_snapshot(old, new, row.digest))

    async def _reveal(
        self, old: int, made: TranslationProject, configured: Configured, by: Actor, owner: int | None, most: int
    ) -> TranslationProject:
        """Give a copy its name, its first event and its owner. It is complete if the old project still exists."""
        shown: dict[str, Any] = {"name": made.name, "number": made.number, "created": time.time()}
        async with self._part_of_copy(old, made.id) as connection:
            await check_new(connection, made.name, owner, most)
            await connection.execute(sa.update(projects).where(projects.c.id == made.id).values(**shown))
            await insert_beginning(connection, made.id, made.name, configured, by, owner)
        return replace(made, **shown)

    async def _discard(self, project_id: int) -> None:
        """Delete a copy that is not complete."""
        events = project_events.c
        newest = sa.select(sa.func.max(events.number)).where(events.project_id == project_id)
        last = (await self._database.rows(newest))[0][0] or 0
        for number in range(ROWS_PER_COPY, last + ROWS_PER_COPY, ROWS_PER_COPY):
            part = sa.and_(events.project_id == project_id, events.number <= number)
            async with self._short_part() as connection:
                await connection.execute(sa.delete(project_events).where(part))
        async with self._short_part() as connection:
            await connection.execute(sa.delete(projects).where(projects.c.id == project_id))

    @asynccontextmanager
    async def _part_of_copy(self, old: int, new: int) -> AsyncIterator[AsyncConnection]:
        """A transaction that adds to a copy. Raise ProjectGone if one of both projects does not exist any more."""
        alive = sa.update(projects).where(projects.c.id == new).values(created=time.time())  # it is not stale
        async with self._short_part() as connection:
            if not await keep_project(connection, old) or not (await connection.execute(alive)).rowcount:
                raise ProjectGone
            yield connection

    @asynccontextmanager
    async def _short_part(self) -> AsyncIterator[AsyncConnection]:
        """A transaction of a long work. Then others may write for as long as it took: SQLite has no queue of writers.

        Of several such works in this process, one is in a transaction.
        """
        async with self._copying:
            started = time.monotonic()
            async with self._database.writing() as connection:
                yield connection
            await asyncio.sleep(time.monotonic() - started)


def _columns(alias: Any) -> Any:
    return alias.c


_EVENT = project_events.alias("correction")
_E = _columns(_EVENT)


def _place(event: Any) -> sa.ColumnElement[Any]:
    """The number by which a lesson is ordered; NULL if it may not be learned."""
    return sa.case(
        (event.kind == "rate", event.number),
        (event.body["refused"].as_string() != "", sa.null()),
        (~event.body["waits"].as_boolean(), event.number),
        else_=_first_acceptance(event),
    )


def _first_acceptance(event: Any) -> sa.ScalarSelect[Any]:
    """The number of the first review that accepted a confirmation, after the last one that did not; NULL: none."""
    review, later = _columns(project_events.alias()), _columns(project_events.alias())
    mine = sa.and_(review.project_id == event.project_id, review.of == event.number, _is_review(review, True))
    same = sa.and_(later.project_id == review.project_id, later.of == review.of, later.number > review.number)
    refused = sa.exists(sa.select(later.number).where(same, _is_review(later, False)))
    return sa.select(sa.func.min(review.number)).where(mine, ~refused).scalar_subquery()


def _is_review(event: Any, accepted: bool) -> sa.ColumnElement[bool]:
    return sa.and_(event.kind == "review", event.body["accepted"].as_boolean() == sa.literal(accepted))


def _is_replaced(event: Any) -> sa.ColumnElement[bool]:
    """Whether a later confirmation with the same external id counts. Its segment key is the same."""
    other = _columns(project_events.alias())
    same = sa.and_(other.project_id == event.project_id, other.segment == event.segment, other.number > event.number)
    later = sa.exists(sa.select(other.number).where(same, _place(other).is_not(None), ~is_undone(other)))
    return sa.and_(event.kind == "confirm", event.body["external_id"].as_string() != "", later)


_LIVE = sa.and_(_place(_E).is_not(None), ~is_undone(_E), ~_is_replaced(_E))
_REJECTED = _E.learned["rejected"].as_string()
_STATE = sa.case(
    (_E.body["refused"].as_string() != "", "refused"),
    (is_undone(_E), "undone"),
    (sa.and_(_E.body["waits"].as_boolean(), newest_about(_E, ("review",), "number").is_(None)), "waiting"),
    (_place(_E).is_(None), "refused"),
    (_is_replaced(_E), "replaced"),
    (_REJECTED.is_not(None), "rejected"),
    else_="learned",
)


async def standing_confirmations(
    connection: AsyncConnection, project_id: int, segments: Sequence[str]
) -> dict[str, list[tuple[int, Confirmed]]]:
    """The confirmations of each segment that nobody took back, with their numbers, the newest first.

    One that may not be learned is among them, unless a reviewer refused it. The segments are given by their keys.
    """
    accepted = sa.func.coalesce(newest_about(_E, ("review",), "accepted"), sa.true())
    mine = sa.and_(_E.project_id == project_id, _E.kind == "confirm", _E.segment.in_(segments))
    columns = _E.number, _E.segment, _E.body
    rows = await connection.execute(sa.select(*columns).where(mine, ~is_undone(_E), accepted))
    found: dict[str, list[tuple[int, Confirmed]]] = {}
    for row in sorted(rows, key=lambda row: int(row.number), reverse=True):
        event = read_event("confirm", row.body)
        assert isinstance(event, Confirmed)
        found.setdefault(row.segment, []).append((int(row.number), event))
    return found


async def _repeated(connection: AsyncConnection, project_id: int, event: Undone | Redone | Reviewed) -> int | None:
    """The number of the event that an event repeats: it would change nothing. None: it changes something."""
    kinds = ("review",) if isinstance(event, Reviewed) else ("undo", "redo")
    about = sa.and_(_E.project_id == project_id, _E.of == event.of, _E.kind.in_(kinds))
    query = sa.select(_E.number, _E.kind, _E.body).where(about).order_by(_E.number.desc()).limit(1)
    row = (await connection.execute(query)).first()
    if row is None:
        return event.of if isinstance(event, Redone) else None
    same = read_event(row.kind, row.body) == event
    return int(row.number) if same else None


async def _segment_of(connection: AsyncConnection, project_id: int, number: int) -> list[str]:
    """The key of the segment of an event, if it has one."""
    query = sa.select(_E.segment).where(_E.project_id == project_id, _E.number == number)
    return [key for key in (await connection.execute(query)).scalars() if key]


def _corrections(project_id: int) -> sa.Select[Any]:
    columns = (_E.number, _E.body, _STATE.label("state"), _E.time, participants.c.name, _E.base_translation)
    return (
        sa.select(*columns, _REJECTED.label("rejected"))
        .join_from(_EVENT, participants, participants.c.id == _E.participant_id, isouter=True)
        .where(_E.project_id == project_id, _E.kind == "confirm")
    )


def _conditions(chosen: CorrectionFilter) -> Iterator[sa.ColumnElement[bool]]:
    if chosen.after is not None:
        yield _E.number < chosen.after
    if chosen.external_id:
        yield _E.segment == Confirmed("", "", external_id=chosen.external_id).segment_key
    if chosen.search:
        texts = (_E.body[name].as_string() for name in ("source", "translation"))
        yield sa.or_(*(sa.func.lower(text).like(_pattern(chosen.search), escape=_ESCAPE) for text in texts))
    if chosen.state:
        yield sa.literal(chosen.state) == _STATE


def _pattern(text: str) -> sa.ColumnElement[str]:
    for special in (_ESCAPE, "%", "_"):
        text = text.replace(special, _ESCAPE + special)
    return sa.func.lower(f"%{text}%")


def _correction(row: Any) -> StoredCorrection:
    event = read_event("confirm", row.body)
    assert isinstance(event, Confirmed)
    rejected = row.rejected if row.state == "rejected" else None
    return StoredCorrection(row.number, event, row.state, row.time, row.name, row.base_translation, rejected)


@dataclass(frozen=True)
class _Known:
    """A confirmation of a segment. `place` orders the lessons; None: it is none, for it was refused or waits."""

    number: int
    event: Confirmed
    place: int | None
    undone: bool
    reviewed: bool

    @property
    def counts(self) -> bool:
        """Whether it counts, unless a later one with the same external id does."""
        return self.place is not None and not self.undone

    @property
    def order(self) -> int:
        """The greatest is the newest. Of those with the same external id the one with the greatest number counts."""
        return self.number if self.event.external_id or self.place is None else self.place

    def is_equal(self, event: Confirmed) -> bool:
        """Whether a new confirmation says the same, and would have the same state.

        A reviewer's refusal holds until a reviewer changes it. What waits is confirmed anew when reviews are over. So
        is what a person insists on.
        """
        if event.insisted and not self.event.insisted:
            return False
        if _content(self.event) != _content(event) or self.event.refused != event.refused:
            return False
        return self.place is not None or self.reviewed or self.event.waits == event.waits


async def _of_segments(
    connection: AsyncConnection, project_id: int, events: Sequence[Confirmed]
) -> dict[str, list[_Known]]:
    """All confirmations of the segments of these events, by segment key, the newest first."""
    keys = {event.segment_key for event in events}
    mine = sa.and_(_E.project_id == project_id, _E.kind == "confirm", _E.segment.in_(keys))
    reviewed = newest_about(_E, ("review",), "number").is_not(None)
    columns = (_E.number, _E.segment, _E.body, _place(_E).label("place"), is_undone(_E).label("undone"))
    found: dict[str, list[_Known]] = {}
    # Not ordered in SQL: SQLite would read the whole project in order rather than use the index of segments.
    for row in await connection.execute(sa.select(*columns, reviewed.label("reviewed")).where(mine)):
        event = read_event("confirm", row.body)
        assert isinstance(event, Confirmed)
        known = _Known(int(row.number), event, row.place, bool(row.undone), bool(row.reviewed))
        found.setdefault(row.segment, []).append(known)
    return {key: sorted(ones, key=lambda one: one.order, reverse=True) for key, ones in found.items()}


def _equal(event: Confirmed, known: Sequence[_Known]) -> _Known | None:
    """The confirmation that makes a new one superfluous. None: it says something new.

    Only the newest that counts or waits is compared. Those that were undone or refused say nothing in between.
    """
    for one in known:
        if one.undone:
            continue
        if one.is_equal(event):
            return one
        if _content(one.event) != _content(event) and (one.counts or not (one.event.refused or one.reviewed)):
            return None
    return None


async def _says_otherwise(
    connection: AsyncConnection, project_id: int, one: _Known, until: _Known | None = None
) -> bool:
    """Whether another translation of the same source counts after a correction, in whatever document.

    With `until`, those from this correction on are left out. A correction with an external id stands for its own
    segment, whatever others say. An earlier number may have a later place: that of its review.
    """
    if not one.counts or one.event.external_id:
        return False
    review, place = _columns(project_events.alias()), _place(_E)
    accepted = sa.and_(review.project_id == project_id, review.kind == "review", review.number > one.place)
    later = sa.or_(_E.number > one.number, _E.number.in_(sa.select(review.of).where(accepted)))
    text = _E.body["source"].as_string() == one.event.source
    other = _E.body["translation"].as_string() != one.event.translation
    mine = sa.and_(_E.project_id == project_id, _E.kind == "confirm", later, text, other)
    before = place < until.order if until is not None else sa.true()
    query = sa.select(_E.number).where(mine, _LIVE, place > one.place, before).limit(1)
    return (await connection.execute(query)).first() is not None


def _unknown(events: Sequence[Confirmed], first: int, known: dict[str, list[_Known]]) -> dict[int, Confirmed]:
    """The events that say something new, with numbers from the first on."""
    new: dict[int, Confirmed] = {}
    for event in events:
        same = known.setdefault(event.segment_key, [])
        if _equal(event, same) is None:
            number = first + len(new)
            new[number] = event
            same.insert(0, _Known(number, event, None if event.refused or event.waits else number, False, False))
    return new


def _content(event: Confirmed) -> tuple[str, str, str]:
    return event.source, event.translation, event.syntax


async def _check_single(connection: AsyncConnection, project_id: int, event: Redone | Reviewed, number: int) -> None:
    """Raise EqualCorrection if an equal correction of the segment counts just before or just after this one."""
    query = sa.select(_E.kind, _E.body).where(_E.project_id == project_id, _E.number == event.of)
    row = (await connection.execute(query)).first()
    about = None if row is None else read_event(row.kind, row.body)
    if isinstance(about, Rated):
        await _check_only_rating(connection, project_id, about)
    if not isinstance(about, Confirmed):
        return
    known = (await _of_segments(connection, project_id, [about]))[about.segment_key]
    mine = next(one for one in known if one.number == event.of)
    if mine.counts:
        return  # a repeated request changes nothing
    mine = replace(mine, place=number) if isinstance(event, Reviewed) else replace(mine, undone=False)
    counting = [one for one in known if one.counts and one.number != event.of]
    before = next((one for one in counting if one.order < mine.order), None)
    after = next((one for one in reversed(counting) if one.order > mine.order), None)
    for low, high in ((before, mine), (mine, after)):
        if not mine.counts or low is None or high is None or _content(low.event) != _content(high.event):
            continue
        if high.event.insisted and not low.event.insisted:
            continue  # it replaces the other, and the unit of a document follows it alone
        if not await _says_otherwise(connection, project_id, low, high):
            raise EqualCorrection


async def _check_only_rating(connection: AsyncConnection, project_id: int, rated: Rated) -> None:
    """Raise EqualCorrection if a rating of the same proposal counts."""
    mine = sa.and_(_E.project_id == project_id, _E.kind == "rate", _E.segment == rated.segment_key, ~is_undone(_E))
    if (await connection.execute(sa.select(_E.number).where(mine).limit(1))).first() is not None:
        raise EqualCorrection


async def _insert(connection: AsyncConnection, rows: Sequence[dict[str, Any]]) -> None:
    for start in range(0, len(rows), ROWS_PER_INSERT):
        await connection.execute(sa.insert(project_events), rows[start : start + ROWS_PER_INSERT])


def _copied_event(old: int, new: int, is_postgresql: bool) -> sa.Insert:
    """Copy the event with the number `copied` of a project to the number `place` of another one."""
    same = ("kind", "segment", "of", "time", "participant_id", "learned", "base_translation")
    chosen = sa.select(
        sa.literal(new, projects.c.id.type),
        sa.bindparam("place", type_=projects.c.id.type),
        _accepted(is_postgresql),
        *(_E[name] for name in same),
    )
    chosen = chosen.where(_E.project_id == old, _E.number == sa.bindparam("copied", type_=projects.c.id.type))
    return sa.insert(project_events).from_select(["project_id", "number", "body", *same], chosen)


def _accepted(is_postgresql: bool) -> sa.ColumnElement[Any]:
    """The body of a lesson. One that waited for a review was accepted, so it does not wait in a copy."""
    changed: sa.ColumnElement[Any]
    if is_postgresql:
        change = sa.cast(sa.literal('{"waits": false}', sa.Text), postgresql.JSONB)
        changed = sa.cast(sa.cast(_E.body, postgresql.JSONB).concat(change), sa.JSON)
    else:
        changed = sa.func.json_set(_E.body, "$.waits", sa.func.json("false"))
    return sa.case((_E.body["waits"].as_boolean(), changed), else_=_E.body)


def _copied_snapshot(old: int, new: int, digest: str) -> sa.Insert:
    names = ("digest", "lessons", "platform", "data", "created")
    stored = project_snapshots.c
    columns = (stored[name] for name in names)
    chosen = sa.select(sa.literal(new, projects.c.id.type), *columns)
    chosen = chosen.where(stored.project_id == old, stored.digest == digest)
    return sa.insert(project_snapshots).from_select(["project_id", *names], chosen)


async def _has_learner(connection: AsyncConnection, project: TranslationProject) -> bool:
    """Whether a project exists, with the settings of the learner that it had. It is locked, so they stay."""
    await take_numbers(connection, project.id, 0)
    columns = projects.c.model, projects.c.method, projects.c.settings, projects.c.review
    row = (await connection.execute(sa.select(*columns).where(projects.c.id == project.id))).first()
    return row is not None and Configured(*row).learner == project.configured.learner
