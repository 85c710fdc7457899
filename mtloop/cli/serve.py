"""`mtloop serve`: serve projects that people work on, and shared tasks, over HTTP."""

from __future__ import annotations

from typing import Any

import click

from mtloop.cli._options import COUNT, POSITIVE, database_options

EPILOG = """
\b
Examples:
  mtloop serve --demo --folder data                  (a project to try; prints its key and a curl command)
  mtloop serve --folder data                         (SQLite in data/mtloop.db)
  mtloop serve --folder data --models en-de,opus/en-fr --methods lora+memory+copy,lora+memory --engines 2
  mtloop serve --database postgresql://mtloop@localhost/mtloop --workers 4 --port 80 --host 0.0.0.0
  MTLOOP_FOLDER=data MTLOOP_RATE=600 mtloop serve    (every option can be set in the environment)
\b
Create participants and tasks with `mtloop participant` and `mtloop task`, also while the service runs. Participants
create projects over HTTP.
"""


@click.command(epilog=EPILOG)
@database_options
@click.option("--host", help="Address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on; 0: any free port.  [default: 8017]")
@click.option("--workers", type=POSITIVE, help="Number of worker processes.  [default: 1]")
@click.option("--engines", type=POSITIVE, help="Number of processes that translate and learn.  [default: 1]")
@click.option(
    "--models",
    metavar="NAME,...",
    help="Models that projects may use, the default first: en-de, folders, Hugging Face names.  [default: en-de]",
)
@click.option(
    "--methods",
    metavar="NAME,...",
    help="Methods that projects may use, the default first (see `mtloop methods`).  "
    "[default: neural ones that learn, lora+memory+copy first]",
)
@click.option(
    "--open",
    metavar="PROJECT",
    help="Project that programs on this machine use without a key, through the compatible APIs.  [default: none]",
)
@click.option("--rate", type=COUNT, help="Maximum requests per minute and participant; 0: no limit.  [default: 6000]")
@click.option("--quota", type=COUNT, help="Maximum requests per day and participant; 0: no limit.  [default: 2000000]")
@click.option(
    "--failures",
    type=COUNT,
    help="Maximum refused requests without a valid key per minute, address and worker; 0: no limit.  [default: 100]",
)
@click.option(
    "--anonymous",
    type=COUNT,
    help="Maximum other requests without a key, such as for pages, per minute, address and worker; 0: no limit.  "
    "[default: 600]",
)
@click.option(
    "--trusted-proxies",
    metavar="ADDRESS,...",
    help="Addresses or networks of proxies whose X-Forwarded-For header is believed.  [default: none]",
)
@click.option("--secure/--no-secure", default=None, help="Send the session cookie over https only.  [default: no]")
@click.option("--shutdown-timeout", type=POSITIVE, help="Seconds to finish open requests at shutdown.  [default: 10]")
@click.option(
    "--demo",
    is_flag=True,
    help="Make a project with the corrections of the demo document, if it is missing, and print a new key for it.",
)
def command(demo: bool, **options: Any) -> None:
    """Serve projects over HTTP: people translate and confirm, and an engine learns from every correction.

    Also serve shared tasks: source sentences one by one, a reward per translation, a leaderboard.
    """
    from mtloop.core.extras import need_extras

    need_extras("service")
    from mtloop.service.server import serve
    from mtloop.service.settings import Settings

    settings = Settings.read(**options)
    if demo:
        from mtloop.service.demo_project import prepare_demo
        from mtloop.service.server import listen

        listen(settings.host, settings.port).close()  # a demo that runs there keeps its key
        serve(settings, prepare_demo(settings).welcome)
    else:
        serve(settings)
