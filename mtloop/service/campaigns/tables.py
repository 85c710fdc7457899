"""Tables of rating campaigns, their raters and events. Times are seconds since 1970."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Double,
    ForeignKey,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from mtloop.service.database import BIG, metadata

# `plan` is the JSON of a `CampaignPlan`. It never changes. `number` is that of the newest event.
campaigns = Table(
    "campaigns",
    metadata,
    Column("id", BIG, primary_key=True),
    Column("name", String(80), nullable=False, unique=True),
    Column("plan", Text, nullable=False),
    Column("number", BIG, nullable=False),
    Column("stopped", Boolean, nullable=False),
    Column("created", Double, nullable=False),
    sqlite_autoincrement=True,  # a worker may still hold a deleted campaign: its id must not come again
)

campaign_raters = Table(
    "campaign_raters",
    metadata,
    Column("id", BIG, primary_key=True),
    Column("campaign_id", ForeignKey("campaigns.id", ondelete="CASCADE"), nullable=False),
    Column("name", String(64), nullable=False),
    Column("token_hash", String(64), nullable=False, unique=True),
    Column("created", Double, nullable=False),
    UniqueConstraint("campaign_id", "name"),
)

# `kind` is item, rating, skip or undo. `of` is the event that it is about: the item of a rating or skip, the rating or
# skip of an undo.
campaign_events = Table(
    "campaign_events",
    metadata,
    Column("campaign_id", ForeignKey("campaigns.id", ondelete="CASCADE"), nullable=False),
    Column("number", BIG, nullable=False),
    Column("rater_id", ForeignKey("campaign_raters.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("kind", String(16), nullable=False),
    Column("of", BIG),
    Column("body", JSON, nullable=False),
    Column("time", Double, nullable=False),
    PrimaryKeyConstraint("campaign_id", "number"),
)
