"""All projects in the memory of one engine process. The least recently used leave it."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from math import inf
from typing import Any

from mtloop.service.engines.hosted_project import HostedProject, SharedByProjects
from mtloop.service.project_log.event_log import Configured
from mtloop.service.project_log.models import ProjectGone
from mtloop.service.telemetry import LOGGER

CHECK_SECONDS = 1.0


class HostedProjects:
    """Finds the project of a call. At most `max_learners` have their learner in memory, unless more are in use.

    These learners have at most `max_bytes` together, again unless more are in use; the one that was used last stays. A
    call never waits for a place: those before it may wait for an import, and it would wait for other projects' lessons.

    A project that leaves is saved. Its snapshot stays in the cache, which has a limit in bytes.
    """

    def __init__(self, shared: SharedByProjects, max_learners: int, max_bytes: float = inf) -> None:
        self._shared, self._max, self._max_bytes = shared, max_learners, max_bytes
        self._projects: OrderedDict[int, HostedProject] = OrderedDict()
        self._leaving: dict[int, asyncio.Task[None]] = {}

    def __len__(self) -> int:
        return len(self._projects)

    @asynccontextmanager
    async def use(self, project_id: int) -> AsyncIterator[HostedProject]:
        """A project, which stays in memory during the block."""
        if (leaving := self._leaving.get(project_id)) is not None:
            await asyncio.shield(leaving)  # what it learned last is in its snapshot
        found = self._projects.get(project_id)
        if found is None:
            found = self._projects[project_id] = HostedProject(project_id, self._shared)
        self._projects.move_to_end(project_id)
        found.calls += 1
        try:
            yield found
        except ProjectGone:
            self.forget(project_id)
            raise
        finally:
            found.calls -= 1
            self._make_room()

    async def check(self, configured: Configured) -> None:
        """Make a learner with these settings once. Raise InputError if it cannot be made."""
        await self._shared.maker(configured)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._shared.threads.calls, self._shared.models.check, configured)

    def known_lessons(self, project_id: int, first: int, last: int) -> int | None:
        """How many lessons with these numbers a learner in memory knows. None: there is none."""
        found = self._projects.get(project_id)
        return None if found is None else found.known_lessons(first, last)

    def figures(self) -> dict[str, float]:
        """What is in memory now, and what was done since the start of the engine."""
        done = self._shared.figures
        return {
            "projects": len(self),
            "snapshots": len(self._shared.cache),
            "snapshot_bytes": self._shared.cache.bytes_,
            "lessons": done.lessons,
            "lesson_seconds": round(done.lesson_seconds, 3),
            "loads": done.loads,
            "rebuilds": done.rebuilds,
        }

    def forget(self, project_id: int) -> None:
        """Drop a project that was deleted, and end what it does in the background."""
        self._shared.cache.remove(project_id)
        project = self._projects.pop(project_id, None)
        if project is not None:
            self._leave(project_id, project.give_up())

    async def keep_saved(self) -> None:
        """Save projects that nobody uses, for as long as the engine runs."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            for project in list(self._projects.values()):
                try:
                    await project.save_if_idle()
                except Exception:
                    LOGGER.exception("a project could not be saved")
            self._make_room()  # a learner that was rebuilt may be larger

    async def close(self) -> None:
        """Save all projects."""
        projects = list(self._projects.values())
        results = await asyncio.gather(
            *(one.close() for one in projects), *self._leaving.values(), return_exceptions=True
        )
        for error in results:
            if isinstance(error, Exception):
                LOGGER.error("a project could not be saved", exc_info=error)

    def _make_room(self) -> None:
        """Let projects leave that nobody uses, the least recently used first, until the others keep to the limits."""
        unused = [number for number, one in self._projects.items() if not one.is_used]
        while unused and len(self) > 1 and (len(self) > self._max or self._bytes() > self._max_bytes):
            number = unused.pop(0)
            self._leave(number, self._projects.pop(number).close())

    def _bytes(self) -> int:
        return sum(project.bytes_ for project in self._projects.values())

    def _leave(self, project_id: int, work: Coroutine[Any, Any, None]) -> None:
        task = self._leaving[project_id] = asyncio.create_task(work)
        task.add_done_callback(lambda done: self._left(project_id, done))

    def _left(self, project_id: int, done: asyncio.Task[None]) -> None:
        self._leaving.pop(project_id, None)
        if not done.cancelled() and (error := done.exception()) is not None:
            LOGGER.error("a project could not be saved", exc_info=error)
