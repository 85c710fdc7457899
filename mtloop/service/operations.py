"""For those who run it: is it alive, is it ready, what does it do."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from mtloop.service.problems import AWAY
from mtloop.service.state import service
from mtloop.service.tasks.bodies import answer
from mtloop.service.tasks.store import is_outage

router = APIRouter(include_in_schema=False)


@router.get("/healthz")
async def alive() -> Response:
    """The process answers."""
    return answer({"status": "alive"})


@router.get("/readyz")
async def ready(request: Request) -> Response:
    """The database answers too, and has the schema of this version."""
    try:
        if await service(request).store.ready():
            return answer({"status": "ready"})
    except Exception as error:
        if not is_outage(error):
            raise
    return AWAY.response()


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """For Prometheus."""
    here = service(request)
    text = here.meters.text(await here.store.activity())
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")
