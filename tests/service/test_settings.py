"""Settings of the service: flags, environment variables, a file, defaults; and one line per mistake."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from mtloop.core.errors import InputError
from mtloop.service import Settings

Environment = Callable[..., None]


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Environment:
    """Sets the environment variables of the service."""
    return lambda **variables: [monkeypatch.setenv(name, str(value)) for name, value in variables.items()]  # type: ignore[return-value]


def test_the_defaults_are_valid() -> None:
    settings = Settings.read()
    assert settings == Settings()
    assert settings.url == "sqlite+aiosqlite:///mtloop-data/mtloop.db"


def test_flags_win_over_the_environment_and_the_environment_over_the_file(
    environment: Environment, tmp_path: Path
) -> None:
    file = tmp_path / "mtloop.env"
    file.write_text("# of the server\nMTLOOP_PORT=1\nMTLOOP_RATE=4\nMTLOOP_QUOTA=7\nMTLOOP_FOLDER=data\nOTHER=x\n")
    environment(MTLOOP_ENV_FILE=file, MTLOOP_PORT="1", MTLOOP_RATE="5", MTLOOP_SECURE="yes", OTHER="x")
    settings = Settings.read(port=2, rate=None)
    assert (settings.port, settings.rate, settings.quota, settings.secure) == (2, 5, 7, True)
    assert settings.folder == Path("data")


def test_worker_processes_get_the_same_settings(environment: Environment) -> None:
    settings = Settings(folder=Path("a b"), port=0, secure=True, database="postgresql://me@localhost/x", workers=3)
    environment(**settings.environment())
    assert Settings.read() == settings


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "2001:db8::1", "example.org", "localhost.example.org"])
def test_a_project_without_keys_needs_a_loopback_address(environment: Environment, host: str) -> None:
    with pytest.raises(InputError, match=f"open: keyless requests are only for this machine, but host is {host}; use"):
        Settings.read(open="manual", host=host)
    assert Settings.read(host=host).host == host
    environment(MTLOOP_OPEN="manual", MTLOOP_HOST=host)
    with pytest.raises(InputError, match="open: keyless requests"):
        Settings.read()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_a_project_without_keys_on_a_loopback_address(host: str) -> None:
    assert Settings.read(open="manual", host=host).open == "manual"


def test_the_constructor_does_not_read_the_environment(environment: Environment) -> None:
    environment(MTLOOP_PORT="1")
    assert Settings().port == 8017


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("PORT", "x", "a whole number"),
        ("PORT", "", "a whole number"),
        ("PORT", "65536", "65535 or less"),
        ("PORT", "-1", "0 or more"),
        ("WORKERS", "0", "1 or more"),
        ("WORKERS", "1.5", "a whole number"),
        ("RATE", "-5", "0 or more"),
        ("MAX_BODY", "0", "1 or more"),
        ("SHUTDOWN_TIMEOUT", "0", "1 or more"),
        ("SECURE", "maybe", "yes or no"),
        ("MAX_HEADERS", "0", "1 or more"),
        ("MAX_CONNECTIONS_PER_ADDRESS", "-1", "0 or more"),
        ("BODY_TIMEOUT", "0", "more than 0"),
        ("ENGINES", "0", "1 or more"),
        ("ENGINE_LINGER", "0", "more than 0"),
        ("MAX_UPLOAD", "0", "1 or more"),
        ("TRUSTED_PROXIES", "nginx", "another value: addresses or networks, such as 10.0.0.1,10.1.0.0/16"),
    ],
)
def test_a_mistake_names_the_variable_its_value_and_what_is_expected(
    environment: Environment, name: str, value: str, expected: str
) -> None:
    environment(**{f"MTLOOP_{name}": value})
    with pytest.raises(InputError) as caught:
        Settings.read()
    assert str(caught.value) == f"MTLOOP_{name} is {value!r}; expected {expected}"


def test_two_mistakes_are_one_line(environment: Environment) -> None:
    environment(MTLOOP_PORT="x", MTLOOP_SECURE="maybe")
    with pytest.raises(InputError) as caught:
        Settings.read(rate=-1)
    assert str(caught.value).split("; also: ") == [
        "MTLOOP_PORT is 'x'; expected a whole number",
        "rate is -1; expected 0 or more",
        "MTLOOP_SECURE is 'maybe'; expected yes or no",
    ]


@pytest.mark.parametrize("text", ["0", "1", "false", "TRUE", "no", "Yes"])
def test_words_for_yes_and_no(environment: Environment, text: str) -> None:
    environment(MTLOOP_SECURE=text)
    assert Settings.read().secure == (text.lower() in ("1", "true", "yes"))


def test_a_wrong_database_is_refused_without_its_password(environment: Environment) -> None:
    environment(MTLOOP_DATABASE="mysql://me:secret@localhost/tasks")
    with pytest.raises(InputError, match="a database URL begins with sqlite:// or postgresql://") as caught:
        Settings.read()
    assert "secret" not in str(caught.value)


def test_a_mistake_in_the_file(environment: Environment, tmp_path: Path) -> None:
    file = tmp_path / "mtloop.env"
    environment(MTLOOP_ENV_FILE=file)
    with pytest.raises(InputError, match=r"mtloop\.env: no such file; MTLOOP_ENV_FILE names it"):
        Settings.read()
    file.write_text("MTLOOP_PROT=80\n")
    with pytest.raises(InputError, match=r"mtloop\.env: there is no setting 'MTLOOP_PROT'; .*MTLOOP_PORT"):
        Settings.read()
    file.write_text("MTLOOP_PORT=eighty\n")
    with pytest.raises(InputError, match="MTLOOP_PORT is 'eighty'; expected a whole number"):
        Settings.read()


@pytest.mark.parametrize("file", ["Containerfile", "docs/how-to/deploy-the-service.md"])
def test_every_setting_that_is_named_exists(file: str) -> None:
    named = set(re.findall(r"\bMTLOOP_(\w+)", (Path(__file__).parents[2] / file).read_text(encoding="utf-8")))
    assert named
    assert {name.lower() for name in named} <= {*Settings.model_fields, "env_file"}


def test_the_manual_lists_the_limits_with_their_defaults() -> None:
    page = (Path(__file__).parents[2] / "docs/how-to/deploy-the-service.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| `MTLOOP_(\w+)` \| (\d+) \|", page, re.M))
    names = Settings.model_fields
    limits = [name for name in names if name.startswith(("max_", "engine")) or name.endswith("_timeout")]
    limits.remove("shutdown_timeout")  # an option of `mtloop serve`, described in its help
    limits.remove("max_body")  # no limit on connections
    assert "| `MTLOOP_MODELS` | `en-de` |" in page
    assert f"`{Settings().methods}`" in page
    assert f"`MTLOOP_MAX_BODY` ({Settings().max_body})" in page
    assert listed == {name.upper(): f"{getattr(Settings(), name):.0f}" for name in limits}
