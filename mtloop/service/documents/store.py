"""All SQL about documents and their units.

A unit follows the log of its project: `follow` runs in the transaction that adds an event, so both always agree. Every
change of a unit first counts the changes of its document. That locks the document, so changes come one after the other.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from mtloop.service.accounts.tables import participants
from mtloop.service.audit.models import Actor
from mtloop.service.audit.store import record
from mtloop.service.database import Database, insert_row
from mtloop.service.documents.failed_texts import TextRules, checks_of
from mtloop.service.documents.followed_correction import FollowedCorrection, FollowingUnit
from mtloop.service.documents.models import (
    CONFIRMED,
    LOCKED,
    OPEN,
    TRANSLATED,
    DocumentGone,
    NewDocument,
    StoredDocument,
    StoredUnit,
    TooManyDocuments,
    UnitChanged,
    UnitDraft,
    UnitFilter,
    UnitKey,
    UnitNotConfirmed,
)
from mtloop.service.documents.tables import document_units, project_documents
from mtloop.service.project_log.correction_store import standing_confirmations
from mtloop.service.project_log.event_log import Confirmed
from mtloop.service.project_log.models import ProjectGone, TranslationProject
from mtloop.service.project_log.store import keep_project, lock_project
from mtloop.service.project_log.tables import project_events, projects

ROWS_PER_INSERT = 500
MAX_DOCUMENTS = 500  # of a project
_D, _U = project_documents.c, document_units.c
_EVENT = project_events.alias("confirmation")
_AUTHOR, _DRAFTER = participants.alias("author"), participants.alias("drafter")
_IS_CONFIRMED = _U.correction.is_not(None)
_CONFIRMED_TEXT = _EVENT.c.body["translation"].as_string()
_KINDS: Mapping[str, sa.ColumnElement[bool]] = {
    "all": sa.true(),
    OPEN: sa.and_(_U.state == OPEN, ~_IS_CONFIRMED),
    TRANSLATED: sa.and_(_U.state == TRANSLATED, ~_IS_CONFIRMED),
    CONFIRMED: _IS_CONFIRMED,
    LOCKED: _U.state == LOCKED,
    "changed": sa.or_(_U.draft.is_not(None), sa.and_(_IS_CONFIRMED, _U.target != _CONFIRMED_TEXT)),
    "failing": _U.failing,
}
KINDS = tuple(_KINDS)


def external_id(token: str, place: int) -> str:
    """The external id of the corrections of a unit."""
    return f"{token}:{place}"


class DocumentStore:
    """Documents in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # Documents

    async def add(
        self, project: TranslationProject, new: NewDocument, participant_id: int | None, most_bytes: int = 0
    ) -> StoredDocument:
        """Store a file with its units. Raise ProjectGone or TooManyDocuments.

        The documents of a project may take `most_bytes`; 0: no limit. They are counted again at the end, while the
        project is locked: it is not locked for as long as many units take.
        """
        row: dict[str, Any] = {"project_id": project.id, "token": new.token, "name": new.name, "format": new.format}
        row |= {"content": new.content, "units": len(new.units), "change": 0, "created": time.time()}
        async with self._database.writing() as connection:
            if not await keep_project(connection, project.id):
                raise ProjectGone
            await _check_room(connection, project.id, 1, len(new.content), most_bytes)
            number = await insert_row(connection, project_documents, row | {"participant_id": participant_id})
            rows = _unit_rows(number, new)
            for start in range(0, len(rows), ROWS_PER_INSERT):
                await connection.execute(sa.insert(document_units), rows[start : start + ROWS_PER_INSERT])
            await lock_project(connection, project.id)
            await _check_room(connection, project.id, 0, 0, most_bytes)
        found = await self.find(project.id, new.token)
        if found is None:
            raise ProjectGone
        return found

    async def find(self, project_id: int, token: str) -> StoredDocument | None:
        """A document of a project, with the numbers of its units by state."""
        found = await self._documents(_D.project_id == project_id, _D.token == token, limit=1)
        return found[0] if found else None

    async def page(self, project_id: int, after: int | None, limit: int) -> list[StoredDocument]:
        """The documents of a project, the newest first; with `after`, those that follow this id in the list."""
        older = sa.true() if after is None else _D.id < after
        return await self._documents(_D.project_id == project_id, older, limit=limit)

    async def delete(self, project: TranslationProject, document: StoredDocument, by: Actor) -> bool:
        """Delete a document. Its corrections stay in the log of the project. False: it was deleted already."""
        mine = sa.delete(project_documents).where(_D.id == document.id)
        async with self._database.writing() as connection:
            await keep_project(connection, project.id)
            deleted = bool((await connection.execute(mine)).rowcount)
            if deleted:
                await record(connection, by, "document.delete", project.name, {"document": document.name})
        await self._database.forget_deleted()
        return deleted

    async def content(self, document_id: int) -> bytes:
        """The file as it came. Raise DocumentGone."""
        row = await self._database.row(sa.select(_D.content).where(_D.id == document_id))
        if row is None:
            raise DocumentGone
        return bytes(row.content)

    async def confirmed_texts(self, document: StoredDocument) -> dict[int, str]:
        """The texts of the confirmed units, by their index."""
        query = sa.select(_U.place, _CONFIRMED_TEXT).join_from(document_units, _EVENT, _is_confirmation(document))
        rows = await self._database.rows(query.where(_U.document_id == document.id, _U.state != LOCKED))
        return {int(place): str(text) for place, text in rows}

    async def written_texts(self, project_id: int, numbers: Sequence[int]) -> dict[int, tuple[str, str]]:
        """The source and the translation of corrections of a project as they were confirmed, by number."""
        source, translation = (_EVENT.c.body[name].as_string() for name in ("source", "translation"))
        mine = sa.and_(_EVENT.c.project_id == project_id, _EVENT.c.number.in_(numbers))
        query = sa.select(_EVENT.c.number, source, translation).where(mine, translation.is_not(None))
        rows = await self._database.rows(query) if numbers else ()
        return {int(number): (str(one), str(other)) for number, one, other in rows}

    async def _documents(self, *conditions: Any, limit: int) -> list[StoredDocument]:
        columns = (_D.id, _D.project_id, _D.token, _D.name, _D.format, _D.units, _D.change, _D.created)
        chosen = (
            sa.select(*columns, participants.c.name.label("participant"))
            .join(participants, participants.c.id == _D.participant_id, isouter=True)
            .where(*conditions)
            .order_by(_D.id.desc())
            .limit(limit)
        )
        rows = await self._database.rows(chosen)
        counts = await self._counts([row.id for row in rows])
        return [replace(StoredDocument(*row), **counts.get(row.id, {})) for row in rows]

    async def _counts(self, ids: Sequence[int]) -> dict[int, dict[str, Any]]:
        """The number of units in each state, by document. The index of states holds all that is needed."""
        state = sa.case((_IS_CONFIRMED, CONFIRMED), else_=_U.state).label("shown")
        query = sa.select(_U.document_id, state, sa.func.count()).where(_U.document_id.in_(ids))
        found: dict[int, dict[str, Any]] = {}
        for document, name, count in await self._database.rows(query.group_by(_U.document_id, state)) if ids else ():
            found.setdefault(int(document), {})[name] = int(count)
        return found

    # Units

    async def units(self, document: StoredDocument, chosen: UnitFilter, limit: int) -> list[StoredUnit]:
        """Units in the order of the file."""
        query = _units(document).where(_U.place > chosen.after, _KINDS[chosen.kind], _has_text(chosen.search))
        return list(map(_unit, await self._database.rows(query.order_by(_U.place).limit(limit))))

    async def units_at(self, document: StoredDocument, places: Sequence[int]) -> dict[int, StoredUnit]:
        """Units by their index in the file."""
        rows = await self._database.rows(_units(document).where(_U.place.in_(places)))
        return {row.place: _unit(row) for row in rows}

    async def changed(self, document: StoredDocument, after: int, limit: int) -> list[StoredUnit]:
        """Units that changed after a number of the document's changes, in the order of their changes."""
        query = _units(document).where(_U.change > after).order_by(_U.change, _U.place).limit(limit)
        return list(map(_unit, await self._database.rows(query)))

    async def set_draft(
        self, document: StoredDocument, key: UnitKey, text: str | None, participant_id: int | None, language: str
    ) -> tuple[int, int]:
        """Keep what somebody types; None: nothing. Return the new version of the unit and the number of the change.

        Raise UnitChanged if the unit has another version, unless its draft is the same text.
        """
        async with self._database.writing() as connection:
            if not await keep_project(connection, document.project_id):
                raise DocumentGone
            change = await _count_change(connection, document.id)
            unit = await _read(connection, document, key.place)
            if unit.version != key.version:
                if unit.draft is not None and unit.draft.text == text:
                    return unit.version, unit.change
                raise UnitChanged
            shown = unit.target if text is None else text
            values = {"draft": text, "draft_participant_id": None if text is None else participant_id}
            await _write(connection, key, change, values | _checked(TextRules.of(unit, language), shown))
        return key.version + 1, change

    async def begin_confirmation(
        self, connection: AsyncConnection, document: StoredDocument, key: UnitKey, text: str, language: str
    ) -> None:
        """Drop the draft of a unit that is confirmed in this transaction.

        Raise UnitChanged if the unit has another version, unless it is confirmed with the same text already.
        """
        change = await _count_change(connection, document.id)
        unit = await _read(connection, document, key.place)
        if unit.version != key.version:
            if unit.correction is not None and unit.draft is None and unit.target == text:
                return
            raise UnitChanged
        values = {"draft": None, "draft_participant_id": None}
        await _write(connection, key, change, values | _checked(TextRules.of(unit, language), text))

    async def begin_undo(self, connection: AsyncConnection, document: StoredDocument, key: UnitKey) -> None:
        """Check that a unit may be opened again. Raise UnitChanged or UnitNotConfirmed."""
        await _count_change(connection, document.id)
        unit = await _read(connection, document, key.place)
        if unit.version != key.version:
            raise UnitChanged
        if unit.correction is None:
            raise UnitNotConfirmed

    async def follow(
        self, connection: AsyncConnection, project_id: int, segments: Sequence[str], participant_id: int | None
    ) -> None:
        """Let units have the newest confirmation that stands in the log now and fits them.

        The text of one that was taken back becomes a draft, unless there is a draft. So does one that a person has to
        look at.
        """
        if not await _lock_documents(connection, project_id, segments):
            return
        columns = (
            _U.document_id,
            _U.place,
            _U.source,
            _U.target,
            _U.syntax,
            _U.context,
            _U.state,
            _U.segment,
            _U.correction,
            _U.draft,
        )
        query = sa.select(*columns, projects.c.target_language)
        query = query.join(project_documents, _D.id == _U.document_id).join(projects, projects.c.id == _D.project_id)
        mine = sa.and_(_D.project_id == project_id, _U.segment.in_(segments))
        units = (await connection.execute(query.where(mine).order_by(_U.document_id, _U.place))).all()
        standing = await standing_confirmations(connection, project_id, [unit.segment for unit in units])
        for unit in units:
            confirmed, language = standing.get(unit.segment, ()), unit.target_language
            flags = TextRules.of(unit, language).flags
            following = FollowingUnit(unit.source, unit.syntax, unit.state, unit.correction, flags)
            chosen = await asyncio.to_thread(FollowedCorrection.choose, following, confirmed, language)
            if chosen.number != unit.correction or (chosen.draft is not None and unit.draft is None):
                await _set_correction(connection, project_id, unit, chosen, participant_id)


async def _check_room(
    connection: AsyncConnection, project_id: int, added: int, added_bytes: int, most_bytes: int
) -> None:
    """Raise TooManyDocuments if a project has no room for documents that are to be added."""
    stored = sa.func.coalesce(sa.func.sum(sa.func.length(_D.content)), 0)
    query = sa.select(sa.func.count(), stored).where(_D.project_id == project_id)
    count, size = (await connection.execute(query)).one()
    if count + added > MAX_DOCUMENTS or (most_bytes and size + added_bytes > most_bytes):
        raise TooManyDocuments


def _unit_rows(document_id: int, new: NewDocument) -> list[dict[str, Any]]:
    return [
        {
            "document_id": document_id,
            "place": place,
            "name": unit.name,
            "source": unit.source,
            "target": unit.target,
            "state": unit.state,
            "fuzzy": unit.fuzzy,
            "context": dict(unit.context),
            "syntax": unit.syntax,
            "segment": Confirmed("", "", external_id=external_id(new.token, place)).segment_key,
            "checks": list(unit.checks),
            "failing": bool(unit.checks),
            "version": 0,
            "change": 0,
        }
        for place, unit in enumerate(new.units)
    ]


def _is_confirmation(document: StoredDocument) -> sa.ColumnElement[bool]:
    return sa.and_(_EVENT.c.project_id == document.project_id, _EVENT.c.number == _U.correction)


def _units(document: StoredDocument) -> sa.Select[Any]:
    drafter = _DRAFTER.c.name.label("drafter")
    return (
        sa.select(*_U, _CONFIRMED_TEXT.label("confirmed"), _AUTHOR.c.name.label("author"), drafter)
        .join_from(document_units, _EVENT, _is_confirmation(document), isouter=True)
        .join(_AUTHOR, _AUTHOR.c.id == _EVENT.c.participant_id, isouter=True)
        .join(_DRAFTER, _DRAFTER.c.id == _U.draft_participant_id, isouter=True)
        .where(_U.document_id == document.id)
    )


def _has_text(search: str) -> sa.ColumnElement[bool]:
    if not search:
        return sa.true()
    texts: tuple[sa.ColumnElement[Any], ...] = (_U.source, _U.target, _U.draft, _CONFIRMED_TEXT)
    return sa.or_(*(text.icontains(search, autoescape=True) for text in texts))


def _unit(row: Any) -> StoredUnit:
    is_confirmed = row.correction is not None
    return StoredUnit(
        row.place,
        row.name,
        row.source,
        row.confirmed if is_confirmed else row.target,
        CONFIRMED if is_confirmed else row.state,
        row.fuzzy and not is_confirmed,
        row.context,
        row.syntax,
        row.segment,
        row.correction,
        row.author,
        None if row.draft is None else UnitDraft(row.draft, row.drafter),
        row.checks,
        row.version,
        row.change,
    )


async def _count_change(connection: AsyncConnection, document_id: int) -> int:
    """The number of a new change of a document, which is locked until the transaction ends. Raise DocumentGone."""
    counted = sa.update(project_documents).where(_D.id == document_id).values(change=_D.change + 1)
    row = (await connection.execute(counted.returning(_D.change))).first()
    if row is None:
        raise DocumentGone
    return int(row.change)


async def _read(connection: AsyncConnection, document: StoredDocument, place: int) -> StoredUnit:
    row = (await connection.execute(_units(document).where(_U.place == place))).first()
    if row is None:
        raise DocumentGone
    return _unit(row)


async def _write(connection: AsyncConnection, key: UnitKey, change: int, values: Mapping[str, Any]) -> None:
    mine = sa.and_(_U.document_id == key.document_id, _U.place == key.place)
    changed = sa.update(document_units).where(mine).values(version=_U.version + 1, change=change, **values)
    await connection.execute(changed)


def _checked(rules: TextRules, text: str) -> dict[str, Any]:
    checks = checks_of(rules, text)
    return {"checks": checks, "failing": bool(checks)}


async def _lock_documents(connection: AsyncConnection, project_id: int, segments: Sequence[str]) -> bool:
    """Lock the documents of these segments until the transaction ends, and return whether there are any.

    What was read of their units before may have changed meanwhile.
    """
    mine = sa.select(_U.document_id).where(_U.segment.in_(segments))
    locked = sa.select(_D.id).where(_D.project_id == project_id, _D.id.in_(mine)).order_by(_D.id)
    return bool((await connection.execute(locked.with_for_update(key_share=True))).all())


async def _set_correction(
    connection: AsyncConnection, project_id: int, unit: Any, chosen: FollowedCorrection, participant_id: int | None
) -> None:
    change = await _count_change(connection, unit.document_id)
    values: dict[str, Any] = {"correction": chosen.number}
    text = unit.target if chosen.number is None else chosen.text
    draft = unit.draft
    if draft is None and unit.state != LOCKED:
        draft = chosen.draft
        if draft is None and chosen.number is None:
            draft = await _translation(connection, project_id, unit.correction)
        values |= {"draft": draft, "draft_participant_id": None if draft is None else participant_id}
    shown = text if draft is None else draft
    values |= await asyncio.to_thread(_checked, TextRules.of(unit, unit.target_language), shown)
    await _write(connection, UnitKey(unit.document_id, unit.place), change, values)


async def _translation(connection: AsyncConnection, project_id: int, number: int) -> str:
    """The text of a confirmation."""
    mine = sa.and_(_EVENT.c.project_id == project_id, _EVENT.c.number == number)
    return str((await connection.execute(sa.select(_CONFIRMED_TEXT).where(mine))).scalar_one())
