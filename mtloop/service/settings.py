"""Settings of the service: flags win over the environment, the environment over a file, the file over defaults.

No secret has a default. MTLOOP_ENV_FILE names the file; it has lines such as MTLOOP_PORT=8017, as systemd reads them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_settings import BaseSettings, DotEnvSettingsSource, SettingsConfigDict

from mtloop.core.errors import InputError, UnknownName
from mtloop.text.settings_files import describe_mistakes

PREFIX = "MTLOOP_"
ENV_FILE = PREFIX + "ENV_FILE"
FILE = "mtloop.db"


class Settings(BaseModel):
    """`database` is a URL. Without one, the database is an SQLite file in `folder`.

    `rate` is the number of requests per minute and `quota` per day, for one participant over all workers; 0: no limit.
    `secure` restricts the session cookie to https: turn it on behind a proxy that terminates TLS. `shutdown_timeout` is
    the number of seconds that open requests get at shutdown.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    folder: Path = Path("mtloop-data")
    database: str = ""
    host: str = "127.0.0.1"
    port: int = Field(8017, ge=0, le=65535)
    workers: int = Field(1, ge=1)
    rate: int = Field(6_000, ge=0)
    quota: int = Field(2_000_000, ge=0)
    max_body: int = Field(1 << 18, ge=1)
    secure: bool = False
    shutdown_timeout: int = Field(10, ge=1)

    @property
    def url(self) -> str:
        """The SQLAlchemy URL of the database, with its asynchronous driver."""
        return driver(self.database) if self.database else f"sqlite+aiosqlite:///{self.folder / FILE}"

    @classmethod
    def read(cls, **flags: object) -> Settings:
        """Settings from flags (None: not given), from MTLOOP_NAME in the environment or the file, or the defaults."""
        given = {name: value for name, value in flags.items() if value is not None}
        arguments: dict[str, Any] = given | {"_env_file": _env_file()}
        try:
            settings = cls(**_Environment(**arguments).model_dump())
        except ValidationError as error:
            message = describe_mistakes(
                error, cls.model_fields, rename=lambda name: name if name in given else _variable(name)
            )
            raise InputError(message) from error
        if settings.database:
            driver(settings.database)  # refuse a wrong URL before the server starts
        return settings

    def environment(self) -> dict[str, str]:
        """The settings as environment variables, for worker processes."""
        return {_variable(name): _as_text(value) for name, value in self}


class _Environment(Settings, BaseSettings):
    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore")


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


def _variable(name: str) -> str:
    return PREFIX + name.upper()


def _env_file() -> Path | None:
    """The file that MTLOOP_ENV_FILE names, after a check of its names."""
    if not (name := os.environ.get(ENV_FILE)):
        return None
    path, known = Path(name), [_variable(field) for field in Settings.model_fields]
    if not path.is_file():
        raise InputError(f"no such file; {ENV_FILE} names it", path=path)
    for variable in map(str.upper, DotEnvSettingsSource(_Environment, env_file=path).env_vars):
        if variable.startswith(PREFIX) and variable not in known:
            raise UnknownName("setting", variable, known, path=path)
    return path


def _as_text(value: object) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)
