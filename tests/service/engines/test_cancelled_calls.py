"""A call that its client gave up must not leave a thread that still uses the learner."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers.few_threads import few_threads

from mtloop.service.engines.answers_of_learners import TranslationCall
from mtloop.service.engines.engine_pool import EngineConnection, unless_gone
from mtloop.service.engines.engine_server import CallHandler, EngineServer
from mtloop.service.engines.engine_threads import EngineThreads
from mtloop.service.engines.hosted_project import HostedProject, SharedByProjects
from mtloop.service.problems import ProblemError


class Maker:
    def prepare_thread(self) -> None:
        """Nothing to set."""


def test_a_cancelled_call_waits_for_its_thread() -> None:
    begun, goes_on = threading.Event(), threading.Event()
    ended: list[str] = []

    def work() -> None:
        begun.set()
        goes_on.wait(30)
        ended.append("thread")

    async def call(threads: EngineThreads) -> None:
        nothing: Any = None
        maker: Any = Maker()
        project = HostedProject(1, SharedByProjects(nothing, nothing, nothing, threads))
        task = asyncio.create_task(project._in_thread(maker, work))
        await asyncio.to_thread(begun.wait, 30)
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=0.2)
        assert not done  # the thread still has the learner
        goes_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended == ["thread"]

    with few_threads(1) as threads:
        asyncio.run(call(threads))


class WaitingProject:
    """A project whose translations wait until they are cancelled."""

    def __init__(self) -> None:
        self.begun, self.cancelled = asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def use(self, project_id: int) -> AsyncIterator[WaitingProject]:
        yield self

    def figures(self) -> dict[str, float]:
        return {"projects": 1}

    async def translate(self, number: int, call: TranslationCall) -> None:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise


def test_the_engine_drops_the_call_of_a_client_that_went_away(tmp_path: Path) -> None:
    """The web process notices it, and tells the engine. Other calls on the connection go on."""

    async def run() -> None:
        waiting: Any = WaitingProject()
        server, path = EngineServer(CallHandler(waiting)), tmp_path / "socket"
        async with await asyncio.start_unix_server(server.connected, path):
            connection = EngineConnection(*await asyncio.open_unix_connection(path))
            message = {"call": "translate", "project": 1, "number": 1, "texts": {"texts": ["x"]}}
            gone = asyncio.Event()
            call = asyncio.create_task(unless_gone(connection.call(message), gone.wait()))
            await asyncio.wait_for(waiting.begun.wait(), 30)
            assert not waiting.cancelled.is_set()
            gone.set()
            with pytest.raises(ProblemError):
                await call
            await asyncio.wait_for(waiting.cancelled.wait(), 30)
            assert (await connection.call({"call": "figures"}))["result"] == {"projects": 1}
            await connection.close()
            await server.close()

    asyncio.run(run())
