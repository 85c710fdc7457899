"""The threads of an engine in a test: one pool for everything."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from mtloop.service.engines.engine_threads import EngineThreads


@contextmanager
def few_threads(count: int) -> Iterator[EngineThreads]:
    with ThreadPoolExecutor(count) as pool:
        yield EngineThreads(pool, pool, pool)
