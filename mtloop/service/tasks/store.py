"""All SQL of the service, for SQLite and PostgreSQL alike.

Reads run on their own; whatever changes something is one transaction. On SQLite a writing transaction takes the lock
when it begins (BEGIN IMMEDIATE), so it never finds out too late that another was faster; on PostgreSQL the rows of the
runs are locked, in the order of their ids. Either way the primary key of `submissions` has the last word: one reward
for a position of a pass.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from mtloop.core.errors import InputError
from mtloop.service.problems import NO_MORE_PASSES, UNFINISHED, UNKNOWN_RUN, Problem
from mtloop.service.tasks.models import (
    CheckpointSums,
    Entry,
    Participant,
    Run,
    RunProgress,
    SharedTask,
    Submission,
    TaskSentence,
)
from mtloop.service.tasks.sealed_ids import PassPosition, new_key, new_token
from mtloop.service.tasks.tables import (
    STATISTICS,
    allowances,
    checkpoints,
    epoch,
    keys,
    laps,
    participants,
    points,
    runs,
    sentence_id,
    sentences,
    sessions,
    submissions,
    tasks,
)

MIGRATIONS = Path(__file__).parents[1] / "migrations"
CHUNK = 500  # rows of an IN or of one round trip
_AWAY = ("08", "53", "57P")  # PostgreSQL's classes: connection lost, out of resources, shutting down or starting
_ADVISORY = 2017  # the lock under which PostgreSQL lets one process at a time migrate


class Ids(sa.TypeDecorator[list[int]]):
    """A list of numbers as the database takes it."""

    impl = sa.JSON
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> Any:
        return dialect.type_descriptor(postgresql.ARRAY(sa.BigInteger()) if dialect.name == "postgresql" else sa.JSON())


class Among(FunctionElement[bool]):
    """`Among(column, bindparam("ids", type_=Ids()))`."""

    name = "among"
    type = sa.Boolean()
    inherit_cache = True

    def self_group(self, against: Any = None) -> Any:
        """As it is: SQLAlchemy would write `... = 1` on SQLite, which then looks at every row of the table."""
        return self


def among(column: sa.Column[int], parameter: str = "ids") -> Among:
    """Whether a column's value is in the list that comes under this name, as one statement with one parameter.

    SQLAlchemy's own IN writes a question mark for every id, so each number of ids is a statement of its own, to be
    written out and prepared anew. An array (PostgreSQL) or a JSON list (SQLite) is one parameter, whatever is in it.
    """
    return Among(column, sa.bindparam(parameter, type_=Ids()))


@compiles(Among)
def _in_a_list(element: Among, compiler: Any, **options: Any) -> str:
    column, ids = (compiler.process(part, **options) for part in element.clauses)
    return f"{column} IN (SELECT value FROM json_each({ids}))"


@compiles(Among, "postgresql")
def _in_an_array(element: Among, compiler: Any, **options: Any) -> str:
    column, ids = (compiler.process(part, **options) for part in element.clauses)
    return f"{column} = ANY ({ids})"


_EPOCH = sa.select(epoch.c.value).scalar_subquery()
_RUN = (runs.c.id, runs.c.token, runs.c.key, runs.c.task_id, runs.c.participant_id, runs.c.name)
_LAP = (laps.c.lap, laps.c.position, laps.c.reward, laps.c.score, laps.c.oracle, laps.c.updated)
_TASK = tuple(column for column in tasks.c if column.name not in ("ready", "created"))
_ON_LAP = sa.and_(laps.c.run_id == runs.c.id, laps.c.lap == runs.c.lap)

_STANDINGS = sa.select(runs.c.id, *_LAP, _EPOCH.label("epoch")).join(laps, _ON_LAP).where(among(runs.c.id))
_LOCK = sa.select(runs.c.id).where(among(runs.c.id)).order_by(runs.c.id).with_for_update()
_SENTENCES = sa.select(sentences).where(among(sentences.c.id))
_RECORDED = sa.select(submissions).where(
    submissions.c.run_id == sa.bindparam("run"),
    submissions.c.lap == sa.bindparam("of_lap"),
    submissions.c.position == sa.bindparam("at"),
)
_ADVANCE = (
    sa.update(laps)
    .where(laps.c.run_id == sa.bindparam("of_run"), laps.c.lap == sa.bindparam("of_lap"))
    .values({name: sa.bindparam(name) for name in ("position", "reward", "score", "oracle", "updated")})
)
_BY_KEY = (
    sa.select(participants.c.id, participants.c.name, participants.c.organiser, _EPOCH.label("epoch"))
    .join(keys, keys.c.participant_id == participants.c.id)
    .where(keys.c.hash == sa.bindparam("hash"), keys.c.revoked.is_(None))
)


class Store:
    """A database. `connect` it inside the event loop that uses it; `close` it there too."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._reading = engine.execution_options(isolation_level="AUTOCOMMIT") if self.is_postgresql else engine
        self._insert = postgresql.insert if self.is_postgresql else sqlite.insert
        self._add_to_checkpoint = self._upsert_checkpoint()
        self._draw = self._upsert_allowance()

    @classmethod
    def connect(cls, url: str, pool: int = 5) -> Store:
        """The engine connects when it is first used."""
        if not url.startswith("sqlite"):
            return cls(create_async_engine(url, pool_size=pool, max_overflow=pool))
        _make_folder(url)
        engine = create_async_engine(url, pool_size=pool, max_overflow=pool)
        sa.event.listen(engine.sync_engine, "connect", _set_pragmas)
        sa.event.listen(engine.sync_engine, "begin", _begin_sqlite)
        return cls(engine)

    async def close(self) -> None:
        await self._engine.dispose()

    @property
    def is_postgresql(self) -> bool:
        return self._engine.dialect.name == "postgresql"

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[AsyncConnection]:
        async with self._engine.connect() as connection:
            connection = await connection.execution_options(writes=True)
            async with connection.begin():
                yield connection

    async def _rows(self, query: sa.Executable, parameters: Mapping[str, Any] | None = None) -> Sequence[Any]:
        async with self._reading.connect() as connection:
            return (await connection.execute(query, parameters)).all()

    async def _row(self, query: sa.Executable, parameters: Mapping[str, Any] | None = None) -> Any:
        rows = await self._rows(query, parameters)
        return rows[0] if rows else None

    # The schema

    async def migrate(self) -> None:
        """Bring the schema up to date; several processes may try at once."""
        async with self._writing() as connection:
            if self.is_postgresql:
                await connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ADVISORY)))
            await connection.run_sync(_upgrade)

    async def ready(self) -> bool:
        """The database answers and has the schema of this version."""
        async with self._reading.connect() as connection:
            return await connection.run_sync(_is_current)

    # Participants and their keys

    async def add_participant(self, name: str, key_hash: str, organiser: bool = False) -> Participant:
        row = {"name": name, "organiser": organiser, "created": time.time()}
        async with self._writing() as connection:
            if await _exists(connection, participants, name):
                raise InputError(f"participant {name!r} is there already; give a new key with: participant rotate")
            number = await _inserted(connection, participants, row)
            await _add_key(connection, number, key_hash)
        return Participant(number, name, organiser)

    async def rotate_key(self, name: str, key_hash: str) -> None:
        """Revoke all keys of a participant and give a new one."""
        async with self._writing() as connection:
            number = await _find(connection, "participant", participants, name)
            await _revoke(connection, number)
            await _add_key(connection, number, key_hash)

    async def revoke_keys(self, name: str) -> int:
        """Revoke all keys of a participant; how many there were."""
        async with self._writing() as connection:
            return await _revoke(connection, await _find(connection, "participant", participants, name))

    async def participant_list(self) -> list[dict[str, Any]]:
        """Everyone, with how many keys still open a door and how many runs they have."""
        live = sa.select(sa.func.count()).where(keys.c.participant_id == participants.c.id, keys.c.revoked.is_(None))
        begun = sa.select(sa.func.count()).where(runs.c.participant_id == participants.c.id)
        counts = (live.scalar_subquery().label("keys"), begun.scalar_subquery().label("runs"))
        rows = await self._rows(sa.select(participants, *counts).order_by(participants.c.name))
        return [dict(row._mapping) for row in rows]

    async def participant(self, key_hash: str) -> tuple[Participant, int] | None:
        """Whose key it is, and the epoch in which that was so."""
        row = await self._row(_BY_KEY, {"hash": key_hash})
        return None if row is None else (Participant(row.id, row.name, row.organiser), row.epoch)

    async def add_session(self, session_hash: str, key_hash: str, expires: float) -> None:
        async with self._writing() as connection:
            await connection.execute(sa.delete(sessions).where(sessions.c.expires < time.time()))
            row = {"hash": session_hash, "key_hash": key_hash, "expires": expires}
            await connection.execute(sa.insert(sessions), row)

    async def session(self, session_hash: str) -> Participant | None:
        """Who is looking at the pages; nobody once the key they came in with is revoked."""
        query = (
            sa.select(participants.c.id, participants.c.name, participants.c.organiser)
            .join(keys, keys.c.participant_id == participants.c.id)
            .join(sessions, sessions.c.key_hash == keys.c.hash)
            .where(sessions.c.hash == session_hash, sessions.c.expires > time.time(), keys.c.revoked.is_(None))
        )
        row = await self._row(query)
        return None if row is None else Participant(row.id, row.name, row.organiser)

    async def end_session(self, session_hash: str) -> None:
        async with self._writing() as connection:
            await connection.execute(sa.delete(sessions).where(sessions.c.hash == session_hash))

    async def draw(self, participant_id: int, span: int, number: int, wanted: int, limit: int) -> int:
        """Take requests out of a span's allowance; how many of the wanted ones there were."""
        row = {"participant_id": participant_id, "span": span, "span_number": number, "used": wanted}
        async with self._writing() as connection:
            used = (await connection.execute(self._draw, row)).scalar_one()
        return int(max(0, min(wanted, limit - (used - wanted))))

    def _upsert_allowance(self) -> Any:
        new = self._insert(allowances)
        same = allowances.c.span_number == new.excluded.span_number
        used = sa.case((same, allowances.c.used + new.excluded.used), else_=new.excluded.used)
        kept = {"used": used, "span_number": new.excluded.span_number}
        place = [allowances.c.participant_id, allowances.c.span]
        return new.on_conflict_do_update(index_elements=place, set_=kept).returning(allowances.c.used)

    # Tasks

    async def begin_task(self, row: Mapping[str, Any]) -> int:
        """A task nobody sees yet: its sentences come next, then `finish_task`. One left unfinished gives way."""
        new = dict(row) | {"ready": False, "stopped": False, "opened": False, "created": time.time()}
        async with self._writing() as connection:
            await _delete_task(connection, str(row["name"]), ready=False)
            if await _exists(connection, tasks, str(row["name"])):
                raise InputError(f"task {row['name']!r} is there already; choose another name, or delete it first")
            return await _inserted(connection, tasks, new)

    async def add_sentences(self, task_id: int, first: int, rows: Iterable[TaskSentence]) -> None:
        """A piece of a task's data, a transaction each."""
        numbered = enumerate(rows, start=first)
        values = [asdict(sentence) | {"id": sentence_id(task_id, number)} for number, sentence in numbered]
        async with self._writing() as connection:
            await connection.execute(sa.insert(sentences), values)

    async def abandon_task(self, name: str) -> None:
        """Take back what `begin_task` began."""
        async with self._writing() as connection:
            await _delete_task(connection, name, ready=False)

    async def finish_task(self, task_id: int, row: Mapping[str, Any]) -> None:
        async with self._writing() as connection:
            await connection.execute(sa.update(tasks).where(tasks.c.id == task_id).values(**row, ready=True))
            await _next_epoch(connection)

    async def change_task(self, name: str, **changes: bool) -> None:
        """Open or hide results, stop or go on."""
        async with self._writing() as connection:
            number = await _find(connection, "task", tasks, name)
            await connection.execute(sa.update(tasks).where(tasks.c.id == number).values(**changes))
            await _next_epoch(connection)

    async def need_task(self, name: str) -> None:
        """Refuse a name that no task has."""
        async with self._reading.connect() as connection:
            await _find(connection, "task", tasks, name)

    async def delete_task(self, name: str) -> None:
        """A task with all its runs and rewards."""
        async with self._writing() as connection:
            await _find(connection, "task", tasks, name)
            await _delete_task(connection, name, ready=True)

    async def task_list(self) -> list[SharedTask]:
        query = sa.select(*_TASK).where(tasks.c.ready).order_by(tasks.c.id)
        return [_task(row) for row in await self._rows(query)]

    async def task(self, name: str) -> SharedTask | None:
        row = await self._row(sa.select(*_TASK).where(tasks.c.ready, tasks.c.name == name))
        return None if row is None else _task(row)

    async def task_of(self, task_id: int) -> SharedTask | None:
        row = await self._row(sa.select(*_TASK).where(tasks.c.ready, tasks.c.id == task_id))
        return None if row is None else _task(row)

    async def sentences(self, ids: Iterable[int]) -> dict[int, TaskSentence]:
        wanted = list(ids)
        rows = await self._rows(_SENTENCES, {"ids": wanted}) if wanted else []
        return {row.id: TaskSentence(row.source, row.reference, row.oracle) for row in rows}

    async def each_sentence(self, task: SharedTask) -> AsyncIterator[TaskSentence]:
        """The data of a task in order, a chunk at a time."""
        for start in range(0, task.lines, CHUNK):
            ids = [sentence_id(task.id, number) for number in range(start, min(start + CHUNK, task.lines))]
            found = await self.sentences(ids)
            for number in ids:
                yield found[number]

    # Runs

    async def add_run(self, task: SharedTask, participant: Participant, name: str) -> Run | None:
        """A new run at its start; None when the participant has as many as the task allows."""
        now = time.time()
        token, key = new_token(), new_key()
        row = {"token": token, "key": key, "task_id": task.id, "participant_id": participant.id}
        async with self._writing() as connection:
            whose = sa.select(participants.c.id).where(participants.c.id == participant.id).with_for_update()
            await connection.execute(whose)  # so that two requests at once do not both count one run too few
            begun = sa.select(sa.func.count()).where(runs.c.participant_id == participant.id, runs.c.task_id == task.id)
            if task.runs and (await connection.execute(begun)).scalar_one() >= task.runs:
                return None
            number = await _inserted(connection, runs, row | {"name": name, "lap": 1, "created": now})
            await connection.execute(sa.insert(laps), _new_lap(number, 1, now))
        return Run(number, token, key, task.id, participant.id, name)

    async def run(self, token: str) -> Run | None:
        row = await self._row(sa.select(*_RUN).where(runs.c.token == token))
        return None if row is None else Run(*row)

    async def runs_of(self, participant: Participant, task_id: int | None = None) -> list[tuple[Run, RunProgress]]:
        query = sa.select(*_RUN, *_LAP).join(laps, _ON_LAP).where(runs.c.participant_id == participant.id)
        if task_id is not None:
            query = query.where(runs.c.task_id == task_id)
        return [(Run(*row[:6]), RunProgress(*row[6:])) for row in await self._rows(query.order_by(runs.c.id))]

    async def standings(self, run_ids: Iterable[int]) -> tuple[dict[int, RunProgress], int]:
        """Where runs stand, and the epoch."""
        rows = await self._rows(_STANDINGS, {"ids": list(run_ids)})
        return {row.id: RunProgress(*row[1:7]) for row in rows}, max((row.epoch for row in rows), default=0)

    async def start_lap(self, run: Run, passes: int, whole: int | None) -> RunProgress | Problem:
        """The next pass, if the run is in none beyond `passes` (0: any number) and has done `whole` of this one."""
        now = time.time()
        async with self._writing() as connection:
            standing = (await _locked(connection, [run.id]))[0].get(run.id)
            if standing is None:
                return UNKNOWN_RUN
            if passes and standing.lap >= passes:
                return NO_MORE_PASSES
            if whole is not None and standing.position < whole:
                return UNFINISHED
            lap = standing.lap + 1
            await connection.execute(sa.update(runs).where(runs.c.id == run.id).values(lap=lap))
            await connection.execute(sa.insert(laps), _new_lap(run.id, lap, now))
        return RunProgress(lap, updated=now)

    @asynccontextmanager
    async def ledger(self) -> AsyncIterator[RewardTransaction]:
        """One transaction in which rewards are given."""
        async with self._writing() as connection:
            yield RewardTransaction(connection, self._add_to_checkpoint)

    def _upsert_checkpoint(self) -> Any:
        new = self._insert(checkpoints)
        names = ("count", "reward", "score", *(f"s{number}" for number in range(STATISTICS)))
        added = {name: checkpoints.c[name] + new.excluded[name] for name in names}
        place = [checkpoints.c.run_id, checkpoints.c.lap, checkpoints.c.block]
        return new.on_conflict_do_update(index_elements=place, set_=added)

    # What came of it

    async def entries(self, task: SharedTask) -> list[Entry]:
        """Every run of a task: its last pass that earned a rank, else the pass it is in."""
        last = sa.func.max(laps.c.lap).filter(laps.c.position >= task.required)
        shown = (
            sa.select(laps.c.run_id, sa.func.coalesce(last, sa.func.max(laps.c.lap)).label("lap"))
            .join(runs, runs.c.id == laps.c.run_id)
            .where(runs.c.task_id == task.id)
            .group_by(laps.c.run_id)
            .subquery()
        )
        chosen = sa.and_(laps.c.run_id == shown.c.run_id, laps.c.lap == shown.c.lap)
        query = (
            sa.select(*_RUN, participants.c.name.label("participant"), *_LAP)
            .join(participants, participants.c.id == runs.c.participant_id)
            .join(shown, shown.c.run_id == runs.c.id)
            .join(laps, chosen)
            .order_by(runs.c.id)
        )
        of_shown = sa.and_(checkpoints.c.run_id == shown.c.run_id, checkpoints.c.lap == shown.c.lap)
        held = await self._rows(sa.select(checkpoints).join(shown, of_shown).order_by(checkpoints.c.block))
        found: dict[int, list[CheckpointSums]] = {}
        for row in held:
            found.setdefault(row.run_id, []).append(_checkpoint(row))
        rows = await self._rows(query)
        return [Entry(Run(*row[:6]), row[6], RunProgress(*row[7:]), tuple(found.get(row[0], ()))) for row in rows]

    async def checkpoints(self, run: Run) -> dict[int, list[CheckpointSums]]:
        """A run's checkpoints by pass."""
        query = sa.select(checkpoints).where(checkpoints.c.run_id == run.id)
        found: dict[int, list[CheckpointSums]] = {}
        for row in await self._rows(query.order_by(checkpoints.c.lap, checkpoints.c.block)):
            found.setdefault(row.lap, []).append(_checkpoint(row))
        return found

    async def laps(self, run: Run) -> list[RunProgress]:
        """Every pass of a run."""
        return [RunProgress(*row) for row in await self._rows(_of(run, sa.select(*_LAP), laps).order_by(laps.c.lap))]

    async def curve(self, run: Run) -> dict[int, list[RunProgress]]:
        """The points kept of each pass: a few for every power of ten."""
        query = sa.select(points.c.lap, points.c.position, points.c.reward, points.c.score, points.c.oracle)
        found: dict[int, list[RunProgress]] = {}
        for row in await self._rows(_of(run, query, points).order_by(points.c.lap, points.c.position)):
            found.setdefault(row.lap, []).append(RunProgress(*row))
        return found

    async def submissions(self, run: Run, lap: int) -> AsyncIterator[list[Submission]]:
        """What was submitted in a pass, in order, in chunks."""
        query = _of(run, sa.select(submissions), submissions).where(submissions.c.lap == lap)
        start = 0
        while True:
            piece = query.where(submissions.c.position >= start).order_by(submissions.c.position).limit(CHUNK)
            rows = await self._rows(piece)
            yield [_submission(row) for row in rows]
            if len(rows) < CHUNK:
                return
            start = rows[-1].position + 1

    async def activity(self) -> list[dict[str, Any]]:
        """For each task: how many runs, how many sentences translated, when last."""
        query = (
            sa.select(
                tasks.c.name,
                tasks.c.kind,
                tasks.c.samples,
                tasks.c.stopped,
                tasks.c.opened,
                sa.func.count(runs.c.id.distinct()).label("runs"),
                sa.func.count(runs.c.participant_id.distinct()).label("participants"),
                sa.func.coalesce(sa.func.sum(laps.c.position), 0).label("translated"),
                sa.func.max(laps.c.updated).label("updated"),
            )
            .outerjoin(runs, runs.c.task_id == tasks.c.id)
            .outerjoin(laps, laps.c.run_id == runs.c.id)
            .where(tasks.c.ready)
            .group_by(tasks.c.id)
            .order_by(tasks.c.id)
        )
        return [dict(row._mapping) for row in await self._rows(query)]


class RewardTransaction:
    """An open transaction: the runs in it are locked until it ends."""

    def __init__(self, connection: AsyncConnection, add_to_checkpoint: Any) -> None:
        self._connection, self._add_to_checkpoint = connection, add_to_checkpoint

    async def lock(self, run_ids: Iterable[int]) -> tuple[dict[int, RunProgress], int]:
        """Where the runs stand, and the epoch; nobody moves them before this transaction ends."""
        return await _locked(self._connection, sorted(run_ids))

    async def recorded(self, run_id: int, place: PassPosition) -> Submission | None:
        """What was submitted at a place before."""
        where = {"run": run_id, "of_lap": place.lap, "at": place.position}
        row = (await self._connection.execute(_RECORDED, where)).first()
        return None if row is None else _submission(row)

    async def give(self, given: Sequence[Submission]) -> None:
        """Rewards, one for a place."""
        rows = [
            {
                "run_id": one.run_id,
                "lap": one.place.lap,
                "position": one.place.position,
                "translation": one.translation,
                "reward": one.reward,
                "score": one.score,
            }
            for one in given
        ]
        await self._connection.execute(sa.insert(submissions), rows)

    async def advance(self, standings: Mapping[int, RunProgress]) -> None:
        """The new sums of the passes."""
        rows = [
            {
                "of_run": run_id,
                "of_lap": one.lap,
                "position": one.position,
                "reward": one.reward,
                "score": one.score,
                "oracle": one.oracle,
                "updated": one.updated,
            }
            for run_id, one in standings.items()
        ]
        await self._connection.execute(_ADVANCE, rows)

    async def keep_points(self, kept: Sequence[tuple[int, RunProgress]]) -> None:
        """Points of the curves."""
        rows = [
            {"run_id": run_id, "lap": one.lap, "position": one.position}
            | {"reward": one.reward, "score": one.score, "oracle": one.oracle}
            for run_id, one in kept
        ]
        await self._connection.execute(sa.insert(points), rows)

    async def add_to_checkpoints(self, added: Sequence[tuple[int, int, CheckpointSums]]) -> None:
        """(run, pass, what to add), in the order in which it came."""
        rows = [
            {"run_id": run_id, "lap": lap, "block": one.block, "count": one.count}
            | {"reward": one.reward, "score": one.score}
            | {f"s{number}": value for number, value in enumerate(one.statistics)}
            for run_id, lap, one in added
        ]
        await self._connection.execute(self._add_to_checkpoint, rows)


async def _locked(connection: AsyncConnection, run_ids: Sequence[int]) -> tuple[dict[int, RunProgress], int]:
    """Where runs stand, once they are locked.

    PostgreSQL reads as of the beginning of a statement: one that waits for a lock does not see what it waited for, so
    standings are read by a second one. SQLite has one writer at a time, and nobody waits here.
    """
    if connection.dialect.name == "postgresql":
        await connection.execute(_LOCK, {"ids": list(run_ids)})
    rows = (await connection.execute(_STANDINGS, {"ids": list(run_ids)})).all()
    return {row.id: RunProgress(*row[1:7]) for row in rows}, max((row.epoch for row in rows), default=0)


async def _inserted(connection: AsyncConnection, table: sa.Table, row: Mapping[str, Any]) -> int:
    return int((await connection.execute(sa.insert(table).returning(table.c.id), row)).scalar_one())


async def _exists(connection: AsyncConnection, table: sa.Table, name: str) -> bool:
    return (await connection.execute(sa.select(table.c.id).where(table.c.name == name))).first() is not None


async def _find(connection: AsyncConnection, kind: str, table: sa.Table, name: str) -> int:
    row = (await connection.execute(sa.select(table.c.id).where(table.c.name == name))).first()
    if row is None:
        known = (await connection.execute(sa.select(table.c.name).order_by(table.c.name).limit(50))).scalars().all()
        raise InputError(f"no {kind} {name!r}; there are: {', '.join(known) or 'none yet'}")
    return int(row.id)


async def _add_key(connection: AsyncConnection, participant_id: int, key_hash: str) -> None:
    row = {"hash": key_hash, "participant_id": participant_id, "created": time.time()}
    await connection.execute(sa.insert(keys), row)
    await _next_epoch(connection)


async def _revoke(connection: AsyncConnection, participant_id: int) -> int:
    live = sa.and_(keys.c.participant_id == participant_id, keys.c.revoked.is_(None))
    result = await connection.execute(sa.update(keys).where(live).values(revoked=time.time()))
    await _next_epoch(connection)
    return int(result.rowcount)


async def _next_epoch(connection: AsyncConnection) -> None:
    """Whatever workers remember of keys and tasks is void from here on."""
    await connection.execute(sa.update(epoch).values(value=epoch.c.value + 1))


async def _delete_task(connection: AsyncConnection, name: str, ready: bool) -> None:
    found = sa.select(tasks.c.id).where(tasks.c.name == name, tasks.c.ready == ready)
    number = (await connection.execute(found)).scalar_one_or_none()
    if number is None:
        return
    its = sa.and_(sentences.c.id >= sentence_id(number, 0), sentences.c.id < sentence_id(number + 1, 0))
    await connection.execute(sa.delete(sentences).where(its))
    await connection.execute(sa.delete(tasks).where(tasks.c.id == number))
    await _next_epoch(connection)


def _of(run: Run, query: Any, table: sa.Table) -> Any:
    return query.where(table.c.run_id == run.id)


def _new_lap(run_id: int, lap: int, now: float) -> dict[str, Any]:
    sums = {"position": 0, "reward": 0.0, "score": 0.0, "oracle": 0.0}
    return {"run_id": run_id, "lap": lap, "started": now, "updated": now} | sums


def _task(row: Any) -> SharedTask:
    return SharedTask(**dict(row._mapping) | {"preprocess": tuple(row.preprocess)})


def _checkpoint(row: Any) -> CheckpointSums:
    statistics = tuple(row._mapping[f"s{number}"] for number in range(STATISTICS))
    return CheckpointSums(row.block, row._mapping["count"], row.reward, row.score, statistics)


def _submission(row: Any) -> Submission:
    return Submission(row.run_id, PassPosition(row.lap, row.position), row.translation, row.reward, row.score)


def _make_folder(url: str) -> None:
    name = sa.make_url(url).database
    if name and name != ":memory:":
        Path(name).parent.mkdir(parents=True, exist_ok=True)


def _set_pragmas(connection: Any, _: object) -> None:
    connection.isolation_level = None  # the driver begins no transactions of its own: `_begin_sqlite` does
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=30000", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: sa.Connection) -> None:
    if connection.get_execution_options().get("writes"):
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def _script() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config())


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    return config


def _upgrade(connection: sa.Connection) -> None:
    config, script = _config(), _script()
    with EnvironmentContext(config, script, fn=lambda at, _: script._upgrade_revs("head", at)) as environment:
        environment.configure(connection=connection, render_as_batch=True)
        environment.run_migrations()


def _is_current(connection: sa.Connection) -> bool:
    at = MigrationContext.configure(connection).get_current_revision()
    return at == _script().get_current_head()


def is_outage(error: Exception) -> bool:
    """Whether the database itself is away, rather than something being wrong with what it was asked."""
    if isinstance(error, sa.exc.DBAPIError):
        known = error.connection_invalidated or isinstance(error, sa.exc.OperationalError | sa.exc.InterfaceError)
        return known or str(getattr(error.orig, "sqlstate", "")).startswith(_AWAY)
    return isinstance(error, OSError | sa.exc.TimeoutError)
