"""`mtloop participant`: manage the participants of shared tasks."""

from __future__ import annotations

from pathlib import Path

import click

from mtloop.cli._database import with_storage
from mtloop.cli._options import database_options

EPILOG = """
\b
Examples:
  mtloop participant add team-a --folder data               (prints the API key, only once)
  mtloop participant add committee --organiser --folder data
  mtloop participant rotate team-a --folder data            (prints a new key, revokes the old ones)
  mtloop participant revoke team-a --folder data
  mtloop participant list --folder data
"""


@click.group(epilog=EPILOG)
def command() -> None:
    """Add participants, and create or revoke their API keys. Only a hash of a key is stored."""


@command.command()
@click.argument("name")
@click.option("--organiser", is_flag=True, help="Allow to publish results and to see the activity of all participants.")
@database_options
def add(name: str, organiser: bool, folder: Path | None, database: str | None) -> None:
    """Add a participant and print the API key. The key is not stored and cannot be shown again."""
    from mtloop.core.errors import InputError
    from mtloop.service.accounts.keys import hash_key, new_key
    from mtloop.service.tasks.run_access import NAME

    if not NAME.fullmatch(name):
        raise InputError(f"name {name!r}: expected at most 80 letters, digits, dots, dashes or underscores")
    key = new_key()
    with_storage(
        lambda storage: storage.accounts.add_participant(name, hash_key(key), organiser), folder, database, new=True
    )
    click.echo(key)


@command.command()
@click.argument("name")
@database_options
def rotate(name: str, folder: Path | None, database: str | None) -> None:
    """Create and print a new API key. All earlier keys are revoked."""
    from mtloop.service.accounts.keys import hash_key, new_key

    key = new_key()
    with_storage(lambda storage: storage.accounts.rotate_key(name, hash_key(key)), folder, database)
    click.echo(key)


@command.command()
@click.argument("name")
@database_options
def revoke(name: str, folder: Path | None, database: str | None) -> None:
    """Revoke all API keys of a participant. Runs and rewards are kept."""
    count = with_storage(lambda storage: storage.accounts.revoke_keys(name), folder, database)
    click.echo(f"{count} key{'' if count == 1 else 's'} revoked")


@command.command("list")
@database_options
def list_(folder: Path | None, database: str | None) -> None:
    """List all participants with their numbers of valid keys and of runs."""
    from tabulate import tabulate

    people = with_storage(lambda storage: storage.participant_list(), folder, database)
    rows = [(p["name"], "organiser" if p["organiser"] else "participant", p["keys"], p["runs"]) for p in people]
    click.echo(tabulate(rows, headers=("name", "role", "keys", "runs"), tablefmt="plain"))
