"""Weblate's webhook add-on: strings that people approved or changed in Weblate teach the project.

Weblate signs a delivery as the Standard Webhooks specification says, except that its timestamp is no whole number:

    webhook-id: 0f6a...
    webhook-timestamp: 1731940000.123456
    webhook-signature: v1,BASE64 of HMAC-SHA256(secret, "ID.1731940000.BODY")
"""

from __future__ import annotations

import base64
import binascii
import hmac
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b, sha256
from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from mtloop.service.accounts.keys import hash_key
from mtloop.service.accounts.metering import caller_of
from mtloop.service.compatible.language_variants import fits, is_other_variant
from mtloop.service.compatible.opened_project import pair_of
from mtloop.service.http import json_response, read_raw
from mtloop.service.problems import REPEATED_DELIVERY, WRONG_SIGNATURE, ProblemError, invalid_request
from mtloop.service.project_log.models import Role, TranslationProject
from mtloop.service.project_log.project_access import NAME, AuthorisedProject
from mtloop.service.projects.project_bodies import Text
from mtloop.service.projects.project_calls import confirm_translation, confirmation
from mtloop.service.state import Service, service

router = APIRouter(include_in_schema=False)
TAUGHT = frozenset({"Translation approved", "Translation changed", "Translation added", "Suggestion accepted"})
MAX_SECONDS = 300  # between the clocks of Weblate and of this server
KEEP_SECONDS = 86_400  # a delivery is known so long
MAX_DELIVERY = 200  # characters of its id
MAX_NAME = 200  # characters of an external id, and of the name of a document
NO_SECRET = base64.b64encode(bytes(32)).decode()


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


Plurals = Annotated[list[Text], BeforeValidator(_listed)]


class WeblateChange(BaseModel):
    """What Weblate sends: a change of a string, or of something else. A list has the plural forms."""

    model_config = ConfigDict(strict=True)
    action: Text
    source: Plurals = []
    target: Plurals = []
    translation: Text = Field("", max_length=100)  # the code of the target language
    url: Text = ""
    project: Text = ""
    component: Text = ""


@dataclass(frozen=True)
class SignedDelivery:
    """The headers and the body of a delivery."""

    id: str
    timestamp: float
    signatures: str
    body: bytes

    def is_signed(self, secret: str) -> bool:
        """Whether one of the signatures is right. Several are separated by blanks, each with its version before it."""
        signed = f"{self.id}.{math.floor(self.timestamp)}.".encode() + self.body
        expected = hmac.new(base64.b64decode(secret), signed, sha256).digest()
        given = (one.removeprefix("v1,") for one in self.signatures.split(" ") if one.startswith("v1,"))
        return any(hmac.compare_digest(expected, _decoded(one)) for one in given)

    @property
    def is_fresh(self) -> bool:
        return bool(self.id) and abs(time.time() - self.timestamp) <= MAX_SECONDS


def _decoded(signature: str) -> bytes:
    try:
        return base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        return b""


@router.post("/weblate/{project}")
async def receive_change(project: str, request: Request) -> Response:
    """Learn the strings of a change, and answer as soon as they are stored."""
    here = service(request)
    delivery = await _read_delivery(request, here.settings.max_project_body)
    found = await _authorised(here, request, project, delivery)
    if await here.storage.clients.has_delivery(found.project.id, delivery.id):
        raise ProblemError(REPEATED_DELIVERY)
    change = _read_change(delivery.body)
    skipped = _skipped(change, found.project)
    taught, refused = (0, skipped) if skipped else await _teach(here, found, change)
    # Only now, when all is durable: a delivery that failed can be repeated. Of two at the same time, one is refused;
    # both have taught the same.
    if not await here.storage.clients.add_delivery(found.project.id, delivery.id, KEEP_SECONDS):
        raise ProblemError(REPEATED_DELIVERY)
    return json_response({"taught": taught, "skipped": refused or None})


async def _read_delivery(request: Request, max_bytes: int) -> SignedDelivery:
    headers = request.headers
    try:
        timestamp = float(headers.get("webhook-timestamp", ""))
    except ValueError:
        timestamp = math.inf
    body = await read_raw(request, max_bytes)
    return SignedDelivery(
        headers.get("webhook-id", "")[: MAX_DELIVERY + 1], timestamp, headers.get("webhook-signature", ""), body
    )


async def _authorised(here: Service, request: Request, name: str, delivery: SignedDelivery) -> AuthorisedProject:
    """The project, for the participant who set its secret. The answer does not tell what exactly is wrong.

    A secret stops with the key that made it: who revokes a key that others have seen stops the secrets of others too.
    """
    project = await here.storage.projects.find(name) if NAME.fullmatch(name) else None
    webhook = await here.storage.clients.webhook(project.id) if project is not None else None
    secret = NO_SECRET if webhook is None else webhook.secret
    is_right = delivery.is_fresh and len(delivery.id) <= MAX_DELIVERY and delivery.is_signed(secret)
    if project is None or webhook is None or not webhook.works or not is_right:
        await here.metering.check_address(caller_of(request), "")
        raise ProblemError(WRONG_SIGNATURE)
    await here.metering.admit(caller_of(request), hash_key(secret), webhook.participant.id)
    return await here.project_access.for_participant(webhook.participant, project.name, Role.CONFIRM)


def _read_change(body: bytes) -> WeblateChange:
    try:
        return WeblateChange.model_validate_json(body)
    except ValidationError:
        raise ProblemError(invalid_request("body: expected a change as Weblate's webhook add-on sends it")) from None


def _skipped(change: WeblateChange, project: TranslationProject) -> str:
    """Why nothing of a change is learned; empty if something is."""
    if change.action not in TAUGHT:
        return "only translations that people changed, added, approved or accepted are learned"
    language = change.translation
    if not language or not fits(project, "", language) or is_other_variant(language, project.target_language):
        return f"the project translates {pair_of(project)}"
    return "" if any(_pairs(change)) else "the change has no translation"


async def _teach(here: Service, found: AuthorisedProject, change: WeblateChange) -> tuple[int, str]:
    """Store the pairs of a change. Return how many are learned, and why the last of the others is not."""
    taught, refused = 0, ""
    document = "/".join(filter(None, (change.project, change.component)))[:MAX_NAME]
    for form, source, target in _pairs(change):
        event = await confirmation(
            found.project, source, target, document=document, external_id=_name(change.url, form)
        )
        answer = await confirm_translation(here, found, event, wait="durable")
        taught += answer["refused"] is None
        refused = answer["refused"] or refused
    return taught, refused


def _pairs(change: WeblateChange) -> Iterator[tuple[int, str, str]]:
    """The number of a plural form, its source and its translation. All forms but the first have the plural as source.

    A language with one form uses it for the plural too.
    """
    one_form = len(change.target) == 1
    for form, target in enumerate(change.target):
        source = change.source[0 if form == 0 and not one_form else -1] if change.source else ""
        if source.strip() and target.strip():
            yield form, source, target


def _name(url: str, form: int) -> str:
    """The name of a string: its address in Weblate, which has a checksum. A change of the same string replaces it."""
    if not url:
        return ""
    name = f"{url}#{form}" if form else url
    return name if len(name) <= MAX_NAME else f"weblate:{blake2b(name.encode(), digest_size=16).hexdigest()}"
