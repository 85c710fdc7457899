"""Errors in the form of each API: a route class that answers every exception as its protocol does."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from starlette.routing import Match
from starlette.types import Scope

from mtloop.service.error_problems import problem_of
from mtloop.service.problems import Problem

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
Answer = Callable[[Problem], Response]


def protocol_route(render: Answer) -> type[APIRoute]:
    """A route class for `APIRouter(route_class=...)`. `render` makes the answer of the protocol from a problem."""

    class ProtocolRoute(APIRoute):
        def get_route_handler(self) -> Handler:
            handle = super().get_route_handler()

            async def answered(request: Request) -> Response:
                try:
                    return await handle(request)
                except Exception as error:
                    return self.answer_problem(problem_of(error))

            return answered

        @staticmethod
        def answer_problem(problem: Problem) -> Response:
            response = render(problem)
            if problem.retry_after is not None:
                response.headers["retry-after"] = str(problem.retry_after)
            return response

    return ProtocolRoute


def protocol_answer(routers: Sequence[tuple[APIRouter, str]], scope: Scope, problem: Problem) -> Response | None:
    """The answer to a problem that occurred before a route was called. None: no compatible API has this address.

    `routers` are those of compatible APIs, each with the prefix of its addresses.
    """
    for router, prefix in routers:
        inside = {**scope, "path": scope["path"].removeprefix(prefix)}
        for route in router.routes if scope["path"].startswith(prefix) else ():
            answer: Answer | None = getattr(route, "answer_problem", None)
            if answer is not None and route.matches(inside)[0] is not Match.NONE:
                return answer(problem)
    return None
