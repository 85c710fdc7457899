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
    """`database` is a URL. Without one, the database is an SQLite file in `folder`.

    `rate` is the number of requests per minute and `quota` per day, for one participant over all workers; 0: no limit.
    Without a valid key, `failures` is the number of refused requests per minute and `anonymous` that of other requests,
    such as for public pages, each for one address and worker; 0: no limit. `trusted_proxies` are the addresses or
    networks, separated by commas, whose X-Forwarded-For is believed.
    `secure` restricts the session cookie to https: turn it on behind a proxy that terminates TLS. `shutdown_timeout` is
    the number of seconds that open requests get at shutdown.

    The limits on headers, connections and times hold for each worker; times are seconds. Connections from trusted
    proxies and from this machine have no limit per address. `open_metrics` shows /metrics to everyone, not only to
    organisers.

    Projects: `engines` is the number of engine processes. Each keeps at most `engine_learners` learners ready, and the
    newest snapshots of others up to `engine_cache_bytes`. It ends `engine_linger` seconds after the last server.
    `models` and `methods` are the names, separated by commas, that a project may use. The default methods are neural
    ones that learn from corrections or ratings; oracles, word-level and statistical methods are not among them.
    A participant may create `max_projects` projects. A project takes no more corrections, ratings and changes of its
    settings when its log has `max_corrections` events; 0: no limit. Organisers of the service create as many projects
    as they like.
    `max_project_bytes` is what the documents of a project may take, and so may its translated files; 0: no limit.
    A request has at most `max_texts` texts, with `max_text` characters in all. `max_project_body` and `max_upload` are
    bytes of a request and of an uploaded file.
    `open` is the project that programs on this machine use without a key, through the compatible APIs.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    folder: Path = Path("mtloop-data")
    database: str = ""
    host: str = "127.0.0.1"
    port: int = Field(8017, ge=0, le=65535)
    workers: int = Field(1, ge=1)
    rate: int = Field(6_000, ge=0)
    quota: int = Field(2_000_000, ge=0)
    failures: int = Field(100, ge=0)
    anonymous: int = Field(600, ge=0)
    trusted_proxies: str = ""
    max_body: int = Field(1 << 18, ge=1)
    secure: bool = False
    shutdown_timeout: int = Field(10, ge=1)
    max_headers: int = Field(100, ge=1)
    max_header_bytes: int = Field(32_768, ge=1024)
    max_url_bytes: int = Field(8_192, ge=256)
    max_connections: int = Field(900, ge=1)
    max_connections_per_address: int = Field(100, ge=0)
    header_timeout: float = Field(10, gt=0)
    body_timeout: float = Field(30, gt=0)
    idle_timeout: float = Field(30, gt=0)
    send_timeout: float = Field(30, gt=0)
    open_metrics: bool = False
    engines: int = Field(1, ge=1)
    engine_learners: int = Field(8, ge=1)
    engine_cache_bytes: int = Field(1 << 29, ge=0)
    engine_linger: float = Field(10, gt=0)
    models: str = Field("en-de", min_length=1)
    methods: str = Field(METHODS, min_length=1)
    max_projects: int = Field(100, ge=0)
    max_corrections: int = Field(100_000, ge=0)
    max_project_bytes: int = Field(1 << 30, ge=0)
    max_project_body: int = Field(1 << 22, ge=1)
    max_upload: int = Field(1 << 26, ge=1)
    max_text: int = Field(100_000, ge=1)
    max_texts: int = Field(100, ge=1)
    open: str = Field("", max_length=80)

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
