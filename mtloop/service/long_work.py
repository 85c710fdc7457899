"""Work in a thread that makes very many objects, such as reading a large file.

A full pass of Python's garbage collector looks at every object of the process and stops all threads meanwhile. The more
objects there are, the longer it takes, and new objects cause the next one. So there is none during such work: with a
large file each would let all other requests wait for a second or more. Young objects are collected as always.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
NEVER = 1 << 30  # passes over younger objects before a full one


@dataclass
class _FullPasses:
    """How many threads do without full passes, and the threshold of the time before."""

    lock: Lock = field(default_factory=Lock)
    threads: int = 0
    usual: int = 0

    @contextmanager
    def put_off(self) -> Iterator[None]:
        with self.lock:
            if not self.threads:
                young, middle, self.usual = gc.get_threshold()
                gc.set_threshold(young, middle, NEVER)
            self.threads += 1
        try:
            yield
        finally:
            with self.lock:
                self.threads -= 1
                if not self.threads:
                    gc.set_threshold(*gc.get_threshold()[:2], self.usual)


_FULL_PASSES = _FullPasses()


async def long_work(work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """What `work` returns in a thread, without full passes of the garbage collector until it has returned."""

    def done() -> T:
        with _FULL_PASSES.put_off():
            return work(*args, **kwargs)

    return await asyncio.to_thread(done)
