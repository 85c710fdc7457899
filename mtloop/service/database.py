"""The database of the service: connections, transactions, schema migrations. SQLite and PostgreSQL.

Reads run outside a transaction. Every change is one transaction. On SQLite a writing transaction takes the write lock
when it begins (BEGIN IMMEDIATE), so it never fails half-way because another writer was faster. A lock that another
program holds is given up after `LOCK_SECONDS`.

The stores (`accounts/store.py`, `tasks/store.py`) hold all SQL.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from time import time
from typing import Any

import sqlalchemy as sa
from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from mtloop.core.errors import InputError
from mtloop.service.database_file import check_free_space, prepare_file

MIGRATIONS = Path(__file__).parent / "migrations"
MAX_NAMES_SHOWN = 50
LOCK_SECONDS = 5  # to wait for a lock, a free connection or a new connection
# PostgreSQL: connection lost, read-only, two transactions in each other's way, a right taken away, out of resources,
# lock not available, shutting down or starting, damaged
_OUTAGE_CODES = ("08", "25006", "40001", "40P01", "42501", "53", "55P03", "57P", "XX001", "XX002")
_DAMAGED = ("SQLITE_NOTADB", "SQLITE_CORRUPT")
EMPTYING_SECONDS = 1
_MIGRATION_LOCK = 2017  # PostgreSQL's advisory lock: one process at a time migrates

BIG = sa.BigInteger().with_variant(sa.Integer, "sqlite")
metadata = sa.MetaData()

# One row. Its value grows whenever a key, a run or a task changes, so workers notice that their caches are stale.
cache_version = sa.Table(
    "cache_version",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("value", BIG, nullable=False),
)
CACHE_VERSION = sa.select(cache_version.c.value).scalar_subquery()

# One row, which the check for readiness writes: a database that can only be read is not ready.
readiness = sa.Table(
    "readiness",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("checked", sa.Double, nullable=False),
)


class Database:
    """One database. Call `connect` and `close` inside the event loop that uses it."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self._reading = engine.execution_options(isolation_level="AUTOCOMMIT") if self.is_postgresql else engine
        self.insert = postgresql.insert if self.is_postgresql else sqlite.insert

    @classmethod
    def connect(cls, url: str, pool: int = 5) -> Database:
        """Make the engine. It opens its first connection when it is first used.

        The file of an SQLite database is created if it is missing. Only its owner may read it.
        """
        options: dict[str, Any] = {"pool_size": pool, "max_overflow": pool, "pool_timeout": LOCK_SECONDS}
        if not url.startswith("sqlite"):
            engine = create_async_engine(url, connect_args={"timeout": LOCK_SECONDS}, **options)
            sa.event.listen(engine.sync_engine, "connect", _set_lock_timeout)
            return cls(engine)
        if (file := sqlite_file(url)) is not None:
            prepare_file(file)
        engine = create_async_engine(url, **options)
        sa.event.listen(engine.sync_engine, "connect", _set_pragmas)
        sa.event.listen(engine.sync_engine, "begin", _begin_sqlite)
        return cls(engine)

    async def close(self) -> None:
        await self.engine.dispose()

    @property
    def is_postgresql(self) -> bool:
        return self.engine.dialect.name == "postgresql"

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that may write."""
        async with self.engine.connect() as connection:
            connection = await connection.execution_options(writes=True)
            async with connection.begin():
                yield connection

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """A connection that only reads."""
        async with self._reading.connect() as connection:
            yield connection

    async def rows(self, query: sa.Executable, parameters: Mapping[str, Any] | None = None) -> Sequence[Any]:
        async with self.reading() as connection:
            return (await connection.execute(query, parameters)).all()

    async def row(self, query: sa.Executable, parameters: Mapping[str, Any] | None = None) -> Any:
        """The first row of a query, or None."""
        rows = await self.rows(query, parameters)
        return rows[0] if rows else None

    async def forget_deleted(self) -> None:
        """Empty the log of SQLite, which holds what was deleted until other changes overwrite it.

        Nobody else writes meanwhile. So it gives up soon if somebody reads for long; then the log is emptied later.
        """
        if self.is_postgresql:
            return
        async with self.reading() as connection:
            await connection.exec_driver_sql(_busy_timeout(EMPTYING_SECONDS))
            try:
                with suppress(sa.exc.DBAPIError):
                    await connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                await connection.exec_driver_sql(_busy_timeout(LOCK_SECONDS))

    async def migrate(self) -> None:
        """Bring the schema up to date. Several processes may call this at the same time."""
        async with self.writing() as connection:
            if self.is_postgresql:
                await connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
            await connection.run_sync(_upgrade)

    async def check_known(self) -> None:
        """Raise InputError if a newer version of mtloop has migrated the database."""
        with damage_explained():
            async with self.reading() as connection:
                await connection.run_sync(_check_known)

    async def ready(self) -> bool:
        """Whether the database has the schema of this version and can be written. It writes one small row."""
        if (file := sqlite_file(self.engine.url)) is not None:
            check_free_space(file.parent)
        async with self.writing() as connection:
            current = await connection.run_sync(_is_current)
            if current:
                await connection.execute(sa.update(readiness).values(checked=time()))
            return current


def is_outage(error: Exception) -> bool:
    """Whether an error means that the database is unavailable, rather than that a query was wrong."""
    if isinstance(error, sa.exc.DBAPIError):
        known = error.connection_invalidated or isinstance(error, sa.exc.OperationalError | sa.exc.InterfaceError)
        return known or _is_damaged(error) or str(getattr(error.orig, "sqlstate", "")).startswith(_OUTAGE_CODES)
    return isinstance(error, OSError | sa.exc.TimeoutError)


@contextmanager
def damage_explained() -> Iterator[None]:
    """Raise InputError, in one line, for a file that is not an SQLite database or is damaged."""
    try:
        yield
    except sa.exc.DatabaseError as error:
        if not _is_damaged(error):
            raise
        raise InputError(f"the database cannot be read: {error.orig}; restore it from a copy") from error


def _is_damaged(error: sa.exc.DBAPIError) -> bool:
    """Whether the file is not an SQLite database, or a damaged one."""
    return str(getattr(error.orig, "sqlite_errorname", "")).startswith(_DAMAGED)


def outage_reason(error: Exception) -> str:
    """Why the database is unavailable, in one line for the log. It holds no text of a query."""
    cause = getattr(error, "orig", None) or error
    code = getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None) or type(cause).__name__
    message = str(cause).partition("\n")[0].rpartition("'>: ")[2]  # SQLAlchemy puts the class of asyncpg's error first
    return f"{code}: {message}" if message else str(code)


def sqlite_file(url: str | sa.URL) -> Path | None:
    """The file of an SQLite database. None: the database is elsewhere, in memory, or named by a URI of SQLite."""
    parts = sa.make_url(url)
    name = parts.database or ":memory:"
    if parts.get_backend_name() != "sqlite" or name.startswith((":memory:", "file:")):
        return None
    return Path(name)


async def insert_row(connection: AsyncConnection, table: sa.Table, row: Mapping[str, Any]) -> int:
    """Insert a row and return its id."""
    return int((await connection.execute(sa.insert(table).returning(table.c.id), row)).scalar_one())


async def name_exists(connection: AsyncConnection, table: sa.Table, name: str) -> bool:
    return (await connection.execute(sa.select(table.c.id).where(table.c.name == name))).first() is not None


async def find_id(connection: AsyncConnection, kind: str, table: sa.Table, name: str) -> int:
    """The id of the row with this name. An unknown name raises InputError, which lists the known names."""
    row = (await connection.execute(sa.select(table.c.id).where(table.c.name == name))).first()
    if row is None:
        names = sa.select(table.c.name).order_by(table.c.name).limit(MAX_NAMES_SHOWN)
        known = (await connection.execute(names)).scalars().all()
        raise InputError(f"no {kind} {name!r}; there are: {', '.join(known) or 'none yet'}")
    return int(row.id)


async def invalidate_caches(connection: AsyncConnection) -> None:
    """Make every worker look up keys, runs and tasks again."""
    await connection.execute(sa.update(cache_version).values(value=cache_version.c.value + 1))


class Ids(sa.TypeDecorator[list[int]]):
    """A list of numbers as one parameter: an array on PostgreSQL, JSON on SQLite."""

    impl = sa.JSON
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> Any:
        return dialect.type_descriptor(postgresql.ARRAY(sa.BigInteger()) if dialect.name == "postgresql" else sa.JSON())


class InList(FunctionElement[bool]):
    """`InList(column, bindparam("ids", type_=Ids()))`."""

    name = "in_list"
    type = sa.Boolean()
    inherit_cache = True

    def self_group(self, against: Any = None) -> Any:
        """Return self: SQLAlchemy would add `= 1` on SQLite, which then reads every row of the table."""
        return self


def in_list(column: sa.Column[int], parameter: str = "ids") -> InList:
    """Whether a column's value is in a list that is passed as one parameter.

    SQLAlchemy's IN writes one placeholder for each id, so every list length is another statement to compile and
    prepare. An array (PostgreSQL) or a JSON list (SQLite) is one parameter, whatever its length.
    """
    return InList(column, sa.bindparam(parameter, type_=Ids()))


@compiles(InList)
def _in_json_list(element: InList, compiler: Any, **options: Any) -> str:
    column, ids = (compiler.process(part, **options) for part in element.clauses)
    return f"{column} IN (SELECT value FROM json_each({ids}))"


@compiles(InList, "postgresql")
def _in_array(element: InList, compiler: Any, **options: Any) -> str:
    column, ids = (compiler.process(part, **options) for part in element.clauses)
    return f"{column} = ANY ({ids})"


def _set_pragmas(connection: Any, _: object) -> None:
    connection.isolation_level = None  # the driver starts no transactions: `_begin_sqlite` does
    connection.create_function("lower", 1, _lower, deterministic=True)
    cursor = connection.cursor()
    # secure_delete: what is deleted is overwritten, so that the file does not keep the texts of a deleted project
    cursor.execute(_busy_timeout(LOCK_SECONDS))  # first: changing the journal mode may wait for a lock too
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _busy_timeout(seconds: float) -> str:
    return f"PRAGMA busy_timeout={round(seconds * 1000)}"


def _lower(text: str | None) -> str | None:
    """`lower` as PostgreSQL has it: that of SQLite knows the letters from A to Z only."""
    return None if text is None else str(text).lower()


def _set_lock_timeout(connection: Any, _: object) -> None:
    cursor = connection.cursor()
    cursor.execute(f"SET lock_timeout = {round(LOCK_SECONDS * 1000)}")
    cursor.close()
    connection.commit()


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
    _check_known(connection)
    with EnvironmentContext(config, script, fn=lambda at, _: script._upgrade_revs("head", at)) as environment:
        environment.configure(connection=connection, render_as_batch=True)
        environment.run_migrations()


def _check_known(connection: sa.Connection) -> None:
    """Raise InputError if the schema is newer than this version."""
    script = _script()
    current = MigrationContext.configure(connection).get_current_revision()
    try:
        script.get_revisions(current or ())
    except CommandError as error:
        raise InputError(
            f"the database was made by a newer mtloop (schema {current}; this version knows up to "
            f"{script.get_current_head()}); upgrade mtloop"
        ) from error


def _is_current(connection: sa.Connection) -> bool:
    at = MigrationContext.configure(connection).get_current_revision()
    return at == _script().get_current_head()
