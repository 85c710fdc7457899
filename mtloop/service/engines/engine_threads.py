"""The threads in which an engine computes."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

CORES = os.cpu_count() or 1


@dataclass(frozen=True)
class EngineThreads:
    """Three pools, so that short work need not wait for long work. The processor is shared by what they do."""

    calls: ThreadPoolExecutor  # translations in turns, loads and saves
    lessons: ThreadPoolExecutor  # lessons that a call waits for
    background: ThreadPoolExecutor  # learners that are rebuilt, lesson by lesson

    @classmethod
    def start(cls, learners: int) -> EngineThreads:
        """The threads of an engine that keeps so many learners ready.

        A project learns one lesson at a time. With a thread for each learner, no lesson waits for that of another
        project, however long it is.
        """
        counts = (2 * CORES, max(2 * CORES, learners), CORES)
        return cls(*(ThreadPoolExecutor(count, "engine") for count in counts))

    async def close(self) -> None:
        """Wait until nothing goes on. The event loop is free meanwhile: a thread that saves needs it."""
        for pool in (self.calls, self.lessons, self.background):
            await asyncio.to_thread(pool.shutdown)
