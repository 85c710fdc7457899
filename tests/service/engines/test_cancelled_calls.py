"""A call that its client gave up must not leave a thread that still uses the learner."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from helpers.few_threads import few_threads

from mtloop.service.engines.engine_threads import EngineThreads
from mtloop.service.engines.hosted_project import HostedProject, SharedByProjects


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
