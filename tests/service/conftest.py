"""A test that touches a database runs on SQLite, and on a PostgreSQL that the tests start themselves.

With PostgreSQL it is slow, unless it is marked with `helpers.postgres.both_databases`.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.postgres import Postgres, binaries
from helpers.shared_task import TaskServer
from helpers.tiny_marian import write_tiny

from mtloop.service import Settings
from mtloop.service.database import Database
from mtloop.service.settings import driver
from mtloop.service.telemetry import LOGGED, LOGGER, JsonFormatter


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    if binaries() is None:
        pytest.skip("no PostgreSQL to test with: `postgres` is neither in PATH nor under /usr/lib/postgresql")
    server = Postgres()
    yield server
    server.remove()


@pytest.fixture(scope="session")
def template(postgres: Postgres) -> str:
    """An empty database with the schema. Copying it is faster than migrating a new one for each test."""
    url = postgres.create()
    asyncio.run(_migrated(driver(url)))
    return url.rpartition("/")[2]


async def _migrated(url: str) -> None:
    database = Database.connect(url)
    await database.migrate()
    await database.close()


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a tiny English-German model."""
    folder = tmp_path_factory.mktemp("tiny")
    write_tiny(folder)
    languages = {"source_lang": "en", "target_lang": "de"}
    (folder / "tokenizer_config.json").write_text(json.dumps(languages), encoding="utf-8")
    return str(folder)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    if request.param == "sqlite":
        return Settings(folder=tmp_path / "data")
    template = request.getfixturevalue("template")
    return Settings(database=request.getfixturevalue("postgres").create(template))


@pytest.fixture
def task_server(settings: Settings, tmp_path: Path) -> TaskServer:
    return TaskServer(settings, tmp_path)


@pytest.fixture
def lite(tmp_path: Path) -> TaskServer:
    """SQLite only, for tests that do not depend on the database."""
    return TaskServer(Settings(folder=tmp_path / "data"), tmp_path)


@pytest.fixture(autouse=True)
def _loggers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore the loggers that a service in this process changes."""
    for name in LOGGED:
        logger = logging.getLogger(name)
        for attribute in ("handlers", "propagate", "level"):
            monkeypatch.setattr(logger, attribute, getattr(logger, attribute))


@pytest.fixture
def log_lines() -> Iterator[list[str]]:
    """The lines that the service logs, as it writes them."""
    lines: list[str] = []

    class ListHandler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(JsonFormatter().format(record))

    handler = ListHandler()
    LOGGER.addHandler(handler)
    yield lines
    LOGGER.removeHandler(handler)
