"""Health, readiness, metrics, schema, settings, and dump and restore of PostgreSQL."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import sqlalchemy as sa
from helpers.postgres import Postgres
from helpers.shared_task import TaskServer, start, translate_all

from mtloop.core.errors import InputError
from mtloop.service import Settings
from mtloop.service.accounts.store import AccountStore
from mtloop.service.database import MIGRATIONS, Database, is_outage
from mtloop.service.settings import driver
from mtloop.service.storage import Storage
from mtloop.service.tasks.store import PROGRESS_QUERY, SENTENCES_QUERY


def test_health_readiness_and_metrics(task_server: TaskServer) -> None:
    task_server.task()
    with task_server.serve(task_server.participant(organiser=True)) as client:
        translate_all(client, start(client))
        assert client.get("/healthz").json() == {"status": "alive"}
        assert client.get("/readyz").json() == {"status": "ready"}
        text = client.get("/metrics").text
        request = client.get("/healthz", headers={"x-request-id": "proxy-1"})
        forged = client.get("/healthz", headers={"x-request-id": "a b"})
    assert 'mtloop_requests_total{method="POST",route="/v1/runs/{run}/translations",status="200"} 20.0' in text
    assert "mtloop_rewards_total 20.0" in text
    assert 'mtloop_task_translations{task="tiny"} 20.0' in text
    assert re.search(r'mtloop_request_seconds_bucket\{le="0.1",method="GET"', text)
    assert request.headers["x-request-id"] == "proxy-1"
    assert re.fullmatch("[0-9a-f]{16}", forged.headers["x-request-id"])


def test_an_unavailable_database_gives_503(lite: TaskServer, monkeypatch: pytest.MonkeyPatch) -> None:
    lite.task()
    with lite.serve(lite.participant()) as client:

        async def fail(*_: object, **__: object) -> None:
            raise ConnectionRefusedError

        monkeypatch.setattr(Database, "ready", fail)
        monkeypatch.setattr(AccountStore, "key_owner", fail)
        for path in ("/readyz", "/v1/tasks"):
            response = client.get(path)
            assert (response.status_code, response.headers["retry-after"]) == (503, "1")
            assert response.json()["type"] == "urn:mtloop:database-unavailable"
        assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    ("code", "unavailable"),
    [
        *((code, True) for code in ("40P01", "40001", "57P01", "55P03", "42501", "XX001", "XX002")),
        *((code, False) for code in ("23503", "42601", "XX000")),
    ],
)
def test_which_errors_of_postgresql_are_tried_again(code: str, unavailable: bool) -> None:
    """Deadlocks, serialisation failures and lost rights are none of the client's fault: 503, and it asks again."""

    class DriverError(Exception):
        sqlstate = code

    assert is_outage(sa.exc.DBAPIError("UPDATE", None, DriverError())) == unavailable


def test_sqlite_is_durable(lite: TaskServer) -> None:
    async def pragmas(storage: Storage) -> list[object]:
        async with storage.database.engine.connect() as connection:
            return [
                (await connection.exec_driver_sql(f"PRAGMA {name}")).scalar()
                for name in ("journal_mode", "synchronous")
            ]

    assert lite.with_storage(pragmas) == ["wal", 2]


def test_only_the_stores_contain_sql() -> None:
    """The schema (tables and migrations) and database.py, which the stores share, may contain SQL too."""
    package = MIGRATIONS.parent
    for path in package.rglob("*.py"):
        if (
            path.name not in ("tables.py", "database.py")
            and not path.stem.endswith("store")
            and MIGRATIONS not in path.parents
        ):
            assert not re.search(r"\bsa\.(select|text)\(|SELECT |INSERT ", path.read_text("utf-8")), path


def test_postgresql_is_dumped_and_restored(postgres: Postgres, tmp_path: Path) -> None:
    task_server = TaskServer(Settings(database=postgres.create()), tmp_path)
    task_server.task()
    key = task_server.participant()
    with task_server.serve(key) as client:
        run = start(client)
        translate_all(client, run)
        before = client.get(f"/v1/runs/{run}").json()
    fresh = postgres.create()
    postgres.dump(task_server.settings.database, fresh)
    with TaskServer(Settings(database=fresh), tmp_path).serve(key) as client:
        assert client.get(f"/v1/runs/{run}").json() == before


def test_a_url_names_its_driver() -> None:
    assert sa.make_url(driver("postgres://u@h/d")).drivername == "postgresql+asyncpg"
    with pytest.raises(InputError, match="begins with sqlite"):
        driver("mysql://x")


def test_sqlite_finds_rows_by_their_ids(lite: TaskServer) -> None:
    """The query plan looks rows up by id. A scan would get slower with the size of the task."""

    async def plans(storage: Storage) -> list[str]:
        async with storage.database.engine.connect() as connection:
            found = []
            for query in (PROGRESS_QUERY, SENTENCES_QUERY):
                text = str(query.compile(dialect=storage.database.engine.dialect))
                rows = await connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", ("[1, 2]",))
                found += [str(row[-1]) for row in rows]
            return found

    plan_lines = [line for line in lite.with_storage(plans) if "json_each" not in line and "cache_version" not in line]
    assert plan_lines
    assert [line for line in plan_lines if line.startswith("SCAN")] == []
    assert any("sentences USING INTEGER PRIMARY KEY" in line for line in plan_lines)
