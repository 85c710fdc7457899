"""Routes of a project's webhook: make a new secret, see whether it works, and remove it."""

from __future__ import annotations

import base64
import secrets

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from mtloop.core.types import JSON
from mtloop.service.audit.models import utc
from mtloop.service.http import json_response
from mtloop.service.problems import ProblemError, documented
from mtloop.service.project_log.client_store import StoredWebhook
from mtloop.service.project_log.models import Role, TranslationProject
from mtloop.service.project_log.project_access import AuthorisedProject
from mtloop.service.projects.project_routes import OF_PROJECT
from mtloop.service.state import Service, service

router = APIRouter(prefix="/v1/projects", tags=["projects"])
SECRET_BYTES = 32


class WebhookBody(BaseModel):
    """The secret of a webhook, in base64, and its address on this server."""

    secret: str
    address: str


class WebhookStateBody(BaseModel):
    """Who made the secret of a webhook, and when. Null: there is none. `works`: what Weblate sends is learned."""

    address: str
    participant: str | None
    created: str | None
    works: bool


@router.put("/{project}/webhook", response_model=WebhookBody, responses=documented(*OF_PROJECT))
async def set_webhook(project: str, request: Request) -> Response:
    """For organisers: make a new secret for Weblate's webhook add-on. It is shown once, and replaces an earlier one.

    What Weblate sends is learned in your name, while the key of this request is valid and you may confirm.
    """
    here = service(request)
    found = await here.project_access.project(request, project, Role.ORGANISE)
    secret = base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()
    await here.storage.clients.set_webhook(found.project, secret, found.participant.id, found.actor)
    return json_response({"secret": secret, "address": _address(found.project)})


@router.get("/{project}/webhook", response_model=WebhookStateBody, responses=documented(*OF_PROJECT))
async def show_webhook(project: str, request: Request) -> Response:
    """For organisers: see who made the secret, and whether it works. The secret itself is not shown again."""
    here = service(request)
    found = await here.project_access.project(request, project, Role.ORGANISE)
    webhook = await here.storage.clients.webhook(found.project.id)
    made: dict[str, JSON] = {"participant": None, "created": None, "works": False}
    if webhook is not None:
        works = webhook.works and await _may_confirm(here, found, webhook)
        made = {"participant": webhook.participant.name, "created": utc(webhook.created), "works": works}
    return json_response({"address": _address(found.project)} | made)


async def _may_confirm(here: Service, found: AuthorisedProject, webhook: StoredWebhook) -> bool:
    try:
        await here.project_access.for_participant(webhook.participant, found.project.name, Role.CONFIRM)
    except ProblemError:
        return False
    return True


def _address(project: TranslationProject) -> str:
    return f"/weblate/{project.name}"


@router.delete("/{project}/webhook", status_code=204, responses=documented(*OF_PROJECT))
async def remove_webhook(project: str, request: Request) -> Response:
    """For organisers: remove the secret. Nothing that comes to the webhook is learned any more."""
    here = service(request)
    found = await here.project_access.project(request, project, Role.ORGANISE)
    await here.storage.clients.delete_webhook(found.project, found.actor)
    return Response(status_code=204)
