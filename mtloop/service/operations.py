"""Routes for operators: liveness, readiness, metrics."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from mtloop.service.database import is_outage
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
    """Whether the database answers and has the schema of this version."""
    try:
        if await service(request).storage.database.ready():
            return json_response({"status": "ready"})
    except Exception as error:
        if not is_outage(error):
            raise
    return DATABASE_UNAVAILABLE.response()


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """Metrics for Prometheus."""
    here = service(request)
    text = here.metrics.text(await here.storage.tasks.activity())
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")
