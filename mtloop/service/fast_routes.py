"""A shortcut for the two most frequent routes: next sentence, and submit a translation.

A run calls them for every sentence. They validate their input themselves, so they can skip FastAPI's routing. The same
functions stay registered with FastAPI: the OpenAPI description is made from them, and they answer when a proxy serves
the application below a path prefix.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

Endpoint = Callable[[str, Request], Awaitable[Response]]
_PATH = re.compile(r"/v1/runs/([^/]+)/([a-z]+)")


@dataclass(frozen=True)
class FastRoute:
    """A route's path, for the log, and the function that answers."""

    path: str
    endpoint: Endpoint


class FastRoutesMiddleware:
    """`routes` are found by method and last part of the path; `handle_error` turns an exception into a response."""

    def __init__(
        self,
        app: ASGIApp,
        routes: Mapping[tuple[str, str], FastRoute],
        handle_error: Callable[[Request, Exception], Awaitable[Response]],
    ) -> None:
        self._app, self._routes, self._handle_error = app, routes, handle_error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match = _PATH.fullmatch(scope["path"]) if scope["type"] == "http" else None
        route = self._routes.get((scope["method"], match[2])) if match else None
        if match is None or route is None:
            await self._app(scope, receive, send)
            return
        scope["route"] = route  # for the log
        request = Request(scope, receive)
        try:
            response = await route.endpoint(match[1], request)
        except Exception as error:
            response = await self._handle_error(request, error)
        await response(scope, receive, send)
