"""The engines, as a web process sees them. It starts an engine when a call needs one that does not run."""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from mtloop import __version__
from mtloop.core.errors import InputError
from mtloop.core.locks import try_lock
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
from mtloop.service.http import CLIENT_GONE
from mtloop.service.problems import (
    DATABASE_UNAVAILABLE,
    ENGINE_UNAVAILABLE,
    INTERNAL_ERROR,
    UNKNOWN_PROJECT,
    ProblemError,
    invalid_request,
)
from mtloop.service.project_log.event_log import Configured
from mtloop.service.settings import Settings
from mtloop.service.telemetry import LOGGER

T = TypeVar("T")
ATTEMPTS = 3  # an engine may be killed before a call and during it
START_SECONDS = 60.0
CALL_SECONDS = 300.0
FORGET_SECONDS = 10.0
FIGURES_SECONDS = 2.0
POLL_SECONDS = 0.05
_PACKAGES = str(Path(__file__).parents[3])  # the folder of mtloop, which may run without being installed
_START = f"import sys; sys.path.append({_PACKAGES!r}); from mtloop.service.engines.engine_server import main; main()"
COMMAND = [sys.executable, "-P", "-c", _START]  # -P: files of the current folder must not replace modules


class EngineGone(Exception):
    """The connection to an engine ended."""


class EngineConnection:
    """A connection to an engine. Answers come in any order."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._numbers, self._closed = count(1), False
        self._task = asyncio.create_task(self._read())

    @property
    def is_open(self) -> bool:
        return not self._closed

    async def call(self, message: dict[str, Any]) -> dict[str, Any]:
        """The answer of the engine. A call that is cancelled is cancelled in the engine too."""
        number = next(self._numbers)
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            self._send({"id": number, **message})
            return await future
        except asyncio.CancelledError:
            with suppress(EngineGone):
                self._send({"cancel": number})
            raise
        finally:
            self._waiting.pop(number, None)

    async def close(self) -> None:
        self._task.cancel()
        self._end()
        with suppress(OSError):
            await self._writer.wait_closed()

    def _send(self, message: dict[str, Any]) -> None:
        if self._closed:
            raise EngineGone
        self._writer.write(encode_message(message))

    async def _read(self) -> None:
        try:
            while line := await self._reader.readline():
                answer = decode_message(line)
                if (future := self._waiting.get(answer["id"])) is not None and not future.done():
                    future.set_result(answer)
        except (OSError, ValueError):
            pass  # the connection broke: `_end` tells every call that waits
        finally:
            self._end()

    def _end(self) -> None:
        self._closed = True
        self._writer.close()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(EngineGone())


class EnginePool:
    """Calls engines. A project always has the same engine, unless another server runs on another machine."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._connections: dict[int, EngineConnection] = {}
        self._locks = [asyncio.Lock() for _ in range(settings.engines)]
        self._background: set[asyncio.Task[None]] = set()
        self._nudged: dict[int, int] = {}  # by project: up to which event it is told to learn

    async def call(self, project_id: int, call: str, **arguments: Any) -> Any:
        """The result of a call. It raises a problem if the engine cannot answer; every call may be repeated."""
        try:
            async with asyncio.timeout(CALL_SECONDS):
                answer = await self._answer(project_id, {"call": call, "project": project_id, **arguments})
        except TimeoutError:
            raise ProblemError(ENGINE_UNAVAILABLE) from None
        if "error" not in answer:
            return answer["result"]
        problems = {
            GONE: UNKNOWN_PROJECT,
            UNAVAILABLE: DATABASE_UNAVAILABLE,
            INTERRUPTED: ENGINE_UNAVAILABLE,
            FAILED: INTERNAL_ERROR,
            INVALID: invalid_request(str(answer.get("detail", ""))),
        }
        raise ProblemError(problems[answer["error"]])

    async def check(self, configured: Configured) -> None:
        """Raise a problem if no learner can be made with these settings. The first engine tries it."""
        await self.call(0, "check", configured=asdict(configured))

    def nudge(self, project_id: int, number: int) -> None:
        """Let the engine learn in the background, unless it does so already.

        What it lacks then, it learns before its next answer.
        """
        if self._nudged.get(project_id, 0) >= number:
            return
        self._nudged[project_id] = number
        task = asyncio.create_task(self._try(project_id, number))
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _try(self, project_id: int, number: int) -> None:
        try:
            with suppress(ProblemError):
                await self.call(project_id, "learn", number=number, proof=False, wait=True)
        finally:
            if self._nudged.get(project_id) == number:
                del self._nudged[project_id]

    async def forget(self, project_id: int) -> None:
        """Tell the engine that a project is deleted, if it runs. Another web process may have started it."""
        with suppress(EngineGone, OSError, TimeoutError):
            async with asyncio.timeout(FORGET_SECONDS):
                connection = await self._running(project_id % self._settings.engines)
                await connection.call({"call": "forget", "project": project_id})

    async def figures(self) -> dict[int, dict[str, float]]:
        """What each engine counts. An engine that does not run, or does not answer soon, is left out."""
        found = dict[int, dict[str, float]]()
        for index in range(self._settings.engines):
            with suppress(EngineGone, OSError, TimeoutError):
                async with asyncio.timeout(FIGURES_SECONDS):
                    connection = await self._running(index)
                    found[index] = (await connection.call({"call": "figures"}))["result"]
        return found

    async def _running(self, index: int) -> EngineConnection:
        """The connection to an engine. Raise OSError if none runs."""
        async with self._locks[index]:
            found = self._connections.get(index)
            if found is None or not found.is_open:
                streams = await asyncio.open_unix_connection(self.socket_path(index), limit=MAX_LINE)
                found = self._connections[index] = EngineConnection(*streams)
            return found

    async def close(self) -> None:
        for task in self._background:
            task.cancel()
        for connection in self._connections.values():
            await connection.close()

    async def _answer(self, project_id: int, message: dict[str, Any]) -> dict[str, Any]:
        for _ in range(ATTEMPTS):
            with suppress(EngineGone):
                connection = await self._connection(project_id % self._settings.engines)
                return await connection.call(message)
            LOGGER.warning("an engine ended during a call")
        raise ProblemError(ENGINE_UNAVAILABLE)

    async def _connection(self, index: int) -> EngineConnection:
        async with self._locks[index]:
            found = self._connections.get(index)
            if found is None or not found.is_open:
                found = self._connections[index] = EngineConnection(*await self._connect(index))
            return found

    async def _connect(self, index: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        path, deadline = self.socket_path(index), asyncio.get_running_loop().time() + START_SECONDS
        process: subprocess.Popen[bytes] | None = None
        while True:
            with suppress(OSError):
                return await asyncio.open_unix_connection(path, limit=MAX_LINE)
            if asyncio.get_running_loop().time() > deadline:
                raise ProblemError(ENGINE_UNAVAILABLE)
            if process is None or process.poll() is not None:
                process = self._start_if_missing(path)
            await asyncio.sleep(POLL_SECONDS)

    def _start_if_missing(self, path: Path) -> subprocess.Popen[bytes] | None:
        """Start an engine, unless one holds the lock of this socket: it is starting or ending."""
        lock = try_lock(Path(f"{path}.lock"), temporary=False)
        if lock is None:
            return None
        lock.release()
        environment = os.environ | self._settings.environment() | {"OMP_NUM_THREADS": "1"}
        environment.pop("PROMETHEUS_MULTIPROC_DIR", None)
        # In a group of its own: a Ctrl-C ends the web processes, and then the engine ends by itself.
        process = subprocess.Popen(
            [*COMMAND, str(path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=environment,
            process_group=0,
        )
        threading.Thread(target=process.wait, daemon=True).start()  # it takes the exit status when the engine ends
        return process

    def socket_path(self, index: int) -> Path:
        """The socket of an engine. Servers with other settings, folders or versions have other engines.

        The current folder counts: the names of the database and of models may be relative to it.
        """
        text = repr(sorted(self._settings.environment().items())) + __version__ + sys.executable + str(Path.cwd())
        name = hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
        return _own_folder() / f"{name}.{index}"


def _own_folder() -> Path:
    """A folder that nobody else can write. Its path is short: that of a socket may have about 100 characters."""
    if sys.platform != "win32":
        folder = Path(tempfile.gettempdir()) / f"mtloop-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()  # not that of what a link names
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
            raise InputError("belongs to another user, or others may write there; delete it", path=folder)
        return folder
    raise InputError("projects need Linux or macOS: their engines use local sockets")


async def unless_gone(work: Awaitable[T], gone: Awaitable[None]) -> T:
    """The result of `work`. When `gone` is done first, the work is cancelled and the problem 499 is raised."""
    task, watch = asyncio.ensure_future(work), asyncio.ensure_future(gone)
    try:
        await asyncio.wait({task, watch}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise ProblemError(CLIENT_GONE)
    finally:
        task.cancel()
        watch.cancel()
