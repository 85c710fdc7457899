"""`mtloop serve`: serve shared tasks over HTTP."""

from __future__ import annotations

from typing import Any

import click

from mtloop.cli._options import COUNT, POSITIVE, database_options

EPILOG = """
\b
Examples:
  mtloop serve --folder data                         (SQLite in data/mtloop.db)
  mtloop serve --database postgresql://mtloop@localhost/mtloop --workers 4 --port 80 --host 0.0.0.0
  MTLOOP_FOLDER=data MTLOOP_RATE=600 mtloop serve    (every option can be set in the environment)
\b
Create tasks and participants with `mtloop task` and `mtloop participant`, also while the service runs.
"""


@click.command(epilog=EPILOG)
@database_options
@click.option("--host", help="Address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on; 0: any free port.  [default: 8017]")
@click.option("--workers", type=POSITIVE, help="Number of worker processes.  [default: 1]")
@click.option("--rate", type=COUNT, help="Maximum requests per minute and participant; 0: no limit.  [default: 6000]")
@click.option("--quota", type=COUNT, help="Maximum requests per day and participant; 0: no limit.  [default: 2000000]")
@click.option("--secure/--no-secure", default=None, help="Send the session cookie over https only.  [default: no]")
@click.option("--shutdown-timeout", type=POSITIVE, help="Seconds to finish open requests at shutdown.  [default: 10]")
def command(**settings: Any) -> None:
    """Serve shared tasks over HTTP: source sentences one by one, a reward per translation, a leaderboard."""
    from mtloop.core.extras import need_extras

    need_extras("service")
    from mtloop.service.server import serve
    from mtloop.service.settings import Settings

    serve(Settings.read(**settings))
