"""A database that an older version made is migrated, and nothing in it is lost.

`schema/0001.sql` is a dump of an SQLite database of the first schema: two tasks, a participant with a finished run of
two passes and an unfinished run, and an organiser.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from helpers.postgres import Postgres, both_databases
from helpers.raw_events import append_events
from helpers.recompute import check_run
from helpers.shared_task import TaskServer, pending, submit
from sqlalchemy.ext.asyncio import create_async_engine

from mtloop.core.errors import InputError
from mtloop.service import Settings, database
from mtloop.service.accounts.keys import hash_key
from mtloop.service.project_log.event_log import Configured, Confirmed
from mtloop.service.server import serve
from mtloop.service.settings import FILE, driver
from mtloop.service.storage import Storage

DUMP = (Path(__file__).parent / "schema" / "0001.sql").read_text(encoding="utf-8")
FINISHED, UNFINISHED = "be5892732f1f0643b515f80f7d802ebe", "46dfb0ea6977bbe91fbe34f987ab1083"
REWARD = 0.0890150737691727  # of the finished run's last pass, as the first version's leaderboard showed it
RENAMED_TABLES = {"laps": "passes", "points": "curve_points", "epoch": "cache_version"}
RENAMED_COLUMNS = {
    ("allowances", "span"): "period_seconds",
    ("allowances", "span_number"): "period",
    ("tasks", "lines"): "sentence_count",
    ("tasks", "required"): "required_samples",
    ("tasks", "passes"): "max_passes",
    ("tasks", "runs"): "max_runs",
    ("tasks", "characters"): "max_characters",
    ("tasks", "oracle"): "has_oracle",
    ("tasks", "opened"): "results_open",
    ("sentences", "oracle"): "oracle_score",
    ("runs", "key"): "id_key",
    ("runs", "lap"): "pass_number",
    ("passes", "lap"): "pass_number",
    ("passes", "oracle"): "oracle_score",
    ("submissions", "lap"): "pass_number",
    ("curve_points", "lap"): "pass_number",
    ("curve_points", "oracle"): "oracle_score",
    ("checkpoints", "lap"): "pass_number",
}
ADDED_COLUMNS: dict[str, dict[str, Any]] = {"keys": {"expires": None}}
ADDED_TABLES: dict[str, list[dict[str, Any]]] = {
    "readiness": [{"id": 1, "checked": 0.0}],
    "audit": [],
    "projects": [],
    "project_members": [],
    "project_events": [],
    "project_proposals": [],
    "project_snapshots": [],
    "project_memories": [],
    "project_files": [],
    "project_uploads": [],
    "project_webhooks": [],
    "project_deliveries": [],
    "campaigns": [],
    "campaign_raters": [],
    "campaign_events": [],
    "project_documents": [],
    "document_units": [],
}


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
            row[column.name] = json.loads(row[column.name])
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


def test_every_value_is_kept(old_database: TaskServer) -> None:
    """Every row of every table, with the new names of tables and columns."""

    async def migrated(storage: Any) -> dict[str, list[dict[str, Any]]]:
        async with storage.database.reading() as connection:
            return {
                table.name: [dict(row._mapping) for row in await connection.execute(sa.select(table))]
                for table in database.metadata.sorted_tables
            }

    found = old_database.with_storage(migrated)
    added = {name: in_order(rows) for name, rows in ADDED_TABLES.items()}
    assert {name: in_order(rows) for name, rows in found.items()} == renamed_rows() | added
    assert all(found[name] for name in ("tasks", "runs", "passes", "submissions", "checkpoints", "allowances"))


def renamed_rows() -> dict[str, list[str]]:
    """The rows of the dump under their new names."""
    found = {}
    for old, (columns, rows) in dumped_rows().items():
        name = RENAMED_TABLES.get(old, old)
        new = [RENAMED_COLUMNS.get((name, column), column) for column in columns]
        if name in database.metadata.tables:
            table = database.metadata.tables[name]
            more = ADDED_COLUMNS.get(name, {})
            found[name] = in_order([converted(table, dict(zip(new, row, strict=True)) | more) for row in rows])
    return found


def in_order(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(str(sorted(row.items())) for row in rows)


def test_every_sum_equals_its_rows(old_database: TaskServer) -> None:
    checked = [
        old_database.with_storage(lambda storage, run=run: check_run(storage.tasks, run))  # type: ignore[misc]
        for run in (FINISHED, UNFINISHED)
    ]
    assert checked == [16, 2]


def test_an_old_run_continues(old_database: TaskServer) -> None:
    """The owner gets a new key; the position, the ids and the rewards are as before."""
    old_database.with_storage(lambda storage: storage.accounts.rotate_key("team", hash_key("new")))
    with old_database.serve("new") as client:
        finished = client.get(f"/v1/runs/{FINISHED}").json()
        assert (finished["pass"], finished["state"], finished["cumulative_reward"]) == (2, "finished", REWARD)
        (row,) = client.get("/v1/tasks/tiny/leaderboard").json()["rows"]
        assert (row["participant"], row["pass"], row["reward"]) == ("team", 2, round(REWARD, 3))
        sentence = pending(client, UNFINISHED)
        assert sentence == {"id": "l_AqAFNnFg6nMV9Stw-y8Q", "source": "Close the window."}
        response = submit(client, UNFINISHED, sentence["id"], "Schließen Sie das Fenster.").json()
        assert (response["reward"], response["next"]["source"]) == (1.0, "Print the page.")


def test_an_old_database_takes_projects(old_database: TaskServer) -> None:
    """The owner is a participant of before. The id of a deleted project does not come again."""
    configured, events = Configured("en-de", "baseline"), [Confirmed("Open the pane.", "Öffnen Sie den Bereich.")]

    async def create_twice(storage: Storage) -> list[int]:
        ids = []
        for _ in range(2):
            (team,) = [one["id"] for one in await storage.accounts.participant_list() if one["name"] == "team"]
            made = await storage.projects.create("manual", ("en", "de"), configured, owner=team)
            assert await append_events(storage, made.id, events, team) == [2]
            assert await storage.projects.events_after(made.id, 0) == [(1, configured), (2, events[0])]
            await storage.projects.delete("manual")
            ids.append(made.id)
        return ids

    first, second = old_database.with_storage(create_twice)
    assert first < second


def test_a_database_of_a_newer_version_is_refused_in_one_line(lite: TaskServer) -> None:
    lite.task()

    async def pretend(storage: Any) -> None:
        async with storage.database.writing() as connection:
            await connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))

    lite.with_storage(pretend)
    with pytest.raises(InputError, match=r"made by a newer mtloop \(schema 9999; this version knows up to \d{4}\)"):
        lite.with_storage(pretend)


@both_databases
def test_the_migrations_make_the_schema_of_the_code(task_server: TaskServer) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    async def differences(storage: Any) -> list[object]:
        async with storage.database.engine.connect() as connection:
            return await connection.run_sync(
                lambda sync: list(compare_metadata(MigrationContext.configure(sync), database.metadata))
            )

    assert task_server.with_storage(differences) == []


def test_serve_refuses_a_database_of_a_newer_version(lite: TaskServer) -> None:
    lite.task()
    with closing(sqlite3.connect(lite.settings.folder / FILE)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()
    with pytest.raises(InputError, match="made by a newer mtloop"):
        serve(lite.settings.model_copy(update={"port": 0}))
