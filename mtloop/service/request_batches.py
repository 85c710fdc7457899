"""Group commit: requests that arrive while the database is busy are answered together, in one transaction.

One commit then makes many rewards durable, so a slow disk can serve many participants. A single participant never
waits for others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Q = TypeVar("Q")
A = TypeVar("A")
MAX_BATCH = 128


class RequestBatcher(Generic[Q, A]):
    """Collects requests and answers them in batches; `answer` returns the responses in the order of the requests.

    If a batch fails, each of its requests is tried alone, so that one request cannot break the others. If
    `is_outage` is true for the error (the database is unavailable), all requests of the batch fail at once.
    """

    def __init__(
        self, answer: Callable[[Sequence[Q]], Awaitable[Sequence[A]]], is_outage: Callable[[Exception], bool]
    ) -> None:
        self._answer, self._is_outage = answer, is_outage
        self._waiting: list[tuple[Q, asyncio.Future[A]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def submit(self, request: Q) -> A:
        """The response to one request."""
        future: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return await asyncio.shield(future)

    async def drain(self) -> None:
        """Wait until no request is left."""
        while self._worker is not None and not self._worker.done():
            await asyncio.wait([self._worker])

    async def _work(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
            await self._answer_batch(batch)

    async def _answer_batch(self, batch: Sequence[tuple[Q, asyncio.Future[A]]]) -> None:
        try:
            responses = await self._answer([request for request, _ in batch])
        except Exception as error:
            await self._retry_singly(batch, error)
            return
        for (_, future), response in zip(batch, responses, strict=True):
            future.set_result(response)

    async def _retry_singly(self, batch: Sequence[tuple[Q, asyncio.Future[A]]], error: Exception) -> None:
        if len(batch) == 1 or self._is_outage(error):
            for _, future in batch:
                future.set_exception(error)
            return
        for one in batch:
            await self._answer_batch([one])
