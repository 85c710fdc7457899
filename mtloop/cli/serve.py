"""`mtloop serve`: shared tasks over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mtloop.cli._inputs import PATH

EPILOG = """
\b
Examples:
  mtloop serve --folder data                         (SQLite in data/mtloop.db)
  mtloop serve --database postgresql://mtloop@localhost/mtloop --workers 4 --port 80 --host 0.0.0.0
  MTLOOP_FOLDER=data MTLOOP_RATE=600 mtloop serve    (every option can stand in the environment)
\b
Tasks and participants are made with `mtloop task` and `mtloop participant`, also while it runs.
"""

DATABASE_OPTIONS = (
    click.option("--folder", type=PATH, help="Where the SQLite file lies.  [default: mtloop-data]"),
    click.option(
        "--database", metavar="URL", help="postgresql://user@host/name, or sqlite:///file; wins over --folder."
    ),
)


def database_options(command: Any) -> Any:
    for option in reversed(DATABASE_OPTIONS):
        command = option(command)
    return command


@click.command(epilog=EPILOG)
@database_options
@click.option("--host", help="Address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65535), help="[default: 8017; 0 takes a free one]")
@click.option("--workers", type=click.IntRange(min=1), help="Processes.  [default: 1]")
@click.option("--rate", type=click.IntRange(min=0), help="Requests a minute and key; 0: any.  [default: 6000]")
@click.option("--quota", type=click.IntRange(min=0), help="Requests a day and key; 0: any.  [default: 2000000]")
@click.option("--secure/--no-secure", default=None, help="The pages' cookie travels by https alone.  [default: no]")
@click.option("--grace", type=click.IntRange(min=1), help="Seconds to finish what has begun.  [default: 10]")
def command(folder: Path | None, **flags: Any) -> None:
    """Serve shared tasks: sources one by one, a reward for each translation, a leaderboard."""
    from mtloop.core.errors import need

    need("fastapi", "service")
    from mtloop.service.server import serve
    from mtloop.service.settings import Settings

    serve(Settings.read(folder=folder, **flags))
