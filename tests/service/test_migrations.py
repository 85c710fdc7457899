"""A database that an older version made is migrated, and nothing in it is lost.

`schema/0001.sql` is a dump of an SQLite database of the first schema: two tasks, a participant with a finished run of
two passes and an unfinished run, and an organiser.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from helpers.postgres import Postgres
from helpers.recompute import check_run
from helpers.shared_task import TaskServer, pending, submit
from sqlalchemy.ext.asyncio import create_async_engine

from mtloop.service import Settings, database
from mtloop.service.accounts.keys import hash_key
from mtloop.service.settings import FILE, driver

DUMP = (Path(__file__).parent / "schema" / "0001.sql").read_text(encoding="utf-8")
FINISHED, UNFINISHED = "be5892732f1f0643b515f80f7d802ebe", "46dfb0ea6977bbe91fbe34f987ab1083"
REWARD = 0.0890150737691727  # of the finished run's last pass, as the first version's leaderboard showed it
ROWS = {"passes": 3, "submissions": 18, "checkpoints": 4, "curve_points": 18, "sentences": 12, "keys": 2, "runs": 2}


def dumped_rows() -> dict[str, tuple[list[str], list[tuple[Any, ...]]]]:
    """The rows of the dump by table, with the names of the columns."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(DUMP)
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        found = {}
        for name in names:
            cursor = connection.execute(f"SELECT * FROM {name}")
            found[name] = ([column[0] for column in cursor.description], cursor.fetchall())
        return found


def write_sqlite(folder: Path) -> Settings:
    folder.mkdir()
    with closing(sqlite3.connect(folder / FILE)) as connection:
        connection.executescript(DUMP)
    return Settings(folder=folder)


async def write_postgresql(url: str) -> None:
    """Make the first schema as alembic does, then insert the rows of the dump, parents first."""
    engine = create_async_engine(driver(url))
    async with engine.begin() as connection:
        await connection.run_sync(lambda sync: upgrade(sync, "0001"))
        await connection.execute(sa.text("DELETE FROM epoch"))
        rows = dumped_rows()
        for name in ("participants", "keys", "allowances", "tasks", "sentences", "runs", "laps", *sorted(rows)):
            await connection.run_sync(insert_rows, name, *rows.pop(name, ([], [])))
    await engine.dispose()


def insert_rows(connection: sa.Connection, name: str, columns: list[str], rows: list[tuple[Any, ...]]) -> None:
    if rows and name != "alembic_version":
        table = sa.Table(name, sa.MetaData(), autoload_with=connection)
        values = [dict(zip(columns, row, strict=True)) for row in rows]
        connection.execute(sa.insert(table), [converted(table, row) for row in values])


def converted(table: sa.Table, row: dict[str, Any]) -> dict[str, Any]:
    """SQLite stores booleans as numbers and JSON as text."""
    for column in table.columns:
        if isinstance(column.type, sa.Boolean):
            row[column.name] = bool(row[column.name])
        elif isinstance(column.type, sa.JSON):
            row[column.name] = __import__("json").loads(row[column.name])
    return row


def upgrade(connection: sa.Connection, revision: str) -> None:
    config, script = database._config(), database._script()
    steps = lambda at, _: script._upgrade_revs(revision, at)  # noqa: E731
    with database.EnvironmentContext(config, script, fn=steps) as environment:
        environment.configure(connection=connection)
        environment.run_migrations()


@pytest.fixture(params=["sqlite", "postgresql"])
def old_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TaskServer]:
    if request.param == "sqlite":
        yield TaskServer(write_sqlite(tmp_path / "data"), tmp_path)
        return
    postgres: Postgres = request.getfixturevalue("postgres")
    url = postgres.create()
    asyncio.run(write_postgresql(url))
    yield TaskServer(Settings(database=url), tmp_path)


def test_every_row_is_there_and_adds_up(old_database: TaskServer) -> None:
    async def counts(storage: Any) -> dict[str, int]:
        return {
            name: (await storage.database.row(sa.select(sa.func.count()).select_from(sa.table(name))))[0]
            for name in ROWS
        }

    assert old_database.with_storage(counts) == ROWS
    checked = [
        old_database.with_storage(lambda storage, run=run: check_run(storage.tasks, run))  # type: ignore[misc]
        for run in (FINISHED, UNFINISHED)
    ]
    assert checked == [16, 2]


def test_an_old_run_goes_on(old_database: TaskServer) -> None:
    """The owner gets a new key; the position, the ids and the rewards are as before."""
    old_database.with_storage(lambda storage: storage.accounts.rotate_key("team", hash_key("new")))
    with old_database.serve("new") as client:
        finished = client.get(f"/v1/runs/{FINISHED}").json()
        assert (finished["pass"], finished["state"], finished["cumulative_reward"]) == (2, "finished", REWARD)
        (row,) = client.get("/v1/tasks/tiny/leaderboard").json()["lines"]
        assert (row["participant"], row["pass"], row["reward"]) == ("team", 2, REWARD)
        sentence = pending(client, UNFINISHED)
        assert sentence == {"id": "l_AqAFNnFg6nMV9Stw-y8Q", "source": "Close the window."}
        answer = submit(client, UNFINISHED, sentence["id"], "Schließen Sie das Fenster.").json()
        assert (answer["reward"], answer["next"]["source"]) == (1.0, "Print the page.")
