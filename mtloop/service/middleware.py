"""What happens around every request: an id, security headers, a log line, metrics."""

from __future__ import annotations

import re
import secrets
import time
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mtloop.service.telemetry import ServiceMetrics, log

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


class RequestMiddleware:
    """Adds security headers unless a route has set them; `secure` adds Strict-Transport-Security."""

    def __init__(self, app: ASGIApp, metrics: ServiceMetrics, secure: bool) -> None:
        self._app, self._metrics = app, metrics
        headers = HEADERS | ({"strict-transport-security": HSTS} if secure else {})
        self._headers = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(scope)
        started, status = time.perf_counter(), 500

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = {name for name, _ in message["headers"]}
                added = [(name, value) for name, value in self._headers if name not in own]
                message["headers"] = [*message["headers"], (b"x-request-id", request_id.encode()), *added]
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        finally:
            self._record(scope, status, time.perf_counter() - started, request_id)

    def _record(self, scope: Scope, status: int, seconds: float, request_id: str) -> None:
        """Log and count a request. The log has the route, not the path, because a path can hold anything."""
        route = getattr(scope.get("route"), "path", "none")
        method = scope["method"] if route != "none" else "none"
        self._metrics.count_request(method, route, status, seconds)
        fields: dict[str, Any] = {"request": request_id, "method": method, "route": route, "status": status}
        fields["ms"] = round(seconds * 1000, 2)
        log("request", fields)


def _request_id(scope: Scope) -> str:
    """The id that the proxy sent, if it is safe to log; else a new one."""
    given = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
    return given.decode() if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
