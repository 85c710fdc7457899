"""The two routes of the loop, past all that is there for the others.

They are asked for a million times where the others are asked for once, and read and check themselves what comes in, so
they have no use for FastAPI's own work. Their FastAPI twins stay: the description is made of them, and they answer
where the service lies below a path of a proxy's.
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
class Fast:
    """A route as the log names it, and what answers."""

    path: str
    endpoint: Endpoint


class Express:
    """A plain ASGI middleware; `routes` by method and last part of the path, `mend` turns an error into an answer."""

    def __init__(
        self,
        app: ASGIApp,
        routes: Mapping[tuple[str, str], Fast],
        mend: Callable[[Request, Exception], Awaitable[Response]],
    ) -> None:
        self._app, self._routes, self._mend = app, routes, mend

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = _PATH.fullmatch(scope["path"]) if scope["type"] == "http" else None
        route = self._routes.get((scope["method"], asked[2])) if asked else None
        if asked is None or route is None:
            await self._app(scope, receive, send)
            return
        scope["route"] = route  # for the log
        request = Request(scope, receive)
        try:
            response = await route.endpoint(asked[1], request)
        except Exception as error:
            response = await self._mend(request, error)
        await response(scope, receive, send)
