"""Pages of rating campaigns: the rater's page, opened by a secret link, and those of organisers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response

from mtloop.selection.campaign_plan import CampaignPlan
from mtloop.service.campaigns.rating_routes import link_owner
from mtloop.service.pages.page_texts import LANGUAGES, language_of, messages, remember_language
from mtloop.service.pages.rendering import page
from mtloop.service.pages.service_pages import missing_page
from mtloop.service.problems import UNKNOWN_CAMPAIGN, UNKNOWN_RATING_LINK, ProblemError
from mtloop.service.state import service

router = APIRouter(include_in_schema=False)
MAX_TOKEN = 200


@dataclass(frozen=True)
class CategoryKey:
    """An MQM category and the key that chooses it on the rating page."""

    name: str
    key: str


CATEGORY_GROUPS = {
    "group_accuracy": (
        CategoryKey("accuracy/mistranslation", "m"),
        CategoryKey("accuracy/omission", "o"),
        CategoryKey("accuracy/addition", "a"),
        CategoryKey("accuracy/untranslated", "u"),
        CategoryKey("non-translation", "n"),
    ),
    "group_fluency": (
        CategoryKey("fluency/grammar", "g"),
        CategoryKey("fluency/spelling", "s"),
        CategoryKey("fluency/punctuation", "p"),
        CategoryKey("fluency/register", "r"),
        CategoryKey("fluency/inconsistency", "i"),
        CategoryKey("fluency/character encoding", "c"),
    ),
    "group_more": (
        CategoryKey("terminology", "t"),
        CategoryKey("style", "y"),
        CategoryKey("locale convention", "l"),
        CategoryKey("other", "x"),
    ),
}


@router.get("/rate/{token}")
async def show_rating(token: str, request: Request) -> Response:
    """The page of a rater. It shows no name of a system and no result."""
    language = language_of(request)
    plan = await _plan_of(request, token)
    if plan is None:
        return missing_page(request, None)
    texts: dict[str, Any] = {
        "say": messages("rating", language),
        "refused": messages("campaign_problems", language).texts,
    }
    response = page("rating.html", None, **_rating(plan, token), **texts, language=language, languages=LANGUAGES)
    response.headers["referrer-policy"] = "no-referrer"  # the address is a secret
    return remember_language(response, request)


def _rating(plan: CampaignPlan, token: str) -> dict[str, Any]:
    return {
        "token": token,
        "kind": plan.kind,
        "instructions": plan.instructions,
        "category_groups": CATEGORY_GROUPS,
        "categories": [one for group in CATEGORY_GROUPS.values() for one in group],
    }


async def _plan_of(request: Request, token: str) -> CampaignPlan | None:
    """The plan of the campaign that a rater's link opens. None: no link has this token, or the campaign is gone."""
    if len(token) > MAX_TOKEN:
        return None
    try:
        campaign, _ = await link_owner(request, token)
        return await service(request).campaigns.plan(campaign)
    except ProblemError as error:
        if error.problem not in (UNKNOWN_RATING_LINK, UNKNOWN_CAMPAIGN):
            raise
    return None
