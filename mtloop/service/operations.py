"""Routes for operators: liveness, readiness, metrics."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from mtloop.service.http import json_response
from mtloop.service.problems import DATABASE_UNAVAILABLE
from mtloop.service.state import service

router = APIRouter(include_in_schema=False)


@router.get("/healthz")
async def alive() -> Response:
    """Whether the process answers."""
    return json_response({"status": "alive"})


@router.get("/readyz")
async def ready(request: Request) -> Response:
    """Whether the database can be written and has the schema of this version. If not, the log says why."""
    if await service(request).readiness.ready():
        return json_response({"status": "ready"})
    return DATABASE_UNAVAILABLE.response()


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """Metrics for Prometheus. They show how tasks proceed whose results are hidden, so only organisers see them."""
    here = service(request)
    if not here.settings.open_metrics:
        await here.access.organiser(request)
    text = here.metrics.text(await here.storage.tasks.activity(), await here.engines.figures())
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")
