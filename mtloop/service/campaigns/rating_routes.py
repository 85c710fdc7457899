"""Routes of raters. The token in the link is the key: no answer names a system, a mean or the verdict."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from mtloop.core.errors import InputError
from mtloop.service.accounts.keys import MAX_KEY_LENGTH, hash_key
from mtloop.service.accounts.metering import caller_of
from mtloop.service.campaigns.campaign_bodies import (
    ItemBody,
    NextItemBody,
    ProgressAnswer,
    RatingBody,
    RatingPlanBody,
    item_json,
    rating_plan_json,
)
from mtloop.service.campaigns.models import StoredCampaign, StoredRater
from mtloop.service.http import json_response, read_body
from mtloop.service.problems import (
    CAMPAIGN_STOPPED,
    DATABASE_UNAVAILABLE,
    NOTHING_TO_UNDO,
    RATED_ALREADY,
    UNKNOWN_ITEM,
    UNKNOWN_RATING_LINK,
    ProblemError,
    documented,
    invalid_request,
    too_many,
)
from mtloop.service.state import service
from mtloop.service.tasks.run_routes import WITH_BODY, body_of

router = APIRouter(prefix="/v1/rating/{token}", tags=["rating"])
OF_RATER = (UNKNOWN_RATING_LINK, too_many(60), DATABASE_UNAVAILABLE)
Token = Annotated[str, Path(max_length=MAX_KEY_LENGTH, description="The end of the rater's link.")]


@contextmanager
def input_explained() -> Iterator[None]:
    """Raise a problem for input that does not fit the campaign."""
    try:
        yield
    except InputError as error:
        raise ProblemError(invalid_request(str(error))) from None


async def link_owner(request: Request, token: str) -> tuple[StoredCampaign, StoredRater]:
    """The campaign and the rater of a link; the request counts for it. A wrong link raises the problem 404."""
    here = service(request)
    found = await here.campaigns.rater(token)
    here.metering.admit_link(caller_of(request), hash_key(token))
    return found


@router.get("", response_model=RatingPlanBody, responses=documented(*OF_RATER))
async def show_rating(token: Token, request: Request) -> Response:
    """Show what is to be rated, and how far you are."""
    here = service(request)
    campaign, rater = await link_owner(request, token)
    plan, progress = await here.campaigns.plan(campaign), await here.campaigns.progress(campaign, rater)
    return json_response(rating_plan_json(plan, progress.to_json(), campaign.stopped))


@router.get("/next", response_model=NextItemBody, responses=documented(*OF_RATER))
async def next_item(token: Token, request: Request) -> Response:
    """Get the item to rate. It stays the same until you rate or skip it."""
    here = service(request)
    campaign, rater = await link_owner(request, token)
    try:
        shown = None if campaign.stopped else await here.campaigns.next(campaign, rater)
        reason = "stopped" if campaign.stopped else "finished"
    except ProblemError as error:
        if error.problem != CAMPAIGN_STOPPED:
            raise
        shown, reason = None, "stopped"
    progress = (await here.campaigns.progress(campaign, rater)).to_json()
    if shown is None:
        return json_response({"item": None, "reason": reason, "progress": progress})
    return json_response(item_json(await here.campaigns.plan(campaign), shown, progress))


@router.post(
    "/ratings",
    status_code=201,
    response_model=ProgressAnswer,
    responses=documented(*OF_RATER, *WITH_BODY, UNKNOWN_ITEM, RATED_ALREADY, CAMPAIGN_STOPPED),
    openapi_extra=body_of(RatingBody),
)
async def rate_item(token: Token, request: Request) -> Response:
    """Rate an item. The rating is stored before the answer. The same rating sent twice is one."""
    here = service(request)
    campaign, rater = await link_owner(request, token)
    body = await read_body(request, RatingBody, here.settings.max_body)
    with input_explained():
        progress = await here.campaigns.rate(campaign, rater, body.item, body.answer())
    return json_response({"progress": progress.to_json()}, 201)


@router.post(
    "/skip",
    status_code=201,
    response_model=ProgressAnswer,
    responses=documented(*OF_RATER, *WITH_BODY, UNKNOWN_ITEM, RATED_ALREADY, CAMPAIGN_STOPPED),
    openapi_extra=body_of(ItemBody),
)
async def skip_item(token: Token, request: Request) -> Response:
    """Skip an item. You do not get it again, unless you undo this."""
    here = service(request)
    campaign, rater = await link_owner(request, token)
    body = await read_body(request, ItemBody, here.settings.max_body)
    progress = await here.campaigns.skip(campaign, rater, body.item)
    return json_response({"progress": progress.to_json()}, 201)


@router.post(
    "/undo",
    status_code=201,
    response_model=ProgressAnswer,
    responses=documented(*OF_RATER, NOTHING_TO_UNDO, CAMPAIGN_STOPPED),
)
async def undo_last(token: Token, request: Request) -> Response:
    """Take back your last act, a rating or a skip. Its item comes again."""
    here = service(request)
    campaign, rater = await link_owner(request, token)
    progress = await here.campaigns.undo(campaign, rater)
    return json_response({"progress": progress.to_json()}, 201)
