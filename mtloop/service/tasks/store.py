"""All SQL about tasks, runs, rewards and results, for SQLite and PostgreSQL.

On PostgreSQL the rows of the runs are locked, in the order of their ids, before rewards are given. On both databases
the primary key of `submissions` guarantees one reward for each position of a pass.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from mtloop.core.errors import InputError
from mtloop.service.accounts.keys import new_token
from mtloop.service.accounts.models import Participant
from mtloop.service.accounts.tables import participants
from mtloop.service.audit.models import Actor
from mtloop.service.audit.store import record
from mtloop.service.database import (
    CACHE_VERSION,
    Database,
    find_id,
    in_list,
    insert_row,
    invalidate_caches,
    name_exists,
)
from mtloop.service.problems import NO_MORE_PASSES, UNFINISHED_PASS, UNKNOWN_RUN, Problem
from mtloop.service.tasks.models import (
    CheckpointSums,
    Entry,
    Run,
    RunProgress,
    SharedTask,
    Submission,
    TaskSentence,
)
from mtloop.service.tasks.sealed_ids import PassPosition, new_id_key
from mtloop.service.tasks.tables import (
    OUTSIDE,
    STATISTICS,
    checkpoints,
    curve_points,
    passes,
    runs,
    sentence_id,
    sentences,
    submissions,
    tasks,
)

CHUNK = 500  # rows read at a time

_RUN = (runs.c.id, runs.c.token, runs.c.id_key, runs.c.task_id, runs.c.participant_id, runs.c.name)
_PASS = (
    passes.c.pass_number,
    passes.c.position,
    passes.c.reward,
    passes.c.score,
    passes.c.oracle_score,
    passes.c.updated,
)
_TASK = tuple(column for column in tasks.c if column.name not in ("ready", "created"))
_CURRENT_PASS = sa.and_(passes.c.run_id == runs.c.id, passes.c.pass_number == runs.c.pass_number)

PROGRESS_QUERY = (
    sa.select(runs.c.id, *_PASS, CACHE_VERSION.label("version")).join(passes, _CURRENT_PASS).where(in_list(runs.c.id))
)
SENTENCES_QUERY = sa.select(sentences).where(in_list(sentences.c.id))
_LOCK = sa.select(runs.c.id).where(in_list(runs.c.id)).order_by(runs.c.id).with_for_update()
_SUBMISSION_AT = sa.select(submissions).where(
    submissions.c.run_id == sa.bindparam("run"),
    submissions.c.pass_number == sa.bindparam("in_pass"),
    submissions.c.position == sa.bindparam("at"),
)
_UPDATE_PASS = (
    sa.update(passes)
    .where(passes.c.run_id == sa.bindparam("of_run"), passes.c.pass_number == sa.bindparam("in_pass"))
    .values({name: sa.bindparam(name) for name in ("position", "reward", "score", "oracle_score", "updated")})
)


class TaskStore:
    """Tasks in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._add_to_checkpoint = self._upsert_checkpoint()

    # Tasks

    async def begin_task(self, row: Mapping[str, Any]) -> int:
        """Insert a task that is not visible until `finish_task`. An unfinished task of the same name is deleted."""
        new = dict(row) | {"ready": False, "stopped": False, "results_open": False, "created": time.time()}
        async with self._database.writing() as connection:
            await _delete_task(connection, str(row["name"]), ready=False)
            if await name_exists(connection, tasks, str(row["name"])):
                raise InputError(f"task {row['name']!r} exists already; choose another name, or delete it first")
            return await insert_row(connection, tasks, new)

    async def add_sentences(self, task_id: int, first: int, rows: Iterable[TaskSentence]) -> None:
        """Insert sentences, numbered from `first`, in one transaction."""
        numbered = enumerate(rows, start=first)
        values = [asdict(sentence) | {"id": sentence_id(task_id, number)} for number, sentence in numbered]
        async with self._database.writing() as connection:
            await connection.execute(sa.insert(sentences), values)

    async def abandon_task(self, name: str) -> None:
        """Delete what `begin_task` and `add_sentences` inserted."""
        async with self._database.writing() as connection:
            await _delete_task(connection, name, ready=False)

    async def finish_task(
        self,
        task_id: int,
        row: Mapping[str, Any],
        by: Actor | None = None,
        allow_overlap: bool = False,
        compared: Iterable[int] = (),
    ) -> list[SharedTask]:
        """Make a task visible, and return []. Unless overlap is allowed, it must be compared with all others before.

        Those that are not among the ids in `compared` are returned, and the task stays invisible. Only one task is made
        visible at a time: otherwise two could become so that were never compared with each other.
        """
        this = tasks.c.id == task_id
        async with self._database.writing() as connection:
            own = (await connection.execute(sa.select(tasks).where(this).with_for_update())).one_or_none()
            if own is None:
                raise InputError("the task was begun anew by somebody else; create it again")
            await invalidate_caches(connection)  # first: it locks, so that what others make visible is seen below
            if not allow_overlap:
                query = sa.select(*_TASK).where(tasks.c.ready, sa.not_(in_list(tasks.c.id))).order_by(tasks.c.id)
                others = (await connection.execute(query, {"ids": sorted(compared)})).all()
                if others:
                    return [_task(other) for other in others]
            await connection.execute(sa.update(tasks).where(this).values(**row, ready=True))
            await record(connection, by, "task.create", own.name, {"kind": own.kind, "allow_overlap": allow_overlap})
        return []

    async def change_task(self, name: str, by: Actor | None = None, **changes: bool) -> None:
        """Set `results_open` or `stopped`. Only a training task can hide its results."""
        async with self._database.writing() as connection:
            this = tasks.c.id == await find_id(connection, "task", tasks, name)
            old = (await connection.execute(sa.select(tasks).where(this).with_for_update())).one()._mapping
            new = {field: value for field, value in changes.items() if old[field] != value}
            if old["kind"] != "training":
                new.pop("results_open", None)
            if new:
                await connection.execute(sa.update(tasks).where(this).values(**new))
                await invalidate_caches(connection)
                await record(connection, by, "task.change", name, new)

    async def require_task(self, name: str) -> None:
        """Raise InputError if there is no task of this name."""
        async with self._database.reading() as connection:
            await find_id(connection, "task", tasks, name)

    async def delete_task(self, name: str, by: Actor | None = None) -> None:
        """Delete a task with all its runs and rewards."""
        async with self._database.writing() as connection:
            await find_id(connection, "task", tasks, name)
            await _delete_task(connection, name, ready=True)
            await record(connection, by, "task.delete", name)

    async def task_list(self, after: SharedTask | None = None, limit: int | None = None) -> list[SharedTask]:
        """The tasks in the order of their creation: those after a task, at most `limit`."""
        query = sa.select(*_TASK).where(tasks.c.ready).order_by(tasks.c.id).limit(limit)
        if after is not None:
            query = query.where(tasks.c.id > after.id)
        return [_task(row) for row in await self._database.rows(query)]

    async def tasks_by_id(self, ids: Iterable[int]) -> dict[int, SharedTask]:
        query = sa.select(*_TASK).where(tasks.c.ready, in_list(tasks.c.id))
        return {row.id: _task(row) for row in await self._database.rows(query, {"ids": sorted(set(ids))})}

    async def task(self, name: str) -> SharedTask | None:
        row = await self._database.row(sa.select(*_TASK).where(tasks.c.ready, tasks.c.name == name))
        return None if row is None else _task(row)

    async def task_by_id(self, task_id: int) -> SharedTask | None:
        row = await self._database.row(sa.select(*_TASK).where(tasks.c.ready, tasks.c.id == task_id))
        return None if row is None else _task(row)

    async def sentences(self, ids: Iterable[int]) -> dict[int, TaskSentence]:
        wanted = list(ids)
        rows = await self._database.rows(SENTENCES_QUERY, {"ids": wanted}) if wanted else []
        return {row.id: TaskSentence(row.source, row.reference, row.oracle_score) for row in rows}

    async def sentence_chunks(self, task: SharedTask) -> AsyncIterator[list[TaskSentence]]:
        """The sentences of a task in order, in chunks."""
        for start in range(0, task.sentence_count, CHUNK):
            ids = [sentence_id(task.id, number) for number in range(start, min(start + CHUNK, task.sentence_count))]
            found = await self.sentences(ids)
            yield [found[number] for number in ids if number in found]

    # Runs

    async def add_run(self, task: SharedTask, participant: Participant, name: str) -> Run | None:
        """Start a run. Return None if the participant has as many runs as the task allows."""
        now = time.time()
        token, key = new_token(), new_id_key()
        row = {"token": token, "id_key": key, "task_id": task.id, "participant_id": participant.id}
        async with self._database.writing() as connection:
            owner = sa.select(participants.c.id).where(participants.c.id == participant.id).with_for_update()
            await connection.execute(owner)  # locked: two requests at the same time must not both see the last free run
            started = sa.select(sa.func.count()).where(
                runs.c.participant_id == participant.id, runs.c.task_id == task.id
            )
            if task.max_runs and (await connection.execute(started)).scalar_one() >= task.max_runs:
                return None
            number = await insert_row(connection, runs, row | {"name": name, "pass_number": 1, "created": now})
            await connection.execute(sa.insert(passes), _new_pass(number, 1, now))
        return Run(number, token, key, task.id, participant.id, name)

    async def run(self, token: str) -> Run | None:
        row = await self._database.row(sa.select(*_RUN).where(runs.c.token == token))
        return None if row is None else Run(*row)

    async def runs_of(
        self, participant: Participant, task_id: int | None = None, after: Run | None = None, limit: int | None = None
    ) -> list[tuple[Run, RunProgress]]:
        """The runs of a participant in the order of their start: those after a run, at most `limit`."""
        query = sa.select(*_RUN, *_PASS).join(passes, _CURRENT_PASS).where(runs.c.participant_id == participant.id)
        if task_id is not None:
            query = query.where(runs.c.task_id == task_id)
        if after is not None:
            query = query.where(runs.c.id > after.id)
        rows = await self._database.rows(query.order_by(runs.c.id).limit(limit))
        return [(Run(*row[:6]), RunProgress(*row[6:])) for row in rows]

    async def progress(self, run_ids: Iterable[int]) -> tuple[dict[int, RunProgress], int]:
        """The progress of runs in their current passes, and the cache version."""
        rows = await self._database.rows(PROGRESS_QUERY, {"ids": list(run_ids)})
        return {row.id: RunProgress(*row[1:7]) for row in rows}, max((row.version for row in rows), default=0)

    async def start_pass(self, run: Run, max_passes: int, samples: int | None) -> RunProgress | Problem:
        """Start the next pass, at most `max_passes` (0: no limit), once the current one has `samples` (None: now)."""
        now = time.time()
        async with self._database.writing() as connection:
            current = (await _locked(connection, [run.id]))[0].get(run.id)
            if current is None:
                return UNKNOWN_RUN
            if max_passes and current.pass_number >= max_passes:
                return NO_MORE_PASSES
            if samples is not None and current.position < samples:
                return UNFINISHED_PASS
            pass_number = current.pass_number + 1
            await connection.execute(sa.update(runs).where(runs.c.id == run.id).values(pass_number=pass_number))
            await connection.execute(sa.insert(passes), _new_pass(run.id, pass_number, now))
        return RunProgress(pass_number, updated=now)

    @asynccontextmanager
    async def reward_transaction(self) -> AsyncIterator[RewardTransaction]:
        """A transaction in which rewards are given."""
        async with self._database.writing() as connection:
            yield RewardTransaction(connection, self._add_to_checkpoint)

    def _upsert_checkpoint(self) -> Any:
        new = self._database.insert(checkpoints)
        names = ("count", "reward", "score", *(f"s{number}" for number in range(STATISTICS)))
        added = {name: checkpoints.c[name] + new.excluded[name] for name in names}
        key = [checkpoints.c.run_id, checkpoints.c.pass_number, checkpoints.c.block]
        return new.on_conflict_do_update(index_elements=key, set_=added)

    # Results

    async def submission_at(self, run_id: int, at: PassPosition) -> Submission | None:
        """The submission at a position, or None."""
        row = await self._database.row(_SUBMISSION_AT, _at(run_id, at))
        return None if row is None else _submission(row)

    async def entries(self, task: SharedTask, skip: int = 0, limit: int | None = None) -> list[Entry]:
        """The runs of a task in the order of its leaderboard, at most `limit` after the first `skip`.

        A run is shown with its last pass that has enough samples to be ranked, else with its current pass. Ranked runs
        are ordered by cumulative reward, the others follow, ordered by the number of samples.
        """
        last = sa.func.max(passes.c.pass_number).filter(passes.c.position >= task.required_samples)
        shown = (
            sa.select(passes.c.run_id, sa.func.coalesce(last, sa.func.max(passes.c.pass_number)).label("pass_number"))
            .join(runs, runs.c.id == passes.c.run_id)
            .where(runs.c.task_id == task.id)
            .group_by(passes.c.run_id)
            .subquery()
        )
        ranked = passes.c.position >= task.required_samples
        value = sa.case((ranked, passes.c.reward), else_=sa.cast(passes.c.position, sa.Double))
        query = (
            _entries_query()
            .join(shown, shown.c.run_id == runs.c.id)
            .join(passes, sa.and_(passes.c.run_id == shown.c.run_id, passes.c.pass_number == shown.c.pass_number))
            .order_by(sa.case((ranked, 0), else_=1), value.desc(), runs.c.id)
            .offset(skip)
            .limit(limit)
        )
        rows = [(Run(*row[:6]), row[6], RunProgress(*row[7:])) for row in await self._database.rows(query)]
        blocks = await self._ends_of_blocks(task, [(run.id, progress.pass_number) for run, _, progress in rows])
        return [
            Entry(run, name, progress, tuple(blocks.get((run.id, progress.pass_number), ())))
            for run, name, progress in rows
        ]

    async def recent_entries(self, limit: int) -> list[tuple[Entry, str]]:
        """The runs of all tasks that were active last, in their current passes, each with the name of its task."""
        query = (
            _entries_query()
            .add_columns(tasks.c.name.label("task"))
            .join(tasks, tasks.c.id == runs.c.task_id)
            .join(passes, _CURRENT_PASS)
            .where(tasks.c.ready)
            .order_by(passes.c.updated.desc(), runs.c.id)
            .limit(limit)
        )
        rows = await self._database.rows(query)
        return [(Entry(Run(*row[:6]), row[6], RunProgress(*row[7:13])), row.task) for row in rows]

    async def _ends_of_blocks(
        self, task: SharedTask, shown: Sequence[tuple[int, int]]
    ) -> dict[tuple[int, int], list[CheckpointSums]]:
        """The checkpoints of the first and the last complete block of passes, by run id and pass number."""
        query = sa.select(checkpoints).where(
            in_list(checkpoints.c.run_id),
            in_list(checkpoints.c.pass_number, "numbers"),
            _is_complete(task, checkpoints),
            sa.or_(checkpoints.c.block == 0, checkpoints.c.block == _last_complete_block(task)),
        )
        lists = {"ids": [run for run, _ in shown], "numbers": sorted({number for _, number in shown})}
        found: dict[tuple[int, int], list[CheckpointSums]] = {one: [] for one in shown}
        for row in await self._database.rows(query.order_by(checkpoints.c.block), lists) if shown else []:
            if (row.run_id, row.pass_number) in found:
                found[row.run_id, row.pass_number].append(_checkpoint(row))
        return found

    async def checkpoints(self, run: Run, numbers: Sequence[int] | None = None) -> dict[int, list[CheckpointSums]]:
        """The checkpoints of passes (None: all) of a run, by pass number."""
        query = _of(run, sa.select(checkpoints), checkpoints, numbers).where(checkpoints.c.block > OUTSIDE)
        found: dict[int, list[CheckpointSums]] = {}
        for row in await self._database.rows(query.order_by(checkpoints.c.pass_number, checkpoints.c.block)):
            found.setdefault(row.pass_number, []).append(_checkpoint(row))
        return found

    async def passes(self, run: Run, after: int = 0, limit: int | None = None) -> list[RunProgress]:
        """The passes of a run after a pass, at most `limit`."""
        query = _of(run, sa.select(*_PASS), passes).where(passes.c.pass_number > after)
        rows = await self._database.rows(query.order_by(passes.c.pass_number).limit(limit))
        return [RunProgress(*row) for row in rows]

    async def curve(self, run: Run, numbers: Sequence[int] | None = None) -> dict[int, list[RunProgress]]:
        """The stored points of the learning curves of passes (None: all), by pass number."""
        columns = [curve_points.c[name] for name in ("pass_number", "position", "reward", "score", "oracle_score")]
        query = _of(run, sa.select(*columns), curve_points, numbers).order_by(*columns[:2])
        found: dict[int, list[RunProgress]] = {}
        for row in await self._database.rows(query):
            found.setdefault(row.pass_number, []).append(RunProgress(*row))
        return found

    async def submissions(self, run: Run, pass_number: int) -> AsyncIterator[list[Submission]]:
        """The submissions of a pass in order, in chunks."""
        query = _of(run, sa.select(submissions), submissions).where(submissions.c.pass_number == pass_number)
        start = 0
        while True:
            chunk = query.where(submissions.c.position >= start).order_by(submissions.c.position).limit(CHUNK)
            rows = await self._database.rows(chunk)
            yield [_submission(row) for row in rows]
            if len(rows) < CHUNK:
                return
            start = rows[-1].position + 1

    async def run_counts(self) -> dict[int, int]:
        """The number of runs of each participant, by participant id."""
        query = sa.select(runs.c.participant_id, sa.func.count()).group_by(runs.c.participant_id)
        return {row[0]: row[1] for row in await self._database.rows(query)}

    async def activity(self, after: SharedTask | None = None, limit: int | None = None) -> list[dict[str, Any]]:
        """For each task: number of runs, participants and translated sentences, and the time of the last one."""
        query = (
            sa.select(
                tasks.c.name,
                tasks.c.kind,
                tasks.c.samples,
                tasks.c.stopped,
                tasks.c.results_open,
                sa.func.count(runs.c.id.distinct()).label("runs"),
                sa.func.count(runs.c.participant_id.distinct()).label("participants"),
                sa.func.coalesce(sa.func.sum(passes.c.position), 0).label("translated"),
                sa.func.max(passes.c.updated).label("updated"),
            )
            .outerjoin(runs, runs.c.task_id == tasks.c.id)
            .outerjoin(passes, passes.c.run_id == runs.c.id)
            .where(tasks.c.ready)
            .group_by(tasks.c.id)
            .order_by(tasks.c.id)
            .limit(limit)
        )
        if after is not None:
            query = query.where(tasks.c.id > after.id)
        return [dict(row._mapping) for row in await self._database.rows(query)]


class RewardTransaction:
    """An open transaction that gives rewards. `lock` locks the runs until it ends."""

    def __init__(self, connection: AsyncConnection, add_to_checkpoint: Any) -> None:
        self._connection, self._add_to_checkpoint = connection, add_to_checkpoint

    async def lock(self, run_ids: Iterable[int]) -> tuple[dict[int, RunProgress], int]:
        """Lock runs. Return their progress and the cache version."""
        return await _locked(self._connection, sorted(run_ids))

    async def submission_at(self, run_id: int, at: PassPosition) -> Submission | None:
        """The earlier submission at a position, or None."""
        row = (await self._connection.execute(_SUBMISSION_AT, _at(run_id, at))).first()
        return None if row is None else _submission(row)

    async def insert_submissions(self, accepted: Sequence[Submission]) -> None:
        rows = [
            {
                "run_id": one.run_id,
                "pass_number": one.at.pass_number,
                "position": one.at.position,
                "translation": one.translation,
                "reward": one.reward,
                "score": one.score,
            }
            for one in accepted
        ]
        await self._connection.execute(sa.insert(submissions), rows)

    async def update_progress(self, progress: Mapping[int, RunProgress]) -> None:
        """Write the new position and sums of each run."""
        rows = [
            {
                "of_run": run_id,
                "in_pass": one.pass_number,
                "position": one.position,
                "reward": one.reward,
                "score": one.score,
                "oracle_score": one.oracle_score,
                "updated": one.updated,
            }
            for run_id, one in progress.items()
        ]
        await self._connection.execute(_UPDATE_PASS, rows)

    async def insert_curve_points(self, points: Sequence[tuple[int, RunProgress]]) -> None:
        rows = [
            {"run_id": run_id, "pass_number": one.pass_number, "position": one.position}
            | {"reward": one.reward, "score": one.score, "oracle_score": one.oracle_score}
            for run_id, one in points
        ]
        await self._connection.execute(sa.insert(curve_points), rows)

    async def add_to_checkpoints(self, added: Sequence[tuple[int, int, CheckpointSums]]) -> None:
        """Add to the sums of (run id, pass number, sums)."""
        rows = [
            {"run_id": run_id, "pass_number": pass_number, "block": one.block, "count": one.count}
            | {"reward": one.reward, "score": one.score}
            | {f"s{number}": value for number, value in enumerate(one.statistics)}
            for run_id, pass_number, one in added
        ]
        await self._connection.execute(self._add_to_checkpoint, rows)


async def _locked(connection: AsyncConnection, run_ids: Sequence[int]) -> tuple[dict[int, RunProgress], int]:
    """Lock runs and return their progress and the cache version.

    PostgreSQL reads a snapshot taken when a statement begins. A statement that waits for a lock does not see what the
    other transaction wrote, so progress is read by a second statement. SQLite has one writer at a time.
    """
    if connection.dialect.name == "postgresql":
        await connection.execute(_LOCK, {"ids": list(run_ids)})
    rows = (await connection.execute(PROGRESS_QUERY, {"ids": list(run_ids)})).all()
    return {row.id: RunProgress(*row[1:7]) for row in rows}, max((row.version for row in rows), default=0)


async def _delete_task(connection: AsyncConnection, name: str, ready: bool) -> None:
    found = sa.select(tasks.c.id).where(tasks.c.name == name, tasks.c.ready == ready)
    number = (await connection.execute(found)).scalar_one_or_none()
    if number is None:
        return
    own = sa.and_(sentences.c.id >= sentence_id(number, 0), sentences.c.id < sentence_id(number + 1, 0))
    await connection.execute(sa.delete(sentences).where(own))
    await connection.execute(sa.delete(tasks).where(tasks.c.id == number))
    await invalidate_caches(connection)


def _of(run: Run, query: Any, table: sa.Table, numbers: Sequence[int] | None = None) -> Any:
    """Rows of a run, of passes with these consecutive numbers (None: all)."""
    own = query.where(table.c.run_id == run.id)
    if numbers is None:
        return own
    first, last = (min(numbers), max(numbers)) if numbers else (1, 0)
    return own.where(table.c.pass_number.between(first, last))


def _entries_query() -> Any:
    columns = sa.select(*_RUN, participants.c.name.label("participant"), *_PASS)
    return columns.join(participants, participants.c.id == runs.c.participant_id)


def _last_complete_block(task: SharedTask) -> Any:
    """The last complete occurrence of the held-out block in the pass of a checkpoint."""
    other = checkpoints.alias()
    same_pass = sa.and_(other.c.run_id == checkpoints.c.run_id, other.c.pass_number == checkpoints.c.pass_number)
    return sa.select(sa.func.max(other.c.block)).where(same_pass, _is_complete(task, other)).scalar_subquery()


def _is_complete(task: SharedTask, table: Any) -> Any:
    return sa.and_(table.c.block > OUTSIDE, table.c["count"] == task.held_out)


def _at(run_id: int, at: PassPosition) -> dict[str, int]:
    return {"run": run_id, "in_pass": at.pass_number, "at": at.position}


def _new_pass(run_id: int, pass_number: int, now: float) -> dict[str, Any]:
    sums = {"position": 0, "reward": 0.0, "score": 0.0, "oracle_score": 0.0}
    return {"run_id": run_id, "pass_number": pass_number, "started": now, "updated": now} | sums


def _task(row: Any) -> SharedTask:
    return SharedTask(**dict(row._mapping) | {"preprocess": tuple(row.preprocess)})


def _checkpoint(row: Any) -> CheckpointSums:
    statistics = tuple(row._mapping[f"s{number}"] for number in range(STATISTICS))
    return CheckpointSums(row.block, row._mapping["count"], row.reward, row.score, statistics)


def _submission(row: Any) -> Submission:
    return Submission(row.run_id, PassPosition(row.pass_number, row.position), row.translation, row.reward, row.score)
