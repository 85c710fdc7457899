"""Starting the application under uvicorn, in one process or several that share a socket."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from multiprocessing.process import BaseProcess
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.supervisors import Multiprocess

from mtloop.core.errors import InputError
from mtloop.service.app import create_app
from mtloop.service.connections import Connections, capacity
from mtloop.service.database import Database, is_outage
from mtloop.service.settings import Settings
from mtloop.service.telemetry import LOGGER, log_to_stderr, metrics_folder

FACTORY = "mtloop.service.server:create_worker_app"
LAST_SECONDS = 5  # after the shutdown timeout, for a worker that does not end by itself


def serve(settings: Settings, welcome: Callable[[str], str] = str) -> None:
    """Serve until SIGTERM or SIGINT. Open requests are answered before the process ends.

    `welcome` gets the address, and returns what is printed when the service listens.
    """
    log_to_stderr()  # first: the check of the database logs too
    asyncio.run(_check_database(settings.url))
    listening = listen(settings.host, settings.port)
    os.environ.update(settings.environment())
    host, port = listening.getsockname()[:2]
    print(welcome(_url(host, port)), flush=True)  # for people and scripts; logs go to standard error
    LOGGER.info("listening", extra={"fields": {"address": _url(host, port)}})
    config = uvicorn.Config(
        FACTORY,
        factory=True,
        workers=settings.workers,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=settings.shutdown_timeout,
        forwarded_allow_ips=settings.trusted_proxies,
        http=Connections(settings),  # type: ignore[arg-type]  # called like a class
        ws="none",
    )
    signal.signal(signal.SIGTERM, _exit)  # uvicorn raises the signal again after its shutdown
    try:
        if settings.workers > 1:
            with metrics_folder() as shared:
                os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(shared)
                Multiprocess(config, sockets=[listening]).run()
        else:
            uvicorn.Server(config).run(sockets=[listening])
    finally:
        listening.close()


def create_worker_app() -> FastAPI:
    """The application of this process. uvicorn calls it in every worker, inside the event loop."""
    app, settings = create_app(), Settings.read()
    asyncio.get_running_loop().set_exception_handler(_log_loop_error)
    if (possible := capacity(settings.max_connections)) < settings.max_connections:
        fields = {"max_connections": settings.max_connections, "possible": possible}
        LOGGER.warning("fewer connections than set: too few file descriptors", extra={"fields": fields})
    if (parent := multiprocessing.parent_process()) is not None:
        patience = settings.shutdown_timeout + LAST_SECONDS
        threading.Thread(target=_end_after, args=(parent, patience), daemon=True).start()
    return app


def _end_after(parent: BaseProcess, patience: int) -> None:
    """End this worker when its parent is gone: a killed parent must not leave workers that hold the port."""
    parent.join()
    LOGGER.warning("the parent process is gone")
    signal.raise_signal(signal.SIGTERM)
    time.sleep(patience)
    os._exit(1)


def _log_loop_error(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log an error outside of requests, such as a connection that could not be accepted."""
    LOGGER.error(str(context.get("message", "error in the event loop")), exc_info=context.get("exception"))


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


def _url(host: str, port: int) -> str:
    """The address for a browser.

    >>> _url("127.0.0.1", 8017), _url("::1", 8017)
    ('http://127.0.0.1:8017', 'http://[::1]:8017')
    """
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _exit(*_: object) -> None:
    sys.exit(0)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket with the protocol set to TCP. Otherwise asyncio does not turn Nagle's algorithm off."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with ExitStack() as closed_on_error:
            listening = closed_on_error.enter_context(socket.socket(family, kind, socket.IPPROTO_TCP))
            if os.name == "posix":  # on Windows the option would let two servers listen on one port
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(2048)
            closed_on_error.pop_all()
    except OSError as error:
        raise InputError(f"cannot listen on {host}:{port}: {error.strerror or error}") from error
    listening.set_inheritable(True)
    return listening
