"""Every test that touches a database runs on both: SQLite, and a PostgreSQL that the tests start themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.postgres import Postgres, binaries
from helpers.shared_task import Hall

from mtloop.service import Settings
from mtloop.service.settings import driver
from mtloop.service.tasks.store import Store


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    if binaries() is None:
        pytest.skip("no PostgreSQL to test with: `postgres` is neither in PATH nor under /usr/lib/postgresql")
    server = Postgres()
    yield server
    server.remove()


@pytest.fixture(scope="session")
def template(postgres: Postgres) -> str:
    """A database with the schema in it: copying it is quicker than migrating each."""
    url = postgres.create()
    asyncio.run(_migrated(driver(url)))
    return url.rpartition("/")[2]


async def _migrated(url: str) -> None:
    store = Store.connect(url)
    await store.migrate()
    await store.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    if request.param == "sqlite":
        return Settings(folder=tmp_path / "data")
    template = request.getfixturevalue("template")
    return Settings(database=request.getfixturevalue("postgres").create(template))


@pytest.fixture
def hall(settings: Settings, tmp_path: Path) -> Hall:
    return Hall(settings, tmp_path)


@pytest.fixture
def lite(tmp_path: Path) -> Hall:
    """SQLite alone, for what does not depend on the database."""
    return Hall(Settings(folder=tmp_path / "data"), tmp_path)
