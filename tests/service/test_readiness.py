"""Readiness writes to the database; a database that cannot be written gives 503, with the reason in the log."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from helpers.mounts import in_mount_namespace, needs_mounts
from helpers.postgres import USER, both_databases
from helpers.shared_task import TaskServer, pending, start, submit
from starlette.testclient import TestClient

from mtloop.service import Settings, database, readiness
from mtloop.service.database import Database
from mtloop.service.readiness import Readiness
from mtloop.service.settings import driver
from mtloop.service.storage import Storage


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Locks are given up soon, every request checks again, and a slow machine does not end a check earlier."""
    monkeypatch.setattr(database, "LOCK_SECONDS", 0.2)
    monkeypatch.setattr(readiness, "WAIT_SECONDS", 60.0)
    monkeypatch.setattr(readiness, "VALID_SECONDS", 0.0)


def hold_lock(settings: Settings) -> closing[Any]:
    """Be another program that holds the lock that every writer needs."""
    if settings.database:
        return closing(PostgresLock(settings.database))
    connection = sqlite3.connect(settings.folder / "mtloop.db")
    connection.execute("BEGIN IMMEDIATE")
    return closing(connection)


class PostgresLock:
    """A lock on PostgreSQL's tables until `close`."""

    def __init__(self, url: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._database = Database.connect(driver(url))
        self._connection = self._loop.run_until_complete(self._lock())

    async def _lock(self) -> Any:
        connection = await self._database.engine.connect()
        for table in ("allowances", "readiness", "runs"):
            await connection.execute(sa.text(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE"))
        return connection

    def close(self) -> None:
        self._loop.run_until_complete(self._connection.close())
        self._loop.run_until_complete(self._database.close())
        self._loop.close()


@both_databases
def test_a_held_lock_is_given_up_with_503_and_work_goes_on_afterwards(
    task_server: TaskServer, impatient: None, log_lines: list[str]
) -> None:
    task_server.task()
    with task_server.serve(task_server.participant()) as client:
        run = start(client)
        first = pending(client, run)
        with hold_lock(task_server.settings):
            for response in (client.get("/readyz"), submit(client, run, first["id"], "x")):
                assert (response.status_code, response.headers["retry-after"]) == (503, "1")
                assert "lock" not in response.text
            assert client.get("/healthz").status_code == 200
        assert client.get("/readyz").status_code == 200
        assert submit(client, run, first["id"], "x").status_code == 200
    reasons = [json.loads(line).get("reason", "") for line in log_lines]
    assert sum("lock" in reason for reason in reasons) == 2, log_lines


@both_databases
def test_the_waits_for_locks_and_connections_are_short(task_server: TaskServer) -> None:
    """They were 30 seconds. The database itself says what it waits."""

    async def waits(storage: Storage) -> tuple[Any, Any]:
        query = "SHOW lock_timeout" if storage.database.is_postgresql else "PRAGMA busy_timeout"
        async with storage.database.writing() as connection:
            lock = (await connection.exec_driver_sql(query)).scalar_one()
        return lock, storage.database.engine.pool._timeout

    lock, pool = task_server.with_storage(waits)
    assert lock in (5000, "5s")
    assert pool == 5


@pytest.mark.parametrize("settings", ["postgresql"], indirect=True)
def test_a_read_only_postgresql_gives_503_and_is_not_ready(task_server: TaskServer, log_lines: list[str]) -> None:
    task_server.task()
    key = task_server.participant()

    async def make_read_only(storage: Storage) -> None:
        async with storage.database.writing() as connection:
            name = (await connection.exec_driver_sql("SELECT current_database()")).scalar_one()
            await connection.exec_driver_sql(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')

    task_server.with_storage(make_read_only)
    with task_server.serve(key) as client:
        for path in ("/readyz", "/v1/tasks"):
            assert client.get(path).status_code == 503
        assert client.get("/", headers={"x-api-key": ""}).status_code == 200  # reading works
    reasons = [json.loads(line).get("reason", "") for line in log_lines]
    assert sum(reason.startswith("25006: cannot execute") for reason in reasons) == 2, reasons


@pytest.mark.parametrize("settings", ["postgresql"], indirect=True)
def test_a_role_that_may_not_write_gives_503_until_it_may(task_server: TaskServer, log_lines: list[str]) -> None:
    task_server.task()
    key, role = task_server.participant(), f"reader_{uuid4().hex}"

    def execute(*statements: str) -> None:
        async def work(storage: Storage) -> None:
            async with storage.database.writing() as connection:
                for statement in statements:
                    await connection.exec_driver_sql(statement)

        task_server.with_storage(work)

    execute(f"CREATE ROLE {role} LOGIN")
    try:
        execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}")
        url = task_server.settings.database.replace(f"//{USER}@", f"//{role}@")
        reader = TaskServer(Settings(database=url), task_server.folder)
        with reader.serve(key) as client:
            for path in ("/readyz", "/v1/tasks"):
                assert client.get(path).status_code == 503
            assert client.get("/", headers={"x-api-key": ""}).status_code == 200  # reading works
            execute(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}")
            assert client.get("/v1/tasks").status_code == 200
    finally:
        execute(f"DROP OWNED BY {role}", f"DROP ROLE {role}")
    reasons = [json.loads(line).get("reason", "") for line in log_lines]
    assert sum(reason.startswith("42501: permission denied for table") for reason in reasons) == 2, reasons


@pytest.mark.parametrize(("kept", "reason"), [(0, "SQLITE_NOTADB"), (4096, "SQLITE_CORRUPT")])
def test_a_damaged_sqlite_file_gives_503_until_it_is_restored(
    lite: TaskServer, impatient: None, log_lines: list[str], kept: int, reason: str
) -> None:
    """The file is damaged while the service runs: all of it, or all but its first page."""
    lite.task()
    file = lite.settings.folder / "mtloop.db"
    with lite.serve(lite.participant()) as client:
        assert client.get("/readyz").status_code == 200
        forget_pages(client)
        content = file.read_bytes()
        with file.open("r+b") as damaged:
            damaged.seek(kept)
            damaged.write(b"\xff" * (len(content) - kept))
        for path in ("/readyz", "/v1/tasks"):
            assert client.get(path).status_code == 503
        forget_pages(client)
        file.write_bytes(content)
        for path in ("/readyz", "/v1/tasks"):
            assert client.get(path).status_code == 200
    reasons = [json.loads(line).get("reason", "") for line in log_lines]
    assert sum(one.startswith(reason) for one in reasons) == 2, reasons


def forget_pages(client: TestClient) -> None:
    """Close all connections to the database: they hold pages of the file in memory."""
    database = client.app.state.service.storage.database  # type: ignore[attr-defined]
    assert client.portal is not None
    client.portal.call(database.close)


def test_any_error_of_a_check_means_not_ready(
    lite: TaskServer, monkeypatch: pytest.MonkeyPatch, log_lines: list[str]
) -> None:
    async def fail(self: Database) -> bool:
        raise sa.exc.ProgrammingError("UPDATE readiness", None, Exception("no such column: checked"))

    monkeypatch.setattr(Database, "ready", fail)
    assert not lite.with_storage(lambda storage: Readiness(storage.database).ready())
    assert json.loads(log_lines[-1])["reason"] == "Exception: no such column: checked"


def test_a_read_only_sqlite_file_gives_503_until_it_can_be_written(
    lite: TaskServer, impatient: None, log_lines: list[str]
) -> None:
    lite.task()

    def read_only(value: str) -> None:
        forget_pages(client)
        sa.event.listen(engine, "connect", lambda opened, _: opened.execute(f"PRAGMA query_only = {value}"))

    with lite.serve(lite.participant()) as client:
        engine = client.app.state.service.storage.database.engine.sync_engine  # type: ignore[attr-defined]
        run = start(client)
        first = pending(client, run)
        for value, status in (("on", 503), ("off", 200)):
            read_only(value)
            answers = [client.get("/readyz"), submit(client, run, first["id"], "x")]
            assert [one.status_code for one in answers] == [status] * 2
            assert client.get("/", headers={"x-api-key": ""}).status_code == 200  # reading works
    reasons = [json.loads(line).get("reason", "") for line in log_lines]
    assert sum(one.startswith("SQLITE_READONLY") for one in reasons) == 2, reasons


def test_a_read_only_sqlite_file_is_not_ready(lite: TaskServer, log_lines: list[str]) -> None:
    lite.task()
    file = lite.settings.folder / "mtloop.db"

    async def ready() -> bool:
        read_only = Database.connect(driver(f"sqlite:///file:{file}?mode=ro&uri=true"))
        try:
            return await Readiness(read_only).ready()
        finally:
            await read_only.close()

    assert not asyncio.run(ready())
    assert "SQLITE_READONLY: attempt to write a readonly database" in log_lines[-1]


FULL = """
mount -t tmpfs -o size=4m none {folder}
{python} - <<'END'
import asyncio, logging
from pathlib import Path
from mtloop.service import readiness
from mtloop.service.readiness import Readiness
from mtloop.service.storage import Storage
from mtloop.service.telemetry import log_to_stderr

async def main():
    log_to_stderr()
    readiness.VALID_SECONDS = 0
    folder = Path("{folder}")
    storage = Storage.connect(f"sqlite+aiosqlite:///{{folder}}/mtloop.db")
    await storage.migrate()
    check = Readiness(storage.database)
    print(await check.ready())
    with (folder / "filler").open("wb", buffering=0) as filler:
        try:
            while True:
                filler.write(bytes(4096))
        except OSError:
            pass
    print(await check.ready())
    (folder / "filler").unlink()
    print(await check.ready())
    await storage.close()

asyncio.run(main())
END
"""


@needs_mounts
def test_a_full_disk_is_not_ready(tmp_path: Path) -> None:
    done = in_mount_namespace(FULL.format(folder=tmp_path, python=sys.executable))
    assert done.stdout.split() == ["True", "False", "True"], done.stderr
    assert "No space left" in done.stderr or "are free on the disk" in done.stderr


def test_a_full_database_gives_503_on_writes(lite: TaskServer, log_lines: list[str]) -> None:
    lite.task()
    with lite.serve(lite.participant()) as client:
        run = start(client)

        def fill(connection: sa.Connection) -> None:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
            connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")

        engine = client.app.state.service.storage.database.engine.sync_engine
        sa.event.listen(engine, "begin", fill)
        response = submit(client, run, pending(client, run)["id"], "x" * 9000)
    assert response.status_code == 503
    assert any("SQLITE_FULL" in line for line in log_lines)


def test_asking_often_writes_once_in_a_second(lite: TaskServer, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, writes = [100.0], []
    write = Database.ready

    async def counted(self: Database) -> bool:
        writes.append(clock[0])
        return await write(self)

    monkeypatch.setattr(Database, "ready", counted)

    async def ask(storage: Storage) -> None:
        check = Readiness(storage.database, lambda: clock[0])
        assert all(await asyncio.gather(*(check.ready() for _ in range(50))))
        clock[0] += 0.9
        assert await check.ready()
        clock[0] += 0.2
        assert await check.ready()

    lite.with_storage(ask)
    assert writes == [100.0, pytest.approx(101.1)]


def test_a_reason_is_logged_once_until_it_changes(
    lite: TaskServer, monkeypatch: pytest.MonkeyPatch, impatient: None, log_lines: list[str]
) -> None:
    """Nobody counts the requests for /readyz: many of them must not fill the log."""
    reasons = ["no space"]

    async def check(self: Database) -> bool:
        if reasons[-1]:
            raise Exception(reasons[-1])
        return True

    monkeypatch.setattr(Database, "ready", check)
    lite.task()
    with lite.serve() as client:
        log_lines.clear()
        for reason in ("no space", "a lock is held", "", "a lock is held"):
            reasons.append(reason)
            assert {client.get("/readyz").status_code for _ in range(5)} == {503 if reason else 200}
    found = [one["reason"] for line in log_lines if (one := json.loads(line))["event"] == "not ready"]
    assert found == ["Exception: no space", "Exception: a lock is held", "Exception: a lock is held"]


def test_a_check_that_hangs_means_not_ready(lite: TaskServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "WAIT_SECONDS", 0.01)
    answer = asyncio.Event()

    async def hang(self: Database) -> bool:
        return await answer.wait()

    monkeypatch.setattr(Database, "ready", hang)

    async def ask(storage: Storage) -> tuple[bool, bool]:
        check = Readiness(storage.database)
        before = await check.ready()
        answer.set()
        await check.close()
        return before, await check.ready()

    assert lite.with_storage(ask) == (False, True)


def test_another_schema_is_not_ready(lite: TaskServer, log_lines: list[str]) -> None:
    lite.task()
    with lite.serve() as client:
        with closing(sqlite3.connect(lite.settings.folder / "mtloop.db")) as connection:
            connection.execute("UPDATE alembic_version SET version_num = '0002'")
            connection.commit()
        assert client.get("/readyz").status_code == 503
    assert "the schema of another version" in " ".join(log_lines)
