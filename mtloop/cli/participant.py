"""`mtloop participant`: who may take part."""

from __future__ import annotations

from pathlib import Path

import click

from mtloop.cli._database import with_store
from mtloop.cli.serve import database_options

EPILOG = """
\b
Examples:
  mtloop participant add team-a --folder data               (prints the key, this once)
  mtloop participant add committee --organiser --folder data
  mtloop participant rotate team-a --folder data            (a new key; the old ones are void)
  mtloop participant revoke team-a --folder data
  mtloop participant list --folder data
"""


@click.group(epilog=EPILOG)
def command() -> None:
    """Add participants, give and take their keys. Only a hash of a key is stored."""


@command.command()
@click.argument("name")
@click.option("--organiser", is_flag=True, help="May open results and see everyone's activity.")
@database_options
def add(name: str, organiser: bool, folder: Path | None, database: str | None) -> None:
    """Add a participant and print the API key: it is not kept and cannot be shown again."""
    from mtloop.core.errors import InputError
    from mtloop.service.accounts.access import NAME
    from mtloop.service.accounts.keys import hash_key, new_key

    if not NAME.fullmatch(name):
        raise InputError(f"name {name!r}: expected up to 80 letters, digits, dots, dashes or underscores")
    key = new_key()
    with_store(lambda store: store.add_participant(name, hash_key(key), organiser), folder, database, new=True)
    click.echo(key)


@command.command()
@click.argument("name")
@database_options
def rotate(name: str, folder: Path | None, database: str | None) -> None:
    """Print a new key; all earlier ones are revoked."""
    from mtloop.service.accounts.keys import hash_key, new_key

    key = new_key()
    with_store(lambda store: store.rotate_key(name, hash_key(key)), folder, database)
    click.echo(key)


@command.command()
@click.argument("name")
@database_options
def revoke(name: str, folder: Path | None, database: str | None) -> None:
    """Revoke all keys; runs and rewards stay."""
    count = with_store(lambda store: store.revoke_keys(name), folder, database)
    click.echo(f"{count} key{'' if count == 1 else 's'} revoked")


@command.command("list")
@database_options
def list_(folder: Path | None, database: str | None) -> None:
    """Everyone, with how many keys work and how many runs there are."""
    from tabulate import tabulate

    people = with_store(lambda store: store.participant_list(), folder, database)
    rows = [(p["name"], "organiser" if p["organiser"] else "participant", p["keys"], p["runs"]) for p in people]
    click.echo(tabulate(rows, headers=("name", "role", "keys", "runs"), tablefmt="plain"))
