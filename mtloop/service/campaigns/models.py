"""Campaigns, raters and events as they are stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

EventKind = Literal["item", "rating", "skip", "undo"]


class CampaignGone(Exception):
    """The campaign was deleted meanwhile."""


class RaterExists(Exception):
    """The campaign has a rater of this name."""


@dataclass(frozen=True)
class StoredCampaign:
    """A campaign without its plan. `number` is that of its newest event."""

    id: int
    name: str
    number: int
    stopped: bool
    created: float


@dataclass(frozen=True)
class StoredRater:
    """A rater of a campaign. The link is stored as a hash."""

    id: int
    campaign_id: int
    name: str
    created: float


@dataclass(frozen=True)
class NewEvent:
    """What a rater was shown (`item`), or did. `of` is the number of the event that it is about."""

    rater_id: int
    kind: EventKind
    of: int | None = None
    body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CampaignEvent:
    """An event with its number in the campaign."""

    number: int
    rater_id: int
    kind: EventKind
    of: int | None
    body: Mapping[str, Any]
    time: float
