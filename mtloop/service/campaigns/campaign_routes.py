"""Routes of campaigns, for organisers: create, watch, stop, delete and export them, and add raters."""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response

from mtloop.core.errors import InputError
from mtloop.service.accounts.access import actor_of
from mtloop.service.accounts.keys import hash_key, new_token
from mtloop.service.accounts.models import Participant
from mtloop.service.campaigns.campaign_bodies import (
    MAX_LINES,
    BestBody,
    CampaignBody,
    CampaignChangeBody,
    CampaignList,
    NewCampaignBody,
    NewRaterBody,
    RaterLink,
    RaterList,
    RatingList,
    SourceBody,
    StatusBody,
    campaign_json,
    rater_json,
    ratings_json,
    status_json,
    summary_json,
)
from mtloop.service.campaigns.campaign_export import MEDIA_TYPES, exported
from mtloop.service.campaigns.campaign_log import work_of
from mtloop.service.campaigns.models import CampaignGone, RaterExists, StoredCampaign
from mtloop.service.campaigns.rating_routes import input_explained
from mtloop.service.http import json_response, read_body
from mtloop.service.problems import (
    CAMPAIGN_EXISTS,
    NOT_ORGANISER,
    RATER_EXISTS,
    UNKNOWN_CAMPAIGN,
    UNKNOWN_SEGMENT,
    ProblemError,
    documented,
)
from mtloop.service.state import Service, service
from mtloop.service.tasks.run_routes import ALWAYS, IN_PARTS, MAX_NUMBER, WITH_BODY, Limit, body_of

router = APIRouter(prefix="/v1/campaigns", tags=["campaigns"])
OF_CAMPAIGN = (*ALWAYS, NOT_ORGANISER, UNKNOWN_CAMPAIGN)
Segment = Annotated[int, Query(ge=1, le=MAX_NUMBER, description="The number of a segment, from 1.")]


async def found_campaign(here: Service, name: str) -> StoredCampaign:
    """The campaign of this name, or the problem 404."""
    found = await here.storage.campaigns.by_name(name) if name.isascii() and name.isprintable() else None
    if found is None:
        raise ProblemError(UNKNOWN_CAMPAIGN)
    return found


async def organised(request: Request, name: str) -> tuple[Service, StoredCampaign, Participant]:
    """The campaign, if an organiser asks."""
    here = service(request)
    who = await here.access.organiser(request)
    return here, await found_campaign(here, name), who


@router.post(
    "",
    status_code=201,
    response_model=CampaignBody,
    responses=documented(*ALWAYS, *WITH_BODY, NOT_ORGANISER, CAMPAIGN_EXISTS),
    openapi_extra=body_of(NewCampaignBody),
)
async def create_campaign(request: Request) -> Response:
    """Create a campaign from the outputs of several systems."""
    here = service(request)
    who = await here.access.organiser(request)
    body = await read_body(request, NewCampaignBody, here.settings.max_upload, MAX_LINES)
    with input_explained():
        plan = await asyncio.to_thread(body.plan)
    text = await asyncio.to_thread(plan.to_json)
    try:
        made = await here.storage.campaigns.create(body.name, text, actor_of(request, who))
    except InputError:
        raise ProblemError(CAMPAIGN_EXISTS) from None
    return json_response(campaign_json(made, plan), 201)


@router.get("", response_model=CampaignList, responses=documented(*ALWAYS, *IN_PARTS, NOT_ORGANISER))
async def list_campaigns(
    request: Request,
    after: Annotated[str, Query(max_length=80, description="Campaigns after this name.")] = "",
    limit: Limit = 100,
) -> Response:
    """List the campaigns by name."""
    here = service(request)
    await here.access.organiser(request)
    found = await here.storage.campaigns.page(after.replace("\x00", ""), limit + 1)
    shown = [summary_json(one) for one in found[:limit]]
    return json_response({"campaigns": shown, "next": shown[-1]["name"] if len(found) > limit else None})


@router.get("/{campaign}", response_model=CampaignBody, responses=documented(*OF_CAMPAIGN))
async def show_campaign(campaign: str, request: Request) -> Response:
    """Show one campaign."""
    here, found, _ = await organised(request, campaign)
    return json_response(campaign_json(found, await here.campaigns.plan(found)))


@router.patch(
    "/{campaign}",
    response_model=CampaignBody,
    responses=documented(*OF_CAMPAIGN, *WITH_BODY),
    openapi_extra=body_of(CampaignChangeBody),
)
async def change_campaign(campaign: str, request: Request) -> Response:
    """Stop a campaign, or let it go on. A stopped one takes no ratings."""
    here, found, who = await organised(request, campaign)
    body = await read_body(request, CampaignChangeBody, here.settings.max_body)
    await here.storage.campaigns.set_stopped(found, body.stopped, actor_of(request, who))
    now = await found_campaign(here, campaign)
    return json_response(campaign_json(now, await here.campaigns.plan(now)))


@router.delete("/{campaign}", status_code=204, responses=documented(*OF_CAMPAIGN))
async def delete_campaign(campaign: str, request: Request) -> Response:
    """Delete a campaign with its raters and ratings."""
    here, found, who = await organised(request, campaign)
    await here.storage.campaigns.delete(found, actor_of(request, who))
    here.campaigns.forget(found.id)
    return Response(status_code=204)


@router.post(
    "/{campaign}/raters",
    status_code=201,
    response_model=RaterLink,
    responses=documented(*OF_CAMPAIGN, *WITH_BODY, RATER_EXISTS),
    openapi_extra=body_of(NewRaterBody),
)
async def add_rater(campaign: str, request: Request) -> Response:
    """Add a rater. The answer has the rater's link, which is shown once."""
    here, found, who = await organised(request, campaign)
    body = await read_body(request, NewRaterBody, here.settings.max_body)
    token, actor = new_token(), actor_of(request, who)
    try:
        await here.storage.campaigns.add_rater(found, body.name, hash_key(token), actor, body.renew)
    except RaterExists:
        raise ProblemError(RATER_EXISTS) from None
    except CampaignGone:
        raise ProblemError(UNKNOWN_CAMPAIGN) from None
    return json_response({"name": body.name, "link": f"/rate/{token}"}, 201)


@router.get("/{campaign}/raters", response_model=RaterList, responses=documented(*OF_CAMPAIGN, *IN_PARTS))
async def list_raters(
    campaign: str,
    request: Request,
    after: Annotated[int, Query(ge=0, le=MAX_NUMBER, description="So many raters come before these.")] = 0,
    limit: Limit = 100,
) -> Response:
    """List the raters as they were added: what they did, how fast, their spread, and their attention checks."""
    here, found, _ = await organised(request, campaign)
    log, state = await here.campaigns.log_and_state(found)
    raters = list(log.raters.values())
    work = await asyncio.to_thread(work_of, log, state, raters[after : after + limit])
    following = after + limit if len(raters) > after + limit else None
    return json_response({"raters": [rater_json(one) for one in work], "next": following})


@router.get("/{campaign}/status", response_model=StatusBody, responses=documented(*OF_CAMPAIGN))
async def show_status(campaign: str, request: Request) -> Response:
    """Show means, verdict, agreement, and what would still change the answer."""
    here, found, _ = await organised(request, campaign)
    state = await here.campaigns.state(found)
    return json_response(await asyncio.to_thread(status_json, found, state))


@router.get("/{campaign}/ratings", response_model=RatingList, responses=documented(*OF_CAMPAIGN, *IN_PARTS))
async def list_ratings(
    campaign: str,
    request: Request,
    after: Annotated[int, Query(ge=0, le=MAX_NUMBER, description="Ratings after this number.")] = 0,
    limit: Limit = 100,
) -> Response:
    """List every rating with what was shown, the oldest first. Those that were taken back are marked."""
    here, found, who = await organised(request, campaign)
    await here.storage.audit.record(actor_of(request, who), "campaign.ratings", found.name, {"after": after})
    log = await here.campaigns.log(found)
    rows = await asyncio.to_thread(lambda: list(islice(ratings_json(log, after), limit + 1)))
    shown = rows[:limit]
    return json_response({"ratings": shown, "next": shown[-1]["number"] if len(rows) > limit else None})


@router.get(
    "/{campaign}/export",
    response_class=Response,
    responses=documented(*OF_CAMPAIGN, *IN_PARTS)
    | {200: {"content": {kind.partition(";")[0]: {} for kind in MEDIA_TYPES.values()}}},
)
async def export_ratings(
    campaign: str,
    request: Request,
    format: Annotated[Literal["tsv", "jsonl"], Query(description="The format of the file.")] = "tsv",
) -> Response:
    """Export the ratings. JSON lines have everything; the table has what counts, for `mtloop select --ratings`."""
    here, found, who = await organised(request, campaign)
    await here.storage.audit.record(actor_of(request, who), "campaign.export", found.name, {"format": format})
    log = await here.campaigns.log(found)
    text = await asyncio.to_thread(exported, log, format)
    headers = {"content-disposition": f'attachment; filename="{found.name}.{format}"'}
    return Response(text, headers=headers, media_type=MEDIA_TYPES[format])


@router.get("/{campaign}/best", response_model=BestBody, responses=documented(*ALWAYS, *IN_PARTS, UNKNOWN_CAMPAIGN))
async def best_of_segment(campaign: str, request: Request, segment: Segment) -> Response:
    """Get the translation of a segment by the best system after the ratings so far."""
    return await _best(campaign, request, segment)


@router.post(
    "/{campaign}/best",
    response_model=BestBody,
    responses=documented(*ALWAYS, *WITH_BODY, UNKNOWN_CAMPAIGN, UNKNOWN_SEGMENT),
    openapi_extra=body_of(SourceBody),
)
async def best_of_source(campaign: str, request: Request) -> Response:
    """Get the translation of a source line of the campaign by the best system after the ratings so far."""
    return await _best(campaign, request, None)


async def _best(campaign: str, request: Request, segment: int | None) -> Response:
    here = service(request)
    who = await here.access.participant(request)
    found = await found_campaign(here, campaign)
    state = await here.campaigns.state(found)
    if segment is None:
        source = (await read_body(request, SourceBody, here.settings.max_body)).source
        segment = state.plan.sources.index(source) + 1 if source in state.plan.sources else 0
    if not 1 <= segment <= len(state.plan.sources):
        raise ProblemError(UNKNOWN_SEGMENT)
    best = await asyncio.to_thread(lambda: state.best)
    system = {"system": best} if who.organiser else {}
    return json_response({"segment": segment, "text": state.plan.outputs[best][segment - 1], **system})
