"""Errors in the form of each API: a route class that answers every exception as its protocol does."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Match
from starlette.types import Scope

from mtloop.service.compatible.request_rewriting import ROOT_FOLDERS
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

    `routers` are those of compatible APIs, each with the prefix of its addresses. An address that no route has belongs
    to the API with its prefix, or with a route in its folder.
    """
    path: str = scope["path"]
    for router, prefix in routers:
        inside = {**scope, "path": path.removeprefix(prefix)}
        for route in router.routes if path.startswith(prefix) else ():
            answer = _answer_of(route)
            if answer is not None and route.matches(inside)[0] is not Match.NONE:
                return answer(problem)
    folder = next((one for one in ROOT_FOLDERS if path.startswith(one)), None)
    for router, prefix in routers:
        for route in router.routes:
            is_own = f"{path}/".startswith(f"{prefix}/") if prefix else _is_in(route, folder)
            answer = _answer_of(route)
            if answer is not None and is_own:
                return answer(problem)
    return None


def _answer_of(route: BaseRoute) -> Answer | None:
    return getattr(route, "answer_problem", None)


def _is_in(route: BaseRoute, folder: str | None) -> bool:
    return folder is not None and f"{getattr(route, 'path', '')}/".startswith(folder)
