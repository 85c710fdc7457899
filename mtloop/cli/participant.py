"""`mtloop participant`: manage the participants of shared tasks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from time import time
from typing import Any, TypeVar

import click

from mtloop.cli._database import administration
from mtloop.cli._options import database_options
from mtloop.core.errors import InputError

F = TypeVar("F", bound=Callable[..., Any])

EXPIRES = "When the key expires: 12h, 90d, 8w, a date such as 2030-12-31 (the end of that day, UTC), or never."
EPILOG = """
\b
Examples:
  mtloop participant add team-a --folder data               (prints the API key, only once)
  mtloop participant add committee --organiser --folder data
  mtloop participant add team-b --expires 90d --folder data
  mtloop participant renew team-b --expires 2030-12-31 --folder data
  mtloop participant rotate team-a --folder data            (prints a new key, revokes the old ones)
  mtloop participant revoke team-a --folder data
  mtloop participant keys team-a --folder data              (shows when they expire)
  mtloop participant list --folder data
"""


@click.group(epilog=EPILOG)
def command() -> None:
    """Add participants, and create, renew or revoke their API keys. Only a hash of a key is stored."""


def expires_option(**settings: Any) -> Callable[[F], F]:
    """Add --expires."""
    return click.option("--expires", metavar="TIME", help=EXPIRES, **settings)


@command.command()
@click.argument("name")
@click.option(
    "--organiser",
    is_flag=True,
    help="Allow to publish results, to see the activity of all participants, and to do everything in every project: "
    "read, confirm, review, change and delete.",
)
@expires_option(default="never", show_default=True)
@database_options
def add(name: str, organiser: bool, expires: str, folder: Path | None, database: str | None) -> None:
    """Add a participant and print the API key. The key is not stored and cannot be shown again."""
    click.echo(administration(folder, database).add_participant(name, organiser, expires))


@command.command()
@click.argument("name")
@expires_option(default="never", show_default=True)
@database_options
def rotate(name: str, expires: str, folder: Path | None, database: str | None) -> None:
    """Create and print a new API key. All earlier keys are revoked."""
    click.echo(administration(folder, database).rotate_key(name, expires))


@command.command()
@click.argument("name")
@expires_option(required=True)
@database_options
def renew(name: str, expires: str, folder: Path | None, database: str | None) -> None:
    """Set when the API key of a participant expires. The key stays the same, also if it has expired."""
    count = administration(folder, database).renew_keys(name, expires)
    if not count:
        raise InputError(f"{name!r} has no key to renew: all are revoked; for a new one: mtloop participant rotate")
    click.echo(f"{_keys(count)} renewed")


@command.command()
@click.argument("name")
@database_options
def revoke(name: str, folder: Path | None, database: str | None) -> None:
    """Revoke all API keys of a participant. Runs and rewards are kept."""
    click.echo(f"{_keys(administration(folder, database).revoke_keys(name))} revoked")


@command.command()
@click.argument("name", required=False)
@database_options
def keys(name: str | None, folder: Path | None, database: str | None) -> None:
    """List the API keys of all participants, or of one, by the first digits of their hashes."""
    from tabulate import tabulate

    found = administration(folder, database).keys(name)
    rows = [(one["name"], one["hash"], _minute(one["created"]), _minute(one["expires"]), _state(one)) for one in found]
    click.echo(tabulate(rows, headers=("name", "hash", "created (UTC)", "expires (UTC)", "state"), tablefmt="plain"))


@command.command("list")
@database_options
def list_(folder: Path | None, database: str | None) -> None:
    """List all participants with their numbers of valid keys and of runs, and when the keys expire."""
    from tabulate import tabulate

    rows = [_row(one) for one in administration(folder, database).participants()]
    click.echo(tabulate(rows, headers=("name", "role", "keys", "runs", "expires (UTC)"), tablefmt="plain"))


def _row(one: dict[str, Any]) -> tuple[Any, ...]:
    role = "organiser" if one["organiser"] else "participant"
    expires = _minute(one["expires"]) if one["keys"] or one["expires"] else "-"
    return one["name"], role, one["keys"], one["runs"], expires


def _keys(count: int) -> str:
    return f"{count} key{'' if count == 1 else 's'}"


def _minute(when: float | None) -> str:
    return "never" if when is None else datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%d %H:%M")


def _state(key: dict[str, Any]) -> str:
    if key["revoked"] is not None:
        return "revoked"
    return "expired" if key["expires"] is not None and key["expires"] <= time() else "valid"
