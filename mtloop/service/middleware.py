"""Around every request: an id, security headers, a log line, a count."""

from __future__ import annotations

import re
import secrets
import time
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mtloop.service.telemetry import Meters, log

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "cache-control": "no-store",
}
HSTS = "max-age=31536000; includeSubDomains"


class Watch:
    """A plain ASGI middleware. Headers that a route set itself stay; `secure` adds the one for https."""

    def __init__(self, app: ASGIApp, meters: Meters, secure: bool) -> None:
        self._app, self._meters = app, meters
        headers = HEADERS | ({"strict-transport-security": HSTS} if secure else {})
        self._headers = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(scope)
        started, status = time.perf_counter(), 500

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = {name for name, _ in message["headers"]}
                added = [(name, value) for name, value in self._headers if name not in own]
                message["headers"] = [*message["headers"], (b"x-request-id", request_id.encode()), *added]
            await send(message)

        try:
            await self._app(scope, receive, sent)
        finally:
            self._note(scope, status, time.perf_counter() - started, request_id)

    def _note(self, scope: Scope, status: int, seconds: float, request_id: str) -> None:
        """The route in place of the path: a path may hold anything that somebody typed."""
        route = getattr(scope.get("route"), "path", "none")
        method = scope["method"] if route != "none" else "none"
        self._meters.seen(method, route, status, seconds)
        fields: dict[str, Any] = {"request": request_id, "method": method, "route": route, "status": status}
        fields["ms"] = round(seconds * 1000, 2)
        log("request", fields)


def _request_id(scope: Scope) -> str:
    """The proxy's, if it gave one that is fit to be logged."""
    given = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
    return given.decode() if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
