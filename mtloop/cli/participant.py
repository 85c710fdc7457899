"""`mtloop participant`: manage the participants of shared tasks."""

from __future__ import annotations

from pathlib import Path

import click

from mtloop.cli._database import administration
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
    click.echo(administration(folder, database).add_participant(name, organiser))


@command.command()
@click.argument("name")
@database_options
def rotate(name: str, folder: Path | None, database: str | None) -> None:
    """Create and print a new API key. All earlier keys are revoked."""
    click.echo(administration(folder, database).rotate_key(name))


@command.command()
@click.argument("name")
@database_options
def revoke(name: str, folder: Path | None, database: str | None) -> None:
    """Revoke all API keys of a participant. Runs and rewards are kept."""
    count = administration(folder, database).revoke_keys(name)
    click.echo(f"{count} key{'' if count == 1 else 's'} revoked")


@command.command("list")
@database_options
def list_(folder: Path | None, database: str | None) -> None:
    """List all participants with their numbers of valid keys and of runs."""
    from tabulate import tabulate

    people = administration(folder, database).participants()
    rows = [(p["name"], "organiser" if p["organiser"] else "participant", p["keys"], p["runs"]) for p in people]
    click.echo(tabulate(rows, headers=("name", "role", "keys", "runs"), tablefmt="plain"))
