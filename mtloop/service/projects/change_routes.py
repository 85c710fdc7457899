"""The route of changes: server-sent events tell a client that the state of a project changed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from mtloop.service.problems import TOO_MANY_STREAMS, documented
from mtloop.service.project_log.change_watch import STOPPED, ChangeWatch, Watcher
from mtloop.service.project_log.models import Role
from mtloop.service.projects.project_routes import OF_PROJECT
from mtloop.service.state import service

KEEP_ALIVE_SECONDS = 15.0
RETRY_MILLISECONDS = 3000  # how long a client waits before it connects again
MEDIA_TYPE = "text/event-stream"
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"description": "A stream of events.", "content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}
}

_LAST_SEEN = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "description": "The state that you know: the `id` of the last event that you got.",
    "schema": {"type": "string"},
}

router = APIRouter(prefix="/v1/projects/{project}", tags=["projects"])


class ChangeStream(StreamingResponse):
    """The events of a watcher. It is closed at the end, also if the client left before the first event."""

    def __init__(self, watch: ChangeWatch, watcher: Watcher, seen: int | None) -> None:
        headers = {"x-accel-buffering": "no"}  # nginx passes each event on at once
        super().__init__(change_events(watcher, seen), headers=headers, media_type=MEDIA_TYPE)
        self._watch, self._watcher = watch, watcher

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._watch.leave(self._watcher)


@router.get(
    "/changes",
    status_code=200,
    response_class=ChangeStream,
    responses=documented(*OF_PROJECT, TOO_MANY_STREAMS) | _STREAM,
    openapi_extra={"parameters": [_LAST_SEEN]},
)
async def watch_changes(project: str, request: Request) -> Response:
    """Watch a project. The event `state` comes with its state number at first, and whenever the number changes.

    With `Last-Event-ID`, the first event comes only if the state is another one. The event `deleted` or `refused` ends
    the stream: the project does not exist any more, or your key may not see it any more.
    """
    here = service(request)
    found = await here.project_access.project(request, project, Role.TRANSLATE)
    key = await here.access.key_of(request)
    watcher = here.changes.open(found.project.id, found.participant.id, key, found.project.number)
    return ChangeStream(here.changes, watcher, last_seen(request.headers.get("last-event-id", "")))


def last_seen(text: str) -> int | None:
    """The number in a `Last-Event-ID`. None: it is none that this service sent.

    >>> last_seen("17"), last_seen(""), last_seen("-1")
    (17, None, None)
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


async def change_events(watcher: Watcher, seen: int | None) -> AsyncIterator[str]:
    """The text of a stream, until the watcher ends."""
    yield f"retry: {RETRY_MILLISECONDS}\n\n"
    while not watcher.end:
        if watcher.number != seen:
            seen = watcher.number
            yield f'id: {seen}\nevent: state\ndata: {{"state": {seen}}}\n\n'
        elif not await watcher.wait(KEEP_ALIVE_SECONDS):
            yield ": still here\n\n"  # proxies close connections that are silent for long
    if watcher.end != STOPPED:
        yield f"event: {watcher.end}\ndata: {{}}\n\n"
