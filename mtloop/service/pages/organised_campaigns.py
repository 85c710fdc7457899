"""Pages of organisers: the list of rating campaigns with a form for a new one, and one campaign while it runs."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from mtloop.selection.policies.registry import POLICIES, has_stopping_rule
from mtloop.selection.rating_kinds import KINDS
from mtloop.service.accounts.models import Participant
from mtloop.service.campaigns.campaign_bodies import campaign_json, rater_json, status_json, summary_json
from mtloop.service.campaigns.campaign_log import CampaignLog, work_of
from mtloop.service.campaigns.campaign_routes import found_campaign
from mtloop.service.campaigns.models import StoredCampaign
from mtloop.service.pages.page_texts import LANGUAGES, language_of, messages, remember_language
from mtloop.service.pages.rendering import fragment, page
from mtloop.service.pages.service_pages import missing_page
from mtloop.service.problems import NOT_FOUND, ProblemError
from mtloop.service.state import Service, service

router = APIRouter(include_in_schema=False, prefix="/organiser/campaigns")
ROWS = 100  # of the table; more are on the next page


@router.get("")
async def show_campaigns(request: Request) -> Response:
    """The campaigns by name, and the form for a new one."""
    here, who = service(request), await service(request).access.signed_in(request)
    if who is None:
        return RedirectResponse("/login", 303)
    if not who.organiser:
        return missing_page(request, who)
    after = request.query_params.get("after", "")[:80].replace("\x00", "")
    found = await here.storage.campaigns.page(after, ROWS + 1)
    content: dict[str, Any] = {
        "campaigns": [summary_json(one) for one in found[:ROWS]],
        "following": found[ROWS - 1].name if len(found) > ROWS else None,
        "kinds": KINDS,
        "policies": {name: has_stopping_rule(name) for name in POLICIES},
    }
    return _page(request, "campaigns.html", who, **content)


@router.get("/{campaign}")
async def show_campaign(campaign: str, request: Request) -> Response:
    """One campaign: its plan, raters with their links, and the ratings so far."""
    here, who = service(request), await service(request).access.signed_in(request)
    if who is None:
        return RedirectResponse("/login", 303)
    found = await _found(here, who, campaign)
    if found is None:
        return missing_page(request, who)
    return _page(request, "campaign.html", who, **await _progress(request, found))


@router.get("/{campaign}/progress")
async def show_progress(campaign: str, request: Request) -> Response:
    """The part of the page that changes while people rate."""
    here, who = service(request), await service(request).access.signed_in(request)
    found = None if who is None else await _found(here, who, campaign)
    if found is None:
        raise ProblemError(NOT_FOUND)
    content = await _progress(request, found) | {"say": messages("campaigns", language_of(request))}
    return fragment("campaign_progress.html", request.headers.get("if-none-match", ""), **content)


async def _found(here: Service, who: Participant, name: str) -> StoredCampaign | None:
    """The campaign, if an organiser asks and there is one."""
    if not who.organiser:
        return None
    try:
        return await found_campaign(here, name)
    except ProblemError as refused:
        if refused.problem.status != 404:
            raise
        return None


async def _progress(request: Request, found: StoredCampaign) -> dict[str, Any]:
    """What the part of the page shows that changes: of many raters those after the first `after`."""
    here, after = service(request), _skipped(request)
    log, state = await here.campaigns.log_and_state(found)
    status = await asyncio.to_thread(status_json, found, state)
    raters = list(log.raters.values())
    work = await asyncio.to_thread(work_of, log, state, raters[after : after + ROWS])
    return {
        "campaign": campaign_json(found, log.plan),
        "stops": log.plan.stops,
        "found": status,
        "systems": ranked_systems(status),
        "raters": [rater_json(one) for one in work],
        "following": after + ROWS if len(raters) > after + ROWS else None,
        "items": _items(log),
    }


def _skipped(request: Request) -> int:
    """The number of raters before those that are asked for."""
    text = request.query_params.get("after", "")
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else 0


def ranked_systems(status: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The systems from the best mean to the worst. `change` says whether further ratings can change the answer."""
    change = {one["system"]: one for one in status["could_change"]}
    best = status["verdict"]["best"] if status["verdict"] else ()
    rows = [
        {
            "name": system,
            "mean": mean if status["ratings"][system] else None,
            "ratings": status["ratings"][system],
            "best": system in best,
            "change": change.get(system),
        }
        for system, mean in status["means"].items()
    ]
    return sorted(rows, key=lambda row: (row["mean"] is None, -(row["mean"] or 0), row["name"]))


def _items(log: CampaignLog) -> int:
    """The number of items that were rated."""
    return sum(one.kind == "rating" for one in log.valid_answers())


def _page(request: Request, name: str, who: Participant, **content: Any) -> Response:
    """A page in the language of its reader."""
    language = language_of(request)
    say, refused = messages("campaigns", language), messages("campaign_problems", language).texts
    response = page(name, who, say=say, refused=refused, language=language, languages=LANGUAGES, **content)
    return remember_language(response, request)
