"""Requests that arrive while the database is busy wait for each other and go in one transaction.

One commit then makes many rewards durable, which is what lets a slow disk serve many participants; a lone
participant waits for nobody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Q = TypeVar("Q")
A = TypeVar("A")
LARGEST = 128


class RequestBatcher(Generic[Q, A]):
    """Collects what is asked for and has it answered together; the answers come in the order of the questions.

    When answering fails, each question is answered on its own, so that one cannot spoil the others' answers; unless
    it was `hopeless`, the database being away, which all of them hear at once.
    """

    def __init__(
        self, answer: Callable[[Sequence[Q]], Awaitable[Sequence[A]]], hopeless: Callable[[Exception], bool]
    ) -> None:
        self._answer, self._hopeless = answer, hopeless
        self._waiting: list[tuple[Q, asyncio.Future[A]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def ask(self, question: Q) -> A:
        """The answer to one question."""
        future: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, future))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return await asyncio.shield(future)

    async def drain(self) -> None:
        """Wait until nothing is under way."""
        while self._worker is not None and not self._worker.done():
            await asyncio.wait([self._worker])

    async def _work(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:LARGEST], self._waiting[LARGEST:]
            await self._settle(batch)

    async def _settle(self, batch: Sequence[tuple[Q, asyncio.Future[A]]]) -> None:
        try:
            answers = await self._answer([question for question, _ in batch])
        except Exception as error:
            await self._mend(batch, error)
            return
        for (_, future), answer in zip(batch, answers, strict=True):
            future.set_result(answer)

    async def _mend(self, batch: Sequence[tuple[Q, asyncio.Future[A]]], error: Exception) -> None:
        if len(batch) == 1 or self._hopeless(error):
            for _, future in batch:
                future.set_exception(error)
            return
        for one in batch:
            await self._settle([one])
