"""Who watches which project. All watched projects of a worker are looked at together, once a second."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress

from mtloop.service.database import is_outage, outage_reason
from mtloop.service.problems import TOO_MANY_STREAMS, ProblemError
from mtloop.service.project_log.watch_store import WatchedState, WatchStore
from mtloop.service.telemetry import LOGGER

POLL_SECONDS = 1.0
MAX_STREAMS = 20  # of one participant, in each worker
DELETED, REFUSED, STOPPED = "deleted", "refused", "stopped"


class Watcher:
    """One client that watches one project. `number` is that of the newest event; `end` says why it is over."""

    def __init__(self, project_id: int, participant_id: int, key: str, number: int) -> None:
        self.project_id, self.participant_id, self.key = project_id, participant_id, key
        self.number, self.end = number, ""
        self._news = asyncio.Event()

    async def wait(self, seconds: float) -> bool:
        """Wait until something happens. False: nothing did."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
            self._news.clear()
            return True
        return False

    def tell(self, number: int) -> None:
        if number != self.number:
            self.number = number
            self._news.set()

    def stop(self, why: str) -> None:
        self.end = why
        self._news.set()


class ChangeWatch:
    """All clients of a worker that watch projects."""

    def __init__(self, store: WatchStore) -> None:
        self._store = store
        self._watchers: set[Watcher] = set()
        self._streams: Counter[int] = Counter()
        self._task: asyncio.Task[None] | None = None
        self._stopped = False

    def open(self, project_id: int, participant_id: int, key: str, number: int) -> Watcher:
        """Begin to watch. It raises the problem 429 if the participant watches too much already."""
        if self._streams[participant_id] >= MAX_STREAMS:
            raise ProblemError(TOO_MANY_STREAMS)
        watcher = Watcher(project_id, participant_id, key, number)
        self._watchers.add(watcher)
        self._streams[participant_id] += 1
        if self._stopped:
            watcher.stop(STOPPED)
        elif self._task is None or self._task.done():
            self._task = asyncio.create_task(self._poll())
        return watcher

    def leave(self, watcher: Watcher) -> None:
        self._watchers.discard(watcher)
        self._streams[watcher.participant_id] -= 1
        if not self._streams[watcher.participant_id]:
            del self._streams[watcher.participant_id]

    def stop(self) -> None:
        """End all streams: the server shuts down and waits for them."""
        self._stopped = True
        for watcher in self._watchers:
            watcher.stop(STOPPED)

    async def close(self) -> None:
        self.stop()
        if self._task is not None:
            self._task.cancel()

    async def _poll(self) -> None:
        while self._watchers:
            await asyncio.sleep(POLL_SECONDS)
            await self._look()

    async def _look(self) -> None:
        watchers = list(self._watchers)
        try:
            state = await self._store.look({one.project_id for one in watchers}, {one.key for one in watchers})
        except Exception as error:
            if is_outage(error):
                LOGGER.warning("database unavailable", extra={"fields": {"reason": outage_reason(error)}})
            else:
                LOGGER.exception("changes of projects cannot be read")
            return
        for watcher in watchers:
            _tell(watcher, state)


def _tell(watcher: Watcher, state: WatchedState) -> None:
    number = state.numbers.get(watcher.project_id)
    if number is None:
        watcher.stop(DELETED)
    elif not state.allows(watcher.project_id, watcher.key):
        watcher.stop(REFUSED)
    else:
        watcher.tell(number)
