"""The route of the audit log, for organisers."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel

from mtloop.service.audit.store import MAX_ID
from mtloop.service.http import json_response
from mtloop.service.problems import NOT_ORGANISER, documented, invalid_request
from mtloop.service.state import service
from mtloop.service.tasks.run_routes import ALWAYS, Limit

router = APIRouter(prefix="/v1", tags=["audit"])


class AuditEntryBody(BaseModel):
    """One act. `subject` is the name of a task, participant or run."""

    id: int
    time: str
    actor: str
    via: str
    action: str
    subject: str
    detail: dict[str, Any]


class AuditBody(BaseModel):
    """Entries, the newest first. `next` is the value of `after` for the next part; null: this is the last one."""

    entries: list[AuditEntryBody]
    next: int | None


@router.get(
    "/audit",
    response_model=AuditBody,
    responses=documented(*ALWAYS, NOT_ORGANISER, invalid_request("A parameter does not match the description.")),
)
async def show_audit(
    request: Request,
    limit: Limit = 100,
    after: Annotated[
        int | None, Query(ge=1, le=MAX_ID, description="Entries after this one: the `next` of the answer before.")
    ] = None,
) -> Response:
    """For organisers: what organisers did, the newest first."""
    here = service(request)
    await here.access.organiser(request)
    found = await here.storage.audit.entries(limit + 1, after)
    shown = [entry.to_json() for entry in found[:limit]]
    return json_response({"entries": shown, "next": shown[-1]["id"] if len(found) > limit else None})
