"""`mtloop audit`: show the audit log of a service."""

from __future__ import annotations

import json
from pathlib import Path

import click

from mtloop.cli._database import administration
from mtloop.cli._options import POSITIVE, database_options, format_option

EPILOG = """
\b
Examples:
  mtloop audit --folder data
  mtloop audit --limit 20 --after 341 --folder data          (the entries that follow: older ones)
  mtloop audit --format json --folder data
"""


@click.command(epilog=EPILOG)
@click.option("--limit", type=POSITIVE, default=100, show_default=True, help="Maximum number of entries.")
@click.option("--after", type=POSITIVE, metavar="ID", help="Only entries that follow this one in the list: older ones.")
@format_option("table", "json")
@database_options
def command(limit: int, after: int | None, output_format: str, folder: Path | None, database: str | None) -> None:
    """Show what organisers did on a service, the newest first. The log can only grow.

    `via` is `api`, `page`, or `command` for this command line. The time is UTC.
    """
    from tabulate import tabulate

    entries = [entry.to_json() for entry in administration(folder, database).audit(limit, after)]
    if output_format == "json":
        click.echo(json.dumps(entries, ensure_ascii=False, indent=2))
        return
    rows = [entry | {"detail": _detail(entry["detail"])} for entry in entries]
    headers = ("id", "time", "actor", "via", "action", "subject", "detail")
    click.echo(tabulate([[row[name] for name in headers] for row in rows], headers=headers, tablefmt="plain"))


def _detail(detail: dict[str, object]) -> str:
    return ", ".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in detail.items())
