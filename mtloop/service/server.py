"""Starting the application under uvicorn, in one process or several that share a socket."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import tempfile

import uvicorn
from uvicorn.supervisors import Multiprocess

from mtloop.core.errors import InputError
from mtloop.service.database import Database, is_outage
from mtloop.service.settings import Settings

FACTORY = "mtloop.service.app:create_app"


def serve(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT. Open requests are answered before the process ends."""
    asyncio.run(_check_database(settings.url))
    listening = listen(settings.host, settings.port)
    os.environ.update(settings.environment())
    host, port = listening.getsockname()[:2]
    print(f"http://{host}:{port}", flush=True)
    config = uvicorn.Config(
        FACTORY,
        factory=True,
        workers=settings.workers,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=settings.shutdown_timeout,
        timeout_keep_alive=30,
    )
    signal.signal(signal.SIGTERM, _exit)  # uvicorn raises the signal again after its shutdown
    try:
        if settings.workers > 1:
            with tempfile.TemporaryDirectory(prefix="mtloop-metrics-") as shared:
                os.environ["PROMETHEUS_MULTIPROC_DIR"] = shared
                Multiprocess(config, sockets=[listening]).run()
        else:
            uvicorn.Server(config).run(sockets=[listening])
    finally:
        listening.close()


async def _check_database(url: str) -> None:
    """Raise InputError for a database of a newer version. One that does not answer yet is migrated later."""
    database = Database.connect(url)
    try:
        await database.check_known()
    except Exception as error:
        if not is_outage(error):
            raise
    finally:
        await database.close()


def _exit(*_: object) -> None:
    sys.exit(0)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket with the protocol set to TCP. Otherwise asyncio does not turn Nagle's algorithm off."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, socket.IPPROTO_TCP)
        if os.name == "posix":  # on Windows the option would let two servers listen on one port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(2048)
    except OSError as error:
        raise InputError(f"cannot listen on {host}:{port}: {error.strerror or error}") from error
    listening.set_inheritable(True)
    return listening
