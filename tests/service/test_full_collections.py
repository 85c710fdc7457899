"""Work that makes very many objects does without full passes of the garbage collector."""

from __future__ import annotations

import asyncio
import gc
import threading

import pytest

from mtloop.service.long_work import NEVER, long_work


def test_no_full_pass_until_the_last_work_is_done() -> None:
    usual, may_end = gc.get_threshold(), [threading.Event(), threading.Event()]

    def work(number: int) -> tuple[int, ...]:
        assert threading.current_thread() is not threading.main_thread()
        assert may_end[number].wait(30)
        return gc.get_threshold()

    async def both() -> None:
        tasks = [asyncio.create_task(long_work(work, number)) for number in (0, 1)]
        while gc.get_threshold() == usual:
            await asyncio.sleep(0)
        for event, task in zip(may_end, tasks, strict=True):
            event.set()
            assert await task == (*usual[:2], NEVER)

    asyncio.run(both())
    assert gc.get_threshold() == usual


def test_full_passes_come_back_after_an_error() -> None:
    usual = gc.get_threshold()
    with pytest.raises(ValueError, match="wrong"):
        asyncio.run(long_work(int, "wrong"))
    assert gc.get_threshold() == usual
