"""An engine: a process that holds base models and the learners of projects, and answers calls on a local socket.

All web processes of a server share it. It ends when no web process has been connected for a while. What it knows
follows from the database, so it may be killed at any moment.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from mtloop.core.errors import InputError
from mtloop.core.locks import try_lock
from mtloop.service.database import Database, is_outage, outage_reason
from mtloop.service.engines.answers_of_learners import TranslationCall
from mtloop.service.engines.base_models import BaseModels
from mtloop.service.engines.engine_messages import (
    FAILED,
    GONE,
    INTERRUPTED,
    INVALID,
    MAX_LINE,
    UNAVAILABLE,
    decode_message,
    encode_message,
)
from mtloop.service.engines.engine_threads import EngineThreads
from mtloop.service.engines.hosted_project import HostedProject, SharedByProjects
from mtloop.service.engines.hosted_projects import HostedProjects
from mtloop.service.engines.learner_state import LessonInterrupted
from mtloop.service.engines.snapshots import SnapshotCache
from mtloop.service.project_log.event_log import Configured
from mtloop.service.project_log.models import ProjectGone
from mtloop.service.project_log.store import ProjectStore
from mtloop.service.settings import Settings
from mtloop.service.telemetry import LOGGER, log_to_stderr

POLL_SECONDS = 0.25


class CallHandler:
    """Answers calls by the name that they have in a message."""

    def __init__(self, projects: HostedProjects) -> None:
        self._projects = projects

    async def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """The answer to a call. Errors become names that a web process knows."""
        try:
            return {"id": message["id"], "result": await self._call(message)}
        except ProjectGone:
            return {"id": message["id"], "error": GONE}
        except InputError as error:
            if error.path is None:
                return {"id": message["id"], "error": INVALID, "detail": str(error)}
            LOGGER.error("a file of the server cannot be used", extra={"fields": {"reason": str(error)}})
            return {"id": message["id"], "error": FAILED}  # clients see no path of the server
        except LessonInterrupted:
            return {"id": message["id"], "error": INTERRUPTED}
        except Exception as error:
            if is_outage(error):
                LOGGER.warning("database unavailable", extra={"fields": {"reason": outage_reason(error)}})
                return {"id": message["id"], "error": UNAVAILABLE}
            LOGGER.exception("internal error in an engine")
            return {"id": message["id"], "error": FAILED}

    async def _call(self, message: dict[str, Any]) -> Any:
        if message["call"] == "forget":
            return self._projects.forget(message["project"])
        if message["call"] == "figures":
            return self._projects.figures()
        if message["call"] == "check":
            return await self._projects.check(Configured(**message["configured"]))
        if message["call"] == "progress":
            return self._projects.known_lessons(message["project"], message["first"], message["last"])
        async with self._projects.use(message["project"]) as project:
            return await _call_project(project, message)


async def _call_project(project: HostedProject, message: dict[str, Any]) -> Any:
    number = message["number"]
    match message["call"]:
        case "translate":
            return await project.translate(number, TranslationCall(**message["texts"]))
        case "learn":
            return await project.learn(number, message["proof"], message["wait"])
        case "base":
            return await project.base_translations(number, TranslationCall(**message["texts"]))
        case "delta":
            return await project.save_delta(number)
        case "save":
            return await project.save(number)
        case other:
            raise InputError(f"unknown call {other!r:.40}")


class EngineServer:
    """Connections of web processes."""

    def __init__(self, handler: CallHandler) -> None:
        self._handler, self._connections = handler, 0
        self._calls: set[asyncio.Task[None]] = set()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the calls of a connection until it ends. Then its calls that still wait are dropped."""
        self._connections += 1
        calls: dict[int, asyncio.Task[None]] = {}
        try:
            while line := await reader.readline():
                message = decode_message(line)
                if "cancel" in message:
                    if (call := calls.get(message["cancel"])) is not None:
                        call.cancel()
                    continue
                call = calls[message["id"]] = asyncio.create_task(self._reply(message, writer))
                self._calls.add(call)
                call.add_done_callback(self._calls.discard)
                call.add_done_callback(lambda _, number=message["id"]: calls.pop(number, None))  # type: ignore[misc]
        except (OSError, ValueError) as error:
            LOGGER.warning("connection to an engine ended", extra={"fields": {"reason": type(error).__name__}})
        finally:
            for call in list(calls.values()):
                call.cancel()
            self._connections -= 1
            writer.close()

    async def _reply(self, message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        answer = await self._handler.answer(message)
        with suppress(OSError):
            writer.write(encode_message(answer))
            await writer.drain()

    async def close(self) -> None:
        """Drop all calls. Web processes repeat them with another engine."""
        for call in self._calls:
            call.cancel()
        if self._calls:
            await asyncio.wait(self._calls)

    async def until_lonely(self, seconds: float) -> None:
        """Wait until no web process has been connected for so many seconds."""
        waited = 0.0
        while waited < seconds:
            await asyncio.sleep(POLL_SECONDS)
            waited = 0.0 if self._connections else waited + POLL_SECONDS


def main() -> None:
    """Serve on the socket that the command line names, with the settings of the environment."""
    log_to_stderr()
    path = Path(sys.argv[1])
    lock = try_lock(Path(f"{path}.lock"), temporary=False)
    if lock is None:
        return  # another engine serves there
    with suppress(FileNotFoundError):
        path.unlink()
    try:
        asyncio.run(_serve(path, Settings.read()))
    finally:
        with suppress(OSError):
            path.unlink()
        lock.release()


async def _serve(path: Path, settings: Settings) -> None:
    database = Database.connect(settings.url)
    projects, threads = hosted_projects(database, settings)
    server = EngineServer(CallHandler(projects))
    listening = await asyncio.start_unix_server(server.connected, path, limit=MAX_LINE)
    LOGGER.info("engine started", extra={"fields": {"pid": os.getpid()}})
    saving, ends = (
        asyncio.create_task(projects.keep_saved()),
        asyncio.create_task(server.until_lonely(settings.engine_linger)),
    )
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the web processes
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ends.cancel)
    with suppress(asyncio.CancelledError):
        await ends
    listening.close()
    saving.cancel()
    await server.close()
    await projects.close()
    await threads.close()
    await database.close()
    LOGGER.info("engine stopped")


def hosted_projects(database: Database, settings: Settings) -> tuple[HostedProjects, EngineThreads]:
    """The projects of an engine, and the threads in which they compute."""
    threads = EngineThreads.start(settings.engine_learners)
    shared = SharedByProjects(ProjectStore(database), BaseModels(), SnapshotCache(settings.engine_cache_bytes), threads)
    return HostedProjects(shared, settings.engine_learners, settings.engine_learner_bytes), threads
