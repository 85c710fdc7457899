"""Bodies that arrive before a valid key is known: they have a budget of bytes, and a key in a header comes first."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Message, Receive, Scope, Send

from mtloop.service.accounts.address_limits import AddressLimits
from mtloop.service.accounts.body_budget import IN_ALL, OF_ADDRESS, TOO_MANY_BODIES, BodyBudget
from mtloop.service.accounts.metering import Metering, MeteringMiddleware, caller_of
from mtloop.service.problems import ProblemError

SIZE = 100


def test_the_budget_of_an_address_and_of_all() -> None:
    budget = BodyBudget(SIZE)
    for address in range(IN_ALL // OF_ADDRESS):
        for _ in range(OF_ADDRESS):
            budget.take(str(address), SIZE)
        with pytest.raises(ProblemError):
            budget.take(str(address), 1)
    with pytest.raises(ProblemError):
        budget.take("other", 1)
    budget.give_back("0", 1)
    budget.take("other", 1)


class Served:
    """A service that reads each body and then waits until `go` is set. `admitted` callers are known before that."""

    def __init__(self) -> None:
        limits: Any = type("NoLimits", (), {"charge": lambda *_: asyncio.sleep(0), "charge_refused": lambda *_: None})()
        valid: Any = None
        self.metering = Metering(limits, *(AddressLimits(0) for _ in range(3)), valid, BodyBudget(SIZE))
        self.go, self.read = asyncio.Event(), asyncio.Semaphore(0)
        self.admit: Callable[[Request], Awaitable[None]] | None = None
        self.app = MeteringMiddleware(self._answer, lambda _: self.metering, self._refuse)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            await request.body()
            if self.admit is not None:
                await self.admit(request)
            self.read.release()
            await self.go.wait()
            response: Response = PlainTextResponse("done")
        except ProblemError as error:
            response = await self._refuse(request, error)
        await response(scope, receive, send)

    async def _refuse(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, ProblemError)
        return error.problem.response()

    async def post(self, address: str, size: int = SIZE) -> int:
        """Send a body in two pieces and return the status."""
        pieces, found = iter([size // 2, size - size // 2]), list[int]()

        async def receive() -> Message:
            length = next(pieces)
            return {"type": "http.request", "body": b"a" * length, "more_body": length != size - size // 2}

        async def send(message: Message) -> None:
            found.append(message.get("status", 0))

        scope = {"type": "http", "method": "POST", "path": "/translate", "headers": [], "client": (address, 1)}
        await self.app(scope, receive, send)
        return found[0]


async def posted(served: Served, requests: list[str], extra: list[str]) -> list[int]:
    """The statuses of requests from some addresses, when others are read and not answered."""
    held = [asyncio.create_task(served.post(address, SIZE + 1)) for address in requests]
    for _ in held:
        await served.read.acquire()
    others = []
    for address in extra:
        others.append(asyncio.create_task(served.post(address, SIZE + 1)))
        read = asyncio.create_task(served.read.acquire())
        await asyncio.wait([others[-1], read], return_when=asyncio.FIRST_COMPLETED)
        read.cancel()
    served.go.set()
    assert await asyncio.gather(*held) == [200] * len(held)
    return [await one for one in others]


def test_bodies_of_unknown_callers_do_not_fill_the_memory() -> None:
    async def attack() -> None:
        served = Served()
        assert await posted(served, ["a"], ["a", "b"]) == [429, 200]
        assert await served.post("a") == 200  # the bytes of the others were given back
        assert await posted(Served(), [str(number) for number in range(IN_ALL - 1)], ["x"]) == [429]
        assert served.metering._bodies._taken == Counter()

    asyncio.run(attack())


def test_a_caller_whose_key_is_valid_takes_nothing_from_the_budget() -> None:
    async def attack(admit: Callable[[Metering, Request], Awaitable[None]]) -> None:
        served = Served()
        served.admit = lambda request: admit(served.metering, request)
        assert await posted(served, ["a"] * 20, ["a"]) == [200]
        assert served.metering._bodies._taken == Counter()

    async def with_key(metering: Metering, request: Request) -> None:
        await metering.admit(caller_of(request), "hash", 1)

    async def with_link(metering: Metering, request: Request) -> None:
        metering.admit_link(caller_of(request), "hash")

    asyncio.run(attack(with_key))
    asyncio.run(attack(with_link))


def test_the_refusal_says_when_to_try_again() -> None:
    assert (TOO_MANY_BODIES.status, TOO_MANY_BODIES.retry_after) == (429, 1)
