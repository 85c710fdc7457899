"""Settings of the service: flags win over the environment, the environment over a file, the file over defaults.

No secret has a default. MTLOOP_ENV_FILE names the file; it has lines such as MTLOOP_PORT=8017, as systemd reads them.
"""

from __future__ import annotations

import os
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, DotEnvSettingsSource, SettingsConfigDict

from mtloop.core.errors import InputError, UnknownName
from mtloop.methods.defaults import DEFAULT_METHOD
from mtloop.text.settings_files import describe_mistakes

PREFIX = "MTLOOP_"
ENV_FILE = PREFIX + "ENV_FILE"
FILE = "mtloop.db"
# Neural methods that learn from corrections or ratings, and the base model. The first is that of a new project.
METHODS = (
    f"{DEFAULT_METHOD},lora+memory,lora,memory,bias,full+memory+copy,full,baseline,nmt-el,nmt-el-recall,nmt-reinforce"
)


class Settings(BaseModel):
    """The settings of a server; each field says what it means. Without `database`, an SQLite file in `folder` is used.

    Times are seconds. The limits on headers, connections and times hold for each worker.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    folder: Path = Field(Path("mtloop-data"), description="folder of the SQLite file, and of what engines share")
    database: str = Field("", description="URL of a PostgreSQL database; without one, an SQLite file in the folder")
    host: str = Field("127.0.0.1", description="address to listen on")
    port: int = Field(8017, ge=0, le=65535, description="port to listen on; 0: a free one")
    workers: int = Field(1, ge=1, description="number of web processes")
    rate: int = Field(6_000, ge=0, description="requests per minute of a participant, over all workers; 0: no limit")
    quota: int = Field(2_000_000, ge=0, description="requests per day of a participant, over all workers; 0: no limit")
    failures: int = Field(100, ge=0, description="refused requests per minute without a valid key; 0: no limit")
    anonymous: int = Field(600, ge=0, description="other requests per minute without a valid key; 0: no limit")
    trusted_proxies: str = Field("", description="addresses or networks whose X-Forwarded-For is believed, with commas")
    max_body: int = Field(1 << 18, ge=1, description="bytes of the body of a request")
    secure: bool = Field(False, description="session cookies for https only; turn it on behind a proxy with TLS")
    shutdown_timeout: int = Field(10, ge=1, description="seconds that open requests get at shutdown")
    max_headers: int = Field(100, ge=1, description="headers and trailers of a request")
    max_header_bytes: int = Field(32_768, ge=1024, description="bytes of the headers of a request")
    max_url_bytes: int = Field(8_192, ge=256, description="bytes of a URL")
    max_connections: int = Field(900, ge=1, description="open connections of a worker")
    max_connections_per_address: int = Field(
        100, ge=0, description="open connections of an address, proxies and this machine excepted; 0: no limit"
    )
    header_timeout: float = Field(10, gt=0, description="seconds until the headers are complete")
    body_timeout: float = Field(30, gt=0, description="seconds until the body is complete")
    idle_timeout: float = Field(30, gt=0, description="seconds between two requests of a connection")
    send_timeout: float = Field(30, gt=0, description="seconds in which a client takes nothing of its response")
    open_metrics: bool = Field(False, description="/metrics for everyone, not only for organisers")
    engines: int = Field(1, ge=1, description="number of engine processes")
    engine_learners: int = Field(8, ge=1, description="learners that an engine keeps ready")
    engine_learner_bytes: int = Field(
        1 << 30,
        ge=0,
        description="bytes in memory of these learners together, without the base model and the tables of Thot",
    )
    engine_cache_bytes: int = Field(1 << 29, ge=0, description="bytes of snapshots that an engine keeps in memory")
    engine_linger: float = Field(10, gt=0, description="seconds after which an engine without a web process ends")
    models: str = Field("en-de", min_length=1, description="models that projects may use, with commas")
    methods: str = Field(METHODS, min_length=1, description="methods that projects may use, with commas")
    max_projects: int = Field(100, ge=0, description="projects that a participant may create; 0: no limit")
    max_corrections: int = Field(
        100_000, ge=0, description="events in the log of a project: corrections, ratings, changes; 0: no limit"
    )
    max_project_bytes: int = Field(
        1 << 30, ge=0, description="bytes of a project's documents, and as many of its translated files; 0: no limit"
    )
    max_project_body: int = Field(1 << 22, ge=1, description="bytes of the body of a request to a project")
    max_upload: int = Field(1 << 26, ge=1, description="bytes of an uploaded file")
    max_text: int = Field(100_000, ge=1, description="characters of all texts of a request")
    max_texts: int = Field(100, ge=1, description="texts of a request")
    open: str = Field("", max_length=80, description="project that programs on this machine use without a key")

    @field_validator("trusted_proxies")
    @classmethod
    def _check_networks(cls, text: str) -> str:
        """Networks. A host name is refused: no connection comes from a name."""
        try:
            return ",".join(str(ip_network(one.strip())) for one in text.split(",") if one.strip())
        except ValueError:
            raise PydanticCustomError("networks", "addresses or networks, such as 10.0.0.1,10.1.0.0/16") from None

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
        if settings.open and not _is_loopback(settings.host):
            raise InputError(
                f"open: keyless requests are only for this machine, but host is {settings.host}; use 127.0.0.1"
            )
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


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


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
