"""Settings of the service: flags win over the environment, the environment over defaults. No secret has a default."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from mtloop.core.errors import InputError

PREFIX = "MTLOOP_"
FILE = "mtloop.db"


@dataclass(frozen=True)
class Settings:
    """`database` is a URL. Without one, the database is an SQLite file in `folder`.

    `rate` is the number of requests per minute and `quota` per day, for one participant over all workers; 0: no limit.
    `secure` restricts the session cookie to https: turn it on behind a proxy that terminates TLS. `shutdown_timeout` is
    the number of seconds that open requests get at shutdown.
    """

    folder: Path = Path("mtloop-data")
    database: str = ""
    host: str = "127.0.0.1"
    port: int = 8017
    workers: int = 1
    rate: int = 6_000
    quota: int = 2_000_000
    max_body: int = 1 << 18
    secure: bool = False
    shutdown_timeout: int = 10

    @property
    def url(self) -> str:
        """The SQLAlchemy URL of the database, with its asynchronous driver."""
        return driver(self.database) if self.database else f"sqlite+aiosqlite:///{self.folder / FILE}"

    @classmethod
    def read(cls, environment: Mapping[str, str] | None = None, **flags: object) -> Settings:
        """Settings from flags (None: not given), then from MTLOOP_NAME in the environment, then the defaults."""
        given = {name: value for name, value in flags.items() if value is not None}
        settings = cls(**_from_environment(os.environ if environment is None else environment) | given)  # type: ignore[arg-type]
        if settings.database:
            driver(settings.database)  # refuse a wrong URL before the server starts
        return settings

    def environment(self) -> dict[str, str]:
        """The settings as environment variables, for worker processes."""
        return {PREFIX + one.name.upper(): _as_text(getattr(self, one.name)) for one in fields(self)}


def driver(url: str) -> str:
    """A database URL with its asynchronous driver.

    >>> driver("postgresql://me@localhost/tasks"), driver("sqlite:///tasks.db")
    ('postgresql+asyncpg://me@localhost/tasks', 'sqlite+aiosqlite:///tasks.db')
    """
    scheme, colon, rest = url.partition("://")
    drivers = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg", "postgres": "postgresql+asyncpg"}
    name = drivers.get(scheme.partition("+")[0])
    if not colon or name is None:
        raise InputError("a database URL begins with sqlite:// or postgresql://, as in postgresql://user@host/name")
    return f"{name}://{rest}"


def _from_environment(environment: Mapping[str, str]) -> dict[str, object]:
    found: dict[str, object] = {}
    for one in fields(Settings):
        text = environment.get(PREFIX + one.name.upper())
        if text is not None:
            found[one.name] = _parsed(one.name, str(one.type), text)
    return found


def _parsed(name: str, kind: str, text: str) -> object:
    try:
        return _PARSE[kind](text)
    except ValueError as error:
        raise InputError(f"{PREFIX}{name.upper()} is {text!r}; expected {_expected(kind)}") from error


def _boolean(text: str) -> bool:
    if text.lower() not in ("0", "1", "false", "true", "no", "yes"):
        raise ValueError(text)
    return text.lower() in ("1", "true", "yes")


_PARSE: dict[str, Callable[[str], object]] = {"int": int, "Path": Path, "bool": _boolean, "str": str}


def _expected(kind: str) -> str:
    return "a whole number" if kind == "int" else "yes or no"


def _as_text(value: object) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)
